#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What can only be seen on a machine with a GPU: real programs recorded, verified, analysed, and what that costs them.
#
#   tests/gpu/run.sh [-n PAIRS] [-o FOLDER]        as root, after `make static`; nothing is installed
#
# PAIRS (12, at least 10) alternating runs, untraced and recorded, give the overhead: median and 95 % interval of the
# ratios, by order statistics. FOLDER (gpu-results) gets overhead.jsonl, what was said, and small captures without the
# host's description. What is not on this machine is named, and left out. Exit status: 0 all that could be run went well;
# 1 something did not; 77 there was nothing to run.
cd "$(dirname "$0")/../.." || exit 1
pairs=12
out="gpu-results"
gpurec='' gpuverify='' gpureplay='' gpuanalyze=''
while getopts n:o: option; do
	case $option in
	n) pairs=$OPTARG ;;
	o) out=$OPTARG ;;
	*) exit 2 ;;
	esac
done
[ "$pairs" -ge 10 ] 2>/dev/null || { echo "run.sh: -n $pairs: at least 10 pairs are needed for an interval" >&2; exit 2; }
mkdir -p "$out" || exit 1
here=tests/gpu
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export GPUREC_HOME=$tmp/keys
passed=0 failed=0 ran=0 absent=()

ok() { passed=$((passed + 1)); echo "ok      $1"; }
bad() { failed=$((failed + 1)); echo "FAILED  $1"; [ ! -s "$tmp/said" ] || tail -n 15 "$tmp/said" | sed 's/^/        /'; }
gone() { absent+=("$1"); echo "absent  $1: $2"; }
# try SENTENCE COMMAND...
try() {
	local sentence=$1
	shift
	if "$@" >"$tmp/said" 2>&1; then ok "$sentence"; else bad "$sentence"; return 1; fi
}

build=${BUILD:-build}
for tool in gpurec gpuverify gpureplay gpuanalyze; do
	path=$build/static/$tool
	[ -x "$path" ] || path=$build/$tool
	if ! [ -x "$path" ]; then
		gone "$tool" "not built: make static"
		echo "0 passed, 0 failed, absent: $(printf "%s; " "${absent[@]}")"
		exit 77
	fi
	printf -v "$tool" %s "$(realpath "$path")"
done
"$gpurec" --check -o "$out/x.cap" >"$out/check.txt" 2>&1
possible=$?
sed 's/^/        /' "$out/check.txt"
if [ "$possible" != 0 ]; then
	gone "recording" "gpurec --check says why"
	echo "$passed passed, $failed failed, absent: $(printf "%s; " "${absent[@]}")"
	exit 77
fi
ok "gpurec --check: recording is possible"
gpu=yes
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >"$out/gpus.txt" 2>&1; then
	gone "GPU" "$(command -v nvidia-smi >/dev/null && head -n 1 "$out/gpus.txt" || echo 'there is no nvidia-smi')"
	gpu=no
fi

# recorded NAME COMMAND...: record once, verify, compare with what the program says, analyse, keep a small capture
recorded() {
	local name=$1 cap=$tmp/$1.cap db=$tmp/$1.db
	shift
	rm -f "$out/$name".*
	try "$name: recorded" "$gpurec" -o "$cap" -- sh -c 'exec "$@" >"$0"' "$tmp/$name.truth" "$@" || return
	cp "$tmp/said" "$out/$name.gpurec.txt"
	try "$name: verified" "$gpuverify" "$cap" || return
	cp "$tmp/said" "$out/$name.verify.txt"
	try "$name: in SQL" "$gpureplay" -q "$cap" -o "$db" || return
	try "$name: every call that it says it made is recorded or counted as lost" as_said "$name" "$db"
	try "$name: launches have kernel names" kernels_named "$name" "$db"
	try "$name: analysed" "$gpuanalyze" "$cap" --report="$out/$name.report.txt"
	try "$name: health of the GPU is in it" health_told "$db"
	"$gpureplay" -q "$cap" -o "$out/$name.cap" --withhold host 2>/dev/null
	[ "$(stat -c %s "$out/$name.cap" 2>/dev/null || echo 0)" -le 400000 ] || rm -f "$out/$name.cap"
}
# By function; a launch, which one function may hand on to another, by the calls that are inside no other one
as_said() {
	command -v sqlite3 >/dev/null || { echo "there is no sqlite3 here: not compared"; return 0; }
	sqlite3 -readonly "$2" "SELECT key, value, n FROM (SELECT key, value, CASE key WHEN 'launch' THEN
			(SELECT count(*) FROM calls JOIN probe_counts USING (probe) WHERE name LIKE '%LaunchKernel%' AND flags & 1 = 0)
			+ (SELECT sum(lost) FROM probe_counts WHERE name LIKE '%LaunchKernel%')
		ELSE (SELECT sum(recorded + lost) FROM probe_counts WHERE name IN (key, key || '_ptsz')) END AS n
		FROM json_each(CAST(readfile('$tmp/$1.truth') AS TEXT), '\$.functions')) WHERE n IS NOT value" >"$tmp/rows" || return
	cat "$tmp/rows"
	[ ! -s "$tmp/rows" ]
}
kernels_named() {
	command -v sqlite3 >/dev/null || return 0
	[ "$(sqlite3 -readonly "$2" "SELECT count(*) > 0 FROM kernels WHERE name <> ''")" = 1 ]
}
health_told() {
	[ "$gpu" = yes ] || return 0
	command -v sqlite3 >/dev/null || return 0
	[ "$(sqlite3 -readonly "$1" "SELECT count(*) > 0 FROM health")" = 1 ]
}

field() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$2" | head -n 1; }
# overhead NAME COMMAND...: pairs of runs, of which each program measures its own loop
overhead() {
	local name=$1 i plain traced
	shift
	if [ "$gpu" = no ]; then
		gone "$name: overhead" "without a GPU calls fail at once, and what is added to that says nothing"
		return
	fi
	: >"$tmp/ratios"
	for ((i = 0; i < pairs; i++)); do
		"$@" >"$tmp/plain" 2>"$tmp/said" || { bad "$name: an untraced run"; return; }
		"$gpurec" -q -o "$tmp/pair.cap" --force -- sh -c 'exec "$@" >"$0"' "$tmp/traced" "$@" 2>"$tmp/said" ||
			{ bad "$name: a recorded run"; return; }
		plain=$(field ns "$tmp/plain") traced=$(field ns "$tmp/traced")
		echo "$plain $traced $(field calls "$tmp/plain")" >>"$tmp/ratios"
	done
	awk -v name="$name" '
		{ ratio[NR] = $2 / $1; each[NR] = $3 ? ($2 - $1) / $3 : 0; rate[NR] = $3 / ($1 / 1e9) }
		function sort(a, n,   i, k, t) { for (i = 2; i <= n; i++) { t = a[i]; for (k = i - 1; k >= 1 && a[k] > t; k--) a[k + 1] = a[k]; a[k + 1] = t } }
		function middle(a, n) { return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2 }
		END {
			sort(ratio, NR); sort(each, NR); sort(rate, NR)
			low = int((NR - 1.96 * sqrt(NR)) / 2); low = low < 1 ? 1 : low; high = NR + 1 - low
			printf "{\"program\":\"%s\",\"pairs\":%d,\"ratio_median\":%.4f,\"ratio_low\":%.4f,\"ratio_high\":%.4f,", name, NR, middle(ratio, NR), ratio[low], ratio[high]
			printf "\"ns_per_call_median\":%.1f,\"ns_per_call_low\":%.1f,\"ns_per_call_high\":%.1f,\"calls_per_second\":%.0f}\n", middle(each, NR), each[low], each[high], middle(rate, NR)
		}' "$tmp/ratios" | tee -a "$out/overhead.jsonl" | sed 's/^/        /'
	ok "$name: overhead by $pairs pairs"
}
: >"$out/overhead.jsonl"

# both NAME COMMAND...
both() {
	ran=1
	recorded "$@" && overhead "$@"
}

if command -v nvcc >/dev/null; then
	for how in shared static; do
		if try "loop.cu is built with cudart $how" nvcc -O2 -cudart $how -o "$tmp/loop-$how" $here/loop.cu; then
			both "cudart-$how" "$tmp/loop-$how" 20000
		fi
	done
else
	gone "nvcc" "no CUDA toolkit: the vanilla program is not recorded"
fi
if command -v "${CC:-cc}" >/dev/null; then
	if try "driver_api.c is built" "${CC:-cc}" -O2 -o "$tmp/driver_api" $here/driver_api.c -ldl; then
		"$tmp/driver_api" 1 >"$tmp/said" 2>&1
		if [ $? = 77 ]; then gone "driver API" "$(head -n 1 "$tmp/said")"; else both driver-api "$tmp/driver_api" 20000; fi
	fi
else
	gone "a C compiler" "the driver-API program is not recorded"
fi
if command -v python3 >/dev/null; then
	python3 $here/train.py 1 >"$tmp/said" 2>&1
	if [ $? = 77 ]; then gone "PyTorch" "$(tail -n 1 "$tmp/said")"; else both pytorch python3 $here/train.py 300; fi
else
	gone "python3" "the training loop is not recorded"
fi

rm -f "$out/x.cap"
echo "$passed passed, $failed failed, absent: $(printf "%s; " "${absent[@]:-nothing}")"
[ "$failed" = 0 ] || exit 1
[ "$ran" = 1 ] || exit 77
exit 0
