#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Removes each check of the verifier, one at a time, and sees whether a unit test notices.
#
#   tests/tools/mutants.sh [FILE.c]...        (default: all that stands between the bytes of a capture or key and a verdict)
#
# tests/tools/mutants.awk finds the checks. For each one a copy of its file is made without it, compiled, linked before the
# libraries, and run with the unit tests of its folder until one fails; what the plain tests let pass is tried again
# under AddressSanitizer and UBSan, which see a missing bound that happens to do no harm. One line is printed for each:
# the place, what was removed, and the test that caught it.
#
# tests/tools/mutants.txt lists the checks that no test can miss, each with the reason. The exit status is 1 when another one
# survives, or when a listed one is caught after all, or is there no more.
#
# In the environment: BUILD (default: build), JOBS (default: as many as there are cores), LIMIT (seconds of CPU time that
# one test may take; default: 60).
set -u

cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build} LIMIT=${LIMIT:-60} JOBS=${JOBS:-$(nproc)}
FILES=(format/{reader,frames,extensions,schema,chunk,columns,pack,verify,cursor,narrow,crypt}.c
	keys/{evidence,minisign,roles,store,store_change,strict_path,signature,delegation,revocation,trust,custody,custody_line,custody_file}.c
	replay/verify/continuity.c)
LIBRARIES=(libanalyze.a libreplay.a libkeys.a libformat.a)
SYSTEM=(-lcmocka -lsqlite3 -lseccomp -lcap -lsodium -llz4 -lxxhash -lm -pthread)

# The tests that may notice: those first that notice most, those last that take long.
tests_of() {
	local all slow name
	case $1 in
	format/*) all="test_format_forged test_format_parts test_format_records test_format_walk test_format_files" ;;
	replay/verify/continuity.c) all="test_continuity" ;;
	keys/custody_line.c) all="test_keys_custody_line test_keys_custody" ;;
	keys/custody*) all="test_keys_custody test_keys_faults" ;;
	keys/roles.c) all="test_keys_roles test_keys_faults_trust" ;;
	keys/strict_path.c) all="test_keys_strict" ;;
	keys/store*.c) all="test_keys_store test_keys_roles test_keys_identity test_keys_revocation test_keys_delegation test_keys_faults_trust test_keys_faults" ;;
	keys/minisign.c) all="test_keys test_keys_store" ;;
	keys/signature.c) all="test_keys_signature test_keys_signature_files test_keys_faults" ;;
	*) all="test_keys_evidence test_keys_roles test_keys_delegation test_keys_revocation test_keys_faults_trust test_keys_faults" ;;
	esac
	slow="test_format test_keys test_keys_custody"
	for name in tests/unit/"${1%%/*}"/test_"${1%%/*}"*.c tests/unit/"${1%%/*}"/test_narrow*.c; do
		name=$(basename "$name" .c)
		case " $all $slow " in *" $name "*) ;; *) all+=" $name" ;; esac
	done
	for name in $slow; do
		case " $all " in *" $name "*) continue ;; esac
		case $name in "test_${1%%/*}"*) all+=" $name" ;; esac
	done
	for name in $all; do
		[ ! -f "tests/unit/${1%%/*}/$name.c" ] || echo "${1%%/*}/$name"
	done
}

# run_test FOLDER BUILD TEST MUTANT.o FLAGS: prints the name of the test that failed; nothing when none did
run_test() {
	local dir=$1 build=$2 test=${3##*/} folder=${3%/*} object=$4 flags=$5 status
	# shellcheck disable=SC2086 # several flags
	${CC:-gcc} $flags -pie "$build/tests/unit/$folder/$test.o" "$object" "${LIBRARIES[@]/#/$build/}" "${SYSTEM[@]}" \
		-o "$dir/$test" 2>"$dir/link" || { echo "($test does not link)"; return; }
	rm -rf "$dir/tmp"
	mkdir "$dir/tmp"
	(
		export TMPDIR=$dir/tmp GPUREC_HOME=$dir/tmp/home HOME=$dir/tmp CMOCKA_MESSAGE_OUTPUT=TAP
		export ASAN_OPTIONS=exitcode=99:detect_leaks=0:verify_asan_link_order=0 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
		[ -n "$flags" ] || ulimit -v 6000000
		ulimit -c 0 -t "$LIMIT"
		exec timeout -k 5 $((LIMIT * 20)) stdbuf -oL "$dir/$test"
	) 2>"$dir/err" </dev/null | awk -v test="$test" '
		/# SKIP/ { n++; next }
		/^not ok/ { sub(/^not ok [0-9]+ - /, ""); print test ": " $0; exit }
		/^ok/ { last = $0; sub(/^ok [0-9]+ - /, "", last); n++ }
		/^1\.\.[0-9]+/ { planned = substr($0, 4) }
		END { if (NR == 0 || n < planned) print test ": ends early, after " (n ? last : "nothing") }' |
		head -n 1 >"$dir/said"
	status=${PIPESTATUS[0]}
	rm -f "$dir/$test"
	if [ -s "$dir/said" ]; then
		cat "$dir/said"
	elif [ "$status" != 0 ]; then
		echo "$test: ended with status $status"
	fi
}

# is_of_use PASS/FOLDER/TEST: not what is slow under sanitizers and finds no more there than without
is_of_use() {
	case $1 in
	sanitized/*/test_format | sanitized/*/test_format_memory | sanitized/*/test_keys | sanitized/*/test_narrow) return 1 ;;
	esac
}

# try NUMBER: one mutant, and its line of the table
try() {
	local dir=$WORK/$1 file line removed said from bytes instead pass caught="" test sanitized
	IFS=$'\t' read -r file line removed said from bytes instead < <(sed -n "$1{s/\t\t/\t \t/g;p}" "$WORK/list")
	mkdir -p "$dir"
	head -c $((from - 1)) "$file" >"$dir/mutant.c"
	printf '%s' "$instead" >>"$dir/mutant.c"
	tail -c +$((from + bytes)) "$file" >>"$dir/mutant.c"
	for pass in plain sanitized; do
		sanitized=
		[ $pass = plain ] || sanitized="-fsanitize=address,undefined"
		# shellcheck disable=SC2086 # several flags
		${CC:-gcc} -std=gnu11 -O1 -fPIE -w -I. -I"$WORK/$pass" -D_GNU_SOURCE $sanitized -c "$dir/mutant.c" \
			-o "$dir/mutant.o" 2>"$dir/cc" || { caught="(does not compile)"; break; }
		for test in $(tests_of "$file"); do
			is_of_use "$pass/$test" || continue
			caught=$(run_test "$dir" "$WORK/$pass" "$test" "$dir/mutant.o" "$sanitized")
			[ -z "$caught" ] || break 2
		done
	done
	[ "$pass" = plain ] || [ -z "$caught" ] || caught="$caught (sanitized)"
	rm -rf "$dir"
	[ "$said" != " " ] || said="(a condition)"
	printf '%s\t%s\t%s\t%s\t%s\n' "$file" "$line" "$removed" "$said" "${caught:-NOT CAUGHT}" >"$WORK/result.$1"
	printf '%-22s %-34.34s | %-46.46s | %s\n' "$file:$line" "$removed" "$said" "${caught:-NOT CAUGHT}"
}

if [ "${1-}" = --try ]; then
	try "$2"
	exit
fi

# Two builds of the tests, once.
BUILD=$(mkdir -p "$BUILD" && cd "$BUILD" && pwd) || exit 1
export WORK=$BUILD/mutants
rm -rf "$WORK"/result.*
mkdir -p "$WORK"
[ $# -gt 0 ] || for file in "${FILES[@]}"; do [ ! -f "$file" ] || set -- "$@" "$file"; done
wanted=$(for file in "$@"; do tests_of "$file"; done | sort -u)
for pass in plain sanitized; do
	set_of=()
	for name in $wanted; do set_of+=("${WORK#"$PWD"/}/$pass/tests/unit/$name"); done
	${MAKE:-make} -s -j"$JOBS" BPF=0 BUILD="$WORK/$pass" CFLAGS=-O1 SAN="$([ $pass = plain ] || echo address,undefined)" \
		"${set_of[@]}" >"$WORK/make.log" 2>&1 || { cat "$WORK/make.log" >&2; exit 1; }
done
LC_ALL=C awk -f tests/tools/mutants.awk "$@" >"$WORK/list" || exit 1
total=$(wc -l <"$WORK/list")

# A test that fails as things stand would catch everything.
for pass in plain sanitized; do
	for name in $wanted; do
		is_of_use "$pass/$name" || continue
		said=$(run_test "$WORK" "$WORK/$pass" "$name" "$WORK/$pass/libformat.a" \
			"$([ $pass = plain ] || echo -fsanitize=address,undefined)")
		[ -z "$said" ] || { echo "mutants: fails without a mutant: $said ($pass)" >&2; exit 1; }
	done
done
seq "$total" | xargs -P "$JOBS" -n 1 "$0" --try

# What survived against what may: a line of tests/tools/mutants.txt is FILE<tab>WHAT IS REMOVED<tab>REASON, for one check.
cat "$WORK"/result.* | sort -t "$(printf '\t')" -k1,1 -k2,2n >"$WORK/results"
awk -F '\t' -v total="$total" -v files="$*" '
	NR == FNR { if (!/^#/ && NF >= 3 && index(" " files " ", " " $1 " ")) may[$1 "\t" $2]++; next }
	{ key = $1 "\t" $3; tried++ }
	$5 ~ /^\(/ { print $1 ":" $2 ": " $3 ": " $5; bad++; next }
	$5 != "NOT CAUGHT" { caught++; sane += $5 ~ /sanitized/; hit[key]++; next }
	used[key] < may[key] { listed++; used[key]++; next }
	{ print "NOT CAUGHT: " $1 ":" $2 ": " $3 "  " $4; bad++ }
	END {
		for (key in may)
			if (used[key] < may[key]) { print "tests/tools/mutants.txt lists what is caught or gone: " key; bad++ }
		printf "%d checks removed one by one: %d caught (%d of them only under sanitizers), %d redundant by design, %d not caught\n",
			tried, caught, sane, listed, tried - caught - listed
		exit bad > 0 || tried != total
	}' tests/tools/mutants.txt "$WORK/results"
