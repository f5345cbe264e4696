#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where the time goes in what the targets are about: a call under gpurec, an event on its way to the disk, the whole verdict, a
# proof of the bytes alone, and detectors. Shares of the samples that perf takes, by function; of a library other
# than the C library, all of it together.
#
#   BUILD=build bash tests/bench/profile.sh [MIB [TOP]]      (60 MiB of capture, the 8 greatest of each)
. "$(dirname "$0")/lib.sh"
mib=${1:-60} top=${2:-8}
have perf || { note "perf is not installed: left out"; exit 0; }
library=$BUILD/workload/every/libcudart.so.12

profile() { # NAME PERF-OPTION... -- COMMAND...
	local name=$1 with=()
	shift
	while [ "$1" != -- ]; do with+=("$1"); shift; done
	shift
	if ! perf record -q "${with[@]}" -o "$scratch/perf.data" -- "$@" >"$scratch/said" 2>&1; then
		note "$name: $(tail -n 1 "$scratch/said"): left out"
		return 0
	fi
	perf report -i "$scratch/perf.data" --no-children --stdio -g none -F overhead,dso,sym -t '|' 2>/dev/null | awk -F'|' -v name="$name" -v top="$top" '
		/^#/ || NF < 3 { next }
		{
			gsub(/^ +| +$/, "", $1); gsub(/^ +| +$/, "", $2); gsub(/^ *\[[.k]\] *| +$/, "", $3)
			what = $3 ~ /^0x/ || $3 == "" || ($2 ~ /^lib/ && $2 !~ /^libc[.-]/) ? $2 : $3
			sub(/\.so\..*/, "", what)
			gsub(/[^A-Za-z0-9_.:+-]/, "", what)
			share[what] += $1
		}
		END {
			while (n++ < top) {
				best = ""
				for (w in share) if (best == "" || share[w] > share[best]) best = w
				if (best == "" || share[best] < 1) exit
				printf "{\"bench\":\"profile\",\"figure\":\"%s: %s\",\"unit\":\"%%\",\"median\":%.3g,\"low\":%.3g,\"high\":%.3g,\"runs\":1}\n", name, best, share[best], share[best], share[best]
				delete share[best]
			}
		}'
}

"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib" >"$scratch/made"
cat "$scratch/big.cap" >/dev/null
profile "whole verdict" -- "$BUILD/gpuverify" --trust "$scratch/big.pub" "$scratch/big.cap"
profile "bytes only" -- "$BUILD/gpuverify" --bytes-only --trust "$scratch/big.pub" "$scratch/big.cap"
profile detectors -- "$BUILD/tests/bench/detect" "$scratch/big.cap"
if [ "$(id -u)" = 0 ]; then
	profile "to the disk" -- "$BUILD/tests/bench/rate" 1000000 3 "$scratch/rate.cap"
	# perf begins when the caller does; gpurec is there already.
	"$BUILD/gpurec" -q --force -o "$scratch/run.cap" --lib "$library" &
	recorder=$!
	sleep 2
	profile "a recorded call" -- "$BUILD/tests/bench/overhead" "$library" cudaFree bare
	kill -TERM $recorder
	wait $recorder || :
else
	note "not root, so calls and recording: left out"
fi
