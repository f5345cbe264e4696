# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For command-line tests; sourced first:  . "$(dirname "$0")/lib.sh"
#
#   check "sentence" COMMAND ARG...           passes when the command exits with 0
#   check_exit N "sentence" COMMAND ARG...    passes when it exits with N; leaves its output in $TMP/out and $TMP/err
#   check_says REGEX "sentence"               passes when $TMP/err has a line that matches (grep -E)
#   check_prints REGEX "sentence"             the same for $TMP/out
#   skip "sentence" "reason"                  counts as skipped
#   locked_key FILE PASSPHRASE                makes a secret key FILE, and FILE's public half, that opens in milliseconds
#   flip_byte FILE OFFSET [BITS]              changes one byte: all its bits, or those of BITS (1: the lowest)
#   json_awk PROGRAM ARG...                   awk with value(KEY): of a line of JSON the field's value, a word or a number
#   until_true COMMAND...                     waits until it succeeds, for SLOW minutes (1) at most
#   until_recording PID                       waits until that recorder records (from then on it has its seccomp filter)
#   finish                                    the last line of every script: without it the script counts as failed
#
# $BUILD is the folder with the programs (absolute), $TMP a fresh private folder, removed at the end together with the
# jobs that the script left running. Keys, trust store and configuration of the host are out of reach: the variables
# that name them point into $TMP. Output is TAP.

BUILD=$(cd "${BUILD:-build}" && pwd) || exit 1
TMP=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-test.XXXXXX") || exit 1
# Downloads for guests stay where they are, below the true home.
GPUREC_VM_CACHE=${GPUREC_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpurec-vm}
HOME=$TMP/home
XDG_CONFIG_HOME=$HOME/.config
GPUREC_HOME=$HOME/gpurec
LC_ALL=C.UTF-8
TZ=UTC
export BUILD TMP GPUREC_VM_CACHE HOME XDG_CONFIG_HOME GPUREC_HOME LC_ALL TZ
unset NO_COLOR CDPATH
mkdir "$HOME" || exit 1

lib_tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd) || exit 1
lib_count=0
lib_failed=0
lib_finished=

lib_cleanup() {
	local status=$? jobs
	trap - EXIT
	[ "$BASHPID" = "$$" ] || exit "$status" # a job to be, which a signal met before it ran its program
	jobs=$(jobs -p)
	# shellcheck disable=SC2086 # one word per process
	[ -z "$jobs" ] || { kill $jobs && wait $jobs; } 2>/dev/null
	rm -rf "$TMP"
	if [ -z "$lib_finished" ]; then
		echo "Bail out! the script ended with status $status before it was finished"
		exit 1
	fi
	[ "$lib_failed" -eq 0 ] || exit 1
	exit "$status"
}
trap lib_cleanup EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# lib_result STATUS SENTENCE; what failed is explained on stdin
lib_result() {
	lib_count=$((lib_count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $lib_count - $2"
		return 0
	fi
	lib_failed=$((lib_failed + 1))
	echo "not ok $lib_count - $2"
	{ head -c 8000; echo; } | sed 's/^/# /' # the end of a line, too, where it was cut
	return 1
}

# lib_output STATUS OUT ERR COMMAND...: how a command ended, for the reader of a failed test
lib_output() {
	local status=$1 out=$2 err=$3
	shift 3
	echo "command: $*"
	echo "exit status: $status"
	[ ! -s "$out" ] || { echo "stdout:"; tail -n 40 "$out"; echo; }
	[ ! -s "$err" ] || { echo "stderr:"; tail -n 40 "$err"; echo; }
}

check() {
	local sentence=$1 status=0
	shift
	"$@" >"$TMP/.check.out" 2>"$TMP/.check.err" || status=$?
	lib_result "$status" "$sentence" < <(lib_output "$status" "$TMP/.check.out" "$TMP/.check.err" "$@")
}

check_exit() {
	local want=$1 sentence=$2 status=0 wrong=0
	shift 2
	"$@" >"$TMP/out" 2>"$TMP/err" || status=$?
	lib_last="$*"
	[ "$status" -eq "$want" ] || wrong=1
	lib_result "$wrong" "$sentence" < <(echo "wanted exit status: $want"
					     lib_output "$status" "$TMP/out" "$TMP/err" "$@")
}

# lib_match FILE REGEX SENTENCE
lib_match() {
	local wrong=0
	grep -qE -- "$2" "$1" || wrong=1
	lib_result "$wrong" "$3" < <(echo "of: ${lib_last:-}"; echo "no line matches: $2"; echo "text:"; tail -n 40 "$1")
}

check_says() {
	lib_match "$TMP/err" "$1" "$2"
}

check_prints() {
	lib_match "$TMP/out" "$1" "$2"
}

skip() {
	lib_count=$((lib_count + 1))
	echo "ok $lib_count - $1 # SKIP $2"
}

until_true() {
	local i
	for ((i = 0; i < 1200 * ${SLOW:-1}; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05 # speed: once more, until it is so
	done
	echo "not within ${SLOW:-1} min: $*"
	return 1
}

lib_records_or_ended() {
	grep -Eq '^Seccomp:[[:space:]]+2' "/proc/$1/status" || ! kill -0 "$1"
}

until_recording() {
	until_true lib_records_or_ended "$1" && kill -0 "$1"
}

locked_key() {
	"$BUILD/gpukey" generate -W -s "$1" && python3 "$lib_tools/lock_key.py" "$1" "$2"
}

flip_byte() {
	local byte
	byte=$(od -An -tu1 -j "$2" -N 1 "$1") || return
	printf '%b' "\\x$(printf %02x $((byte ^ ${3:-255})))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

json_awk() {
	local program=$1
	shift
	awk "$lib_value $program" "$@"
}
lib_value='
	function value(key,   at) {
		at = index($0, "\"" key "\":")
		if (!at) return ""
		at = substr($0, at + length(key) + 3)
		sub(/^"/, "", at)
		sub(/[",}].*/, "", at)
		return at
	}'

# needs_recording WHAT: where nothing can be recorded, WHAT is skipped, with the reason, and the test ends.
needs_recording() {
	"$BUILD/gpurec" --check -o "$TMP/check.cap" >"$TMP/check" 2>&1 && return
	skip "$1" "$(grep -m1 '^no' "$TMP/check")"
	finish
}
finish() {
	echo "1..$lib_count"
	lib_finished=1
	[ "$lib_failed" -eq 0 ] || exit 1
	exit 0
}
