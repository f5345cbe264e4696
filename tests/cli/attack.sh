#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The attacks of tests/attack on golden captures, judged from outside: each gets its verdict and exit status from
# gpuverify, and gpureplay and gpuanalyze refuse what they must. The list itself says what is expected.
. "$(dirname "$0")/lib.sh"
golden=$(cd "$(dirname "$0")/../golden" && pwd) || exit 1
attack=$BUILD/tests/attack
cd "$TMP" || exit 1

check "the list of attacks can be shown" sh -c '"$0" --list >list && [ "$(wc -l <list)" -gt 200 ]' "$attack"
check_exit 2 "an unknown attack is a usage error" "$attack" no-such-attack "$golden/demo.cap" out.cap
check_exit 1 "a thief without a key is told so" "$attack" roll-back "$golden/lossy.cap" out.cap
check_exit 0 "a capture with known session keys is made" "$attack" compatible-bit "$golden/demo.cap" mine.cap \
	--pub insider.pub --secret current.key
check "the signers are trusted" sh -c '"$1/gpukey" trust "$2" --name demo && "$1/gpukey" trust insider.pub --name insider' \
	sh "$BUILD" "$golden/demo.pub"
check_exit 0 "that capture verifies" "$BUILD/gpuverify" mine.cap

# What a seal says of its own place is not what rows are counted by.
rows() { "$BUILD/gpureplay" -q --unverified "$1" | grep -vc '^#'; }
check "a seal with another number is made" "$attack" seal-number "$golden/demo.cap" numbered.cap
check "its events are all read, where who reads wants it unverified" [ "$(rows numbered.cap)" -eq "$(rows "$golden/demo.cap")" ]
check_exit 0 "and analysed" "$BUILD/gpuanalyze" --unverified numbered.cap

declare -A statuses=([OK]=0 [OK-SLICE]=0 [OK-REDACTED]=0 [FORGED]=1 [UNCHECKED]=3 [MALFORMED]=4 [UNSEALED]=5 [UNTRUSTED]=6)
tried=0 accepted=0

# refuses STATUS TOOL ARG...: the tool exits so and says why in one line
refuses() {
	local want=$1 status=0
	shift
	"$@" >said 2>&1 || status=$?
	[ "$status" -eq "$want" ] && [ "$(wc -l <said)" -eq 1 ] && return
	echo "exit status $status, wanted $want:"
	head -n 5 said
	return 1
}

# judged NAME EXPECTED BASE BASE-VERDICT SEED OTHER: one attack on one capture. 77: it does not fit there
judged() {
	local name=$1 want=$2 base=$3 seed=$5 status=0 word tool_status
	rm -f out.cap
	"$attack" "$name" "$base" out.cap --seed "$seed" --other "$6" --key current.key >said 2>&1 || status=$?
	[ "$status" -ne 1 ] || return 77
	[ "$status" -eq 0 ] || { cat said; return 1; }
	tried=$((tried + 1))
	[ "$want" != SAME ] || want=$4
	status=0
	"$BUILD/gpuverify" out.cap >verdict 2>err || status=$?
	read -r word _ <verdict
	if [ "$want" = REFUSED ]; then
		case $word in OK*) accepted=$((accepted + 1)); echo "$name: $word"; return 1 ;; esac
		want=$word
	fi
	case $want:$word in OK*:*) ;; *:OK*) accepted=$((accepted + 1)) ;; esac
	if [ "$word" != "$want" ] || [ "$status" -ne "${statuses[$want]}" ]; then
		echo "$name on $base, seed $seed: $word, exit status $status; should be $want"
		cat verdict err
		return 1
	fi
	case $want in
	FORGED | MALFORMED | UNTRUSTED) tool_status=1 ;;
	UNCHECKED) tool_status=3 ;;
	*) return 0 ;;
	esac
	refuses "$tool_status" "$BUILD/gpureplay" out.cap || return
	refuses "$tool_status" "$BUILD/gpuanalyze" out.cap
}

# redacted.cap is demo.cap narrowed: the other one has to be another.
cp "$golden/demo.cap" "$golden/lossy.cap" "$golden/redacted.cap" .
bases=("mine.cap OK 1 lossy.cap" "lossy.cap OK 2 demo.cap" "redacted.cap OK-REDACTED 3 lossy.cap")
[ ! -s list ] || while read -r name _ want what; do
	fits=0 wrong=0
	for base in "${bases[@]}"; do
		# shellcheck disable=SC2086 # four words
		judged "$name" "$want" $base >>explained 2>&1
		case $? in
		0) fits=$((fits + 1)) ;;
		77) ;;
		*) wrong=$((wrong + 1)) ;;
		esac
		# Under sanitizers each attack is tried on the first capture that it fits only, unless LONG=1.
		[ $fits -eq 0 ] || [ -z "${ASAN_OPTIONS:-}" ] || [ -n "${LONG:-}" ] || break
	done
	lib_result $((wrong > 0 || fits == 0)) "$name ($what): $want" < <(echo "fits $fits captures"; cat explained)
	: >explained
done <list
echo "# tried $tried attacked captures with the tools: $accepted accepted that must not be"
check "nothing was accepted that must not be" [ "$accepted" -eq 0 ]

# What a trusted signer may write is text, and no more than that.
check_exit 0 "hostile texts are made" "$attack" text-hostile mine.cap hostile.cap
for command in "gpuverify" "gpureplay" "gpureplay --json" "gpuanalyze" "gpuanalyze --json"; do
	# shellcheck disable=SC2086 # options
	check_exit 0 "$command reads hostile texts" "$BUILD/"$command hostile.cap
	check "and prints no control character" [ "$(LC_ALL=C tr -d '\n\t' <out | LC_ALL=C grep -cP '[\x00-\x1f\x7f]')" -eq 0 ]
	check "and valid UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null out
done

# A forged capture that is read all the same: both tools say that it is no success.
check_exit 0 "a damaged capture is made" "$attack" flip-chunk mine.cap damaged.cap --seed 5
check_exit 1 "gpureplay --unverified reads it up to the damage" "$BUILD/gpureplay" --unverified damaged.cap
check_exit 1 "so does gpuanalyze --unverified" "$BUILD/gpuanalyze" --unverified damaged.cap
check_prints 'read only up to where it breaks' "and the report says so"
finish
