#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a bpftool that works; nothing where there is none. Ubuntu's /usr/sbin/bpftool is a wrapper that
# refuses any kernel but the one it was packaged for, and generating a skeleton needs no particular kernel.
for tool in /usr/local/sbin/bpftool "$(command -v bpftool)" /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool \
	/usr/lib/linux-tools-*/bpftool; do
	[ -x "$tool" ] && "$tool" version >/dev/null 2>&1 && echo "$tool" && exit 0
done
exit 0
