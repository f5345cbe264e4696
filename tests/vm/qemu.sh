# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # read by those who source this file
# For boot.sh and debian.sh: how QEMU is started, and where downloads are kept.
#
#   qemu_for ARCH [CPU]   sets $qemu (an array: the program and what each guest has) and $append (for the kernel's command
#                         line); CPU as for QEMU's -cpu, by default one that can do everything
#
# There is no hardware virtualization. A guest's time is the number of instructions that it executed, one a nanosecond, and
# idle time is skipped: the guest sees an idle machine of ordinary speed, however busy this one is, and what it measures does
# not depend on the load here. One thread serves all CPUs of the guest: with several, QEMU 7.2 may execute a removed
# breakpoint for ever.
cache=${GPUREC_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpurec-vm}
# QEMU 7.2 sometimes spoils the flags in cmpxchg16b, and the kernel's allocator dies of it; kernels before 7.0 do without. Later
# ones give BPF no memory then.
cpu_before_7="max,-cx16"

qemu_for() {
	case $1 in
	amd64)
		qemu=(qemu-system-x86_64 -cpu "${2:-max}")
		# The clock of a guest that is not always on a CPU is found fault with, and given up for one a hundred times as slow.
		# Its other CPUs are started later: kernels before 6.5 do not find them at boot where time is counted in instructions.
		append="console=ttyS0 tsc=reliable maxcpus=1 panic=-1"
		;;
	arm64)
		qemu=(qemu-system-aarch64 -M virt -cpu "${2:-max,pauth-impdef=on}")
		append="console=ttyAMA0 panic=-1"
		;;
	*)
		echo "$0: architecture '$1' must be amd64 or arm64" >&2
		return 1
		;;
	esac
	command -v "${qemu[0]}" >/dev/null || { echo "$0: there is no ${qemu[0]} here: 'sh .ci/deps.sh vm' installs it" >&2; return 3; }
	qemu+=(-accel "tcg,thread=single" -icount "shift=0,sleep=off" -nic none -display none -serial stdio -monitor none -no-reboot)
}
