#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
# The first program of the initial RAM disk: loads what the disks need, mounts them, and goes on in the guest's system.
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t devtmpfs dev /dev
for module in /mod/*; do
	[ ! -e "$module" ] || $busybox insmod "$module"
done
tries=0
while [ ! -b /dev/vdc ] && [ $tries -lt 100 ]; do
	$busybox sleep 0.1
	tries=$((tries + 1))
done
if ! $busybox mount -t ext4 /dev/vda /root || ! $busybox mount -t ext4 /dev/vdb /root/gpurec; then
	echo "init: the disks cannot be mounted; there are: $($busybox ls /sys/block)"
	$busybox poweroff -f
fi
$busybox umount /proc /sys
$busybox mount --move /dev /root/dev
exec $busybox switch_root /root /bin/bash /gpurec/tests/vm/guest.sh
