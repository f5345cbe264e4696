#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Process 1 of a guest: mounts what a system has, runs tests/vm/steps.sh with the steps that the kernel's command line names
# (gpurec.steps=A,B), writes the results as a tar archive to the third disk, and turns the guest off.
export PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8 TZ=UTC HOME=/root TERM=dumb PYTHONDONTWRITEBYTECODE=1

mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
for folder in /dev/shm /tmp /run; do mount -t tmpfs -o mode=1777 tmpfs $folder; done
mount -t tracefs tracefs /sys/kernel/tracing
mount -t securityfs securityfs /sys/kernel/security
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ln -sf /proc/self/fd /dev/fd
for n in 0 1 2; do ln -sf /proc/self/fd/$n "/dev/$(echo stdin stdout stderr | cut -d' ' -f$((n + 1)))"; done
ip link set lo up
hostname guest
ldconfig
sysctl -q kernel.printk='4 4 1 7'

# While the guest waits for a disk its clock runs ahead (see boot.sh): everything that tests read is in memory before them.
mkdir /run/gpurec
mount -t tmpfs -o size=80% tmpfs /run/gpurec
cp -a /gpurec/. /run/gpurec
mount --move /run/gpurec /gpurec
find /usr/bin /usr/sbin /usr/lib -type f -exec cat {} + >/dev/null

echo "guest: $(nproc) CPU"
for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
	[ ! -e "$cpu" ] || echo 1 >"$cpu"
done

export OUT=/tmp/out BUILD=/gpurec/build GPUREC_VM_GUEST=1
mkdir -p $OUT
cd /gpurec || exit
uname -a >$OUT/uname
cp /proc/cmdline $OUT/cmdline
echo "guest: $(uname -srvm)"
steps=$(sed -n 's/.*gpurec\.steps=\([^ ]*\).*/\1/p' /proc/cmdline | tr , ' ')
# shellcheck disable=SC2086 # one word per step
bash tests/vm/steps.sh $steps </dev/null 2>$OUT/stderr | while IFS= read -r line; do
	read -r up _ </proc/uptime
	echo "[$up] $line"
	echo "$line" >>$OUT/tap
done
tail -n 40 $OUT/stderr
dmesg >$OUT/dmesg
grep -E 'BUG:|WARNING:|Oops|rcu.*stall|Call Trace' $OUT/dmesg | head -n 20
tar -C /tmp -cf /dev/vdc out
sync
echo "guest: the end"
poweroff -f 2>/dev/null || echo o >/proc/sysrq-trigger
sleep 60
