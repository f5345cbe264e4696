#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All benchmarks, one after the other, and docs/BENCHMARKS.md from what they print. Called by `make bench`; takes some 20
# minutes.
#
#   BUILD=build bash tests/bench/run.sh [NAME...]             of tests/bench/NAME.sh; none: all
#   QUICK=1 ...                                               each in its shortest form, and the page is left as it is
#
# What one of them printed stays in BUILD/bench until it runs again, so that the page can be made anew after a part of them; it
# tells of each when it ran, and of which commit. One that failed or left something out is named at the end, and in the page.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
out=$BUILD/bench${QUICK:+-quick}
mkdir -p "$out" || exit 1

# name, arguments, arguments of the shortest form
plan() {
	cat <<'END'
overhead 5      1
rate     3      1
size     20/3   2/1
verify   400/7  20/1
load     4/5    1/1
text     40/5   4/1
module   236/7/12 4/1/2
detect   7/5/50/500 1/1/5
metrics  3/2    1/1
profile  60/8   4/3
END
}
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(plan | cut -d' ' -f1)

load=$(cut -d' ' -f1 /proc/loadavg) begun=$SECONDS status=0
awk -v l="$load" -v n="$(nproc)" 'BEGIN { exit !(l > n / 4) }' &&
	echo "bench: the machine is not idle (load $load): wall times will say little" >&2
for name in "${names[@]}"; do
	read -r _ full short < <(plan | grep "^$name ") || { echo "bench: there is no $name" >&2; exit 2; }
	args=${full//\// }
	[ -z "${QUICK:-}" ] || args=${short//\// }
	echo "bench: $name $args" >&2
	rm -f "$out/$name.jsonl"
	from=$SECONDS before=$(cut -d' ' -f1 /proc/loadavg)
	# shellcheck disable=SC2086 # one word each
	if BUILD=$BUILD timeout -k 10 900 bash "tests/bench/$name.sh" $args >"$out/$name.out" 2> >(tee "$out/$name.err" >&2); then
		grep '^{' "$out/$name.out" >"$out/$name.jsonl"
	else
		echo "bench: $name ended with an error: $(tail -n 1 "$out/$name.err")" >&2
		echo "{\"bench\":\"$name\",\"missing\":\"it ended with an error\"}" >"$out/$name.jsonl"
		status=1
	fi
	sed -i "1i {\"bench\":\"$name\",\"began\":\"$(date -u +'%Y-%m-%d %H:%M')\",\"commit\":\"$(git rev-parse --short HEAD 2>/dev/null)\",\"load\":\"$before\"}" "$out/$name.jsonl"
	sed -n 's/^  \([a-z]*\): \(.*\): left out$/{"bench":"\1","missing":"\2"}/p' "$out/$name.err" >>"$out/$name.jsonl"
	echo "bench: $name took $((SECONDS - from)) s" >&2
done
{
	echo "{\"machine\":\"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)\",\"cores\":$(nproc),\"kernel\":\"$(uname -r)\",\"date\":\"$(date -u +%Y-%m-%d)\",\"commit\":\"$(git rev-parse --short HEAD 2>/dev/null)\",\"load\":\"$load\"}"
	plan | while read -r name _; do
		if [ -s "$out/$name.jsonl" ]; then cat "$out/$name.jsonl"; else echo "{\"bench\":\"$name\",\"missing\":\"it was not run\"}"; fi
	done
} >"$out/all.jsonl"
if ! awk -f tests/bench/page.awk "$out/all.jsonl" >"$out/BENCHMARKS.md"; then
	status=1
elif [ -z "${QUICK:-}" ]; then
	cp "$out/BENCHMARKS.md" docs/BENCHMARKS.md
fi
cat "$out/all.jsonl"
grep '"missing"' "$out/all.jsonl" | sed 's/.*"bench":"\([a-z]*\)","missing":"\(.*\)"}/bench: of \1 something is missing: \2/' >&2
echo "bench: $(((SECONDS - begun) / 60)) minutes" >&2
exit $status
