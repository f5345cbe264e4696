#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a recording says of the host and its GPUs; NVIDIA's library is a test double.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
nvml=$BUILD/workload/libnvidia-ml.so.1
cap=$TMP/run.cap

needs_recording "health of GPUs"
# record HOW SECONDS: with the double failing HOW; events in $TMP/events
record() {
	rm -f "$cap"
	NVML_DOUBLE=$1 "$gpurec" -q -o "$cap" --nvml "$nvml" -- sleep "$2" &&
		"$BUILD/gpuverify" "$cap" >"$TMP/said" && "$BUILD/gpureplay" -q --json "$cap" >"$TMP/events"
}
of() { grep "\"kind\":\"$1\"" "$TMP/events" | grep -c -- "$2"; }

check "a recording asks for the GPUs' health" record none 3.3
check "each second, each GPU" test "$(of health '"gpu":1')" -ge 2
check "with what the first one tells" test "$(of health '"gpu":0,.*"power_mw":312500.*"ecc_corrected":12,"ecc_uncorrected":1,"sm_mhz_max":1980')" -ge 2
check "of the second one no ECC counts are known" test "$(of health '"gpu":1,.*"known":3070[^0-9]\|"gpu":1,.*"known":2558[^0-9]')" -ge 2
check "both are described" test "$(of gpu 'Pretended GPU')" = 2
check "with their places" test "$(of gpu '00000000:3B:00.0')" = 1
check "the driver's version is told" test "$(of fact '"nvml".*999.42')" = 1
inventory() {
	local name
	for name in kernel boot_id cpus_online memory virtualisation kernel_command_line; do
		[ "$(of fact "\"$name\"")" = 1 ] || { echo "no $name"; return 1; }
	done
}
check "the host is described" inventory
check "each CPU's steal is told" test "$(of cpu '"steal":')" -ge "$(nproc)"

check "without a driver the recording goes on" record nodriver 1.2
check "and says why there is no health" test "$(of fact 'Driver Not Loaded')" = 1
check "of which there is none" test "$(of health gpu)" = 0
check "a library that crashes does not end it" record crash 1.2
check "which is told" test "$(of fact '"nvml".*has ended')" = 1
hangs() {
	# speed: a limit for what never ends
	NVML_DOUBLE=hang timeout 100 "$gpurec" -q -o "$TMP/hang.cap" --nvml "$nvml" -- sleep 1.2
}
check "one that hangs does not hold it" hangs
check_exit 0 "and the capture is whole" "$BUILD/gpuverify" "$TMP/hang.cap"
left_over() { ! pgrep -f "$TMP/hang.cap" >/dev/null; }
check "nobody is left of it" until_true left_over
check "a GPU that is lost is told with nothing known" record lost 3.3
check "while the other goes on" test "$(of health '"gpu":0,"known":0,')" -ge 1
check "a library that is not there is told" "$gpurec" -q -o "$TMP/none.cap" --nvml "$TMP/none.so" -- sleep 0.3
"$BUILD/gpureplay" -q --json "$TMP/none.cap" >"$TMP/events"
check "as what it is, without its path" test "$(of fact '"nvml".*(path).*No such file')$(of fact 'none.so')" = 10
check "no library is asked when none is wanted" "$gpurec" -q -o "$TMP/no.cap" --nvml no -- true
"$BUILD/gpureplay" -q --json "$TMP/no.cap" >"$TMP/events"
check "and the capture says so" test "$(of fact '"nvml".*not asked')" = 1

# The process that asks has no right left
"$gpurec" -q -o "$TMP/rights.cap" --nvml "$nvml" -- sleep 20 &
recorder=$!
until_recording "$recorder"
for child in $(pgrep -P "$recorder"); do
	case $(cat "/proc/$child/comm") in
	sleep | gpurec-inspect) ;;
	*) cp "/proc/$child/status" "$TMP/status" ;;
	esac
done
kill -TERM "$recorder"
wait "$recorder"
check "the process that asks has no capability" grep -Eq '^CapEff:\s+0+$' "$TMP/status"
check "and may not get any" grep -Eq '^NoNewPrivs:\s+1' "$TMP/status"
check "and is filtered" grep -Eq '^Seccomp:\s+2' "$TMP/status"
finish
