#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All benchmarks, one after the other, and docs/BENCHMARKS.md from what they print. Called by `make bench`.
#
#   BUILD=build bash tests/bench/run.sh [NAME...]             of tests/bench/NAME.sh; none: all
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
out=$BUILD/bench
mkdir -p "$out" || exit 1
names=("$@")
[ $# -gt 0 ] || names=(overhead rate size verify load text module detect metrics)

load=$(cut -d' ' -f1 /proc/loadavg)
awk -v l="$load" -v n="$(nproc)" 'BEGIN { exit !(l > n / 4) }' &&
	echo "bench: the machine is not idle (load $load): wall times will say little" >&2
for name in "${names[@]}"; do
	[ -e "tests/bench/$name.sh" ] || continue
	echo "bench: $name" >&2
	if BUILD=$BUILD bash "tests/bench/$name.sh" >"$out/$name.out" 2>"$out/$name.err"; then
		grep '^{' "$out/$name.out" >"$out/$name.jsonl"
	else
		echo "bench: $name ended with an error: $(tail -n 1 "$out/$name.err")" >&2
	fi
done
{
	echo "{\"machine\":\"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)\",\"cores\":$(nproc),\"kernel\":\"$(uname -r)\",\"date\":\"$(date -u +%Y-%m-%d)\"}"
	for name in overhead rate size verify load text module detect metrics; do
		[ ! -e "$out/$name.jsonl" ] || cat "$out/$name.jsonl"
	done
} >"$out/all.jsonl"
awk -f tests/bench/page.awk "$out/all.jsonl" >"$out/BENCHMARKS.md" && cp "$out/BENCHMARKS.md" docs/BENCHMARKS.md
cat "$out/all.jsonl"
