#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpukey sign and check from outside, and both directions with the stock minisign, with and without passphrases.
. "$(dirname "$0")/lib.sh"

gpukey=$BUILD/gpukey
cd "$TMP" || exit 1
passphrase="correct horse battery"

first_line() { # of stdout is TEXT
	[ "$(head -n 1 out)" = "$1" ]
}
in_one_line() {
	[ "$(wc -l <err)" = 1 ]
}

: >empty
head -c 64 /dev/urandom >digest-sized
head -c 5000000 /dev/urandom >large
echo "what was found" >report
files=(empty digest-sized large report)

# With the host's identity --------------------------------------------------------------------------------------------
check_exit 0 "sign makes the host's identity when there is none" "$gpukey" sign report
check_says "this host signs with the new key" "says so"
check_prints "^report\.minisig: signed by the key [0-9A-F]{1,16}\$" "and names the signature and the key"
check "the signature can be read by others" test "$(stat -c %a report.minisig)" = 644
check_exit 0 "check accepts it" "$gpukey" check report
check "OK is the first word" first_line "OK report"
check_prints "^  signed by  [0-9A-F]{1,16} \(.*\), trusted here\$" "it says whose it is"
check_prints "^  comment    timestamp:[0-9]{10}	file:report	hashed\$" "and shows the trusted comment"
check_exit 0 "with -q" "$gpukey" check -q report
check "only that line is printed" test "$(cat out)" = "OK report"
cp report.minisig before
check_exit 3 "a second sign does not replace it" "$gpukey" sign report
check_says "report\.minisig: there is a file already; -f replaces it" "says how"
check "nothing was touched" cmp report.minisig before
check_exit 0 "-f replaces it" "$gpukey" sign -f -t 'seen \ by me' -c 'not signed' report
check_exit 0 "-t" "$gpukey" check report
check_prints '^  comment    seen \\\\ by me$' "is the trusted comment, shown escaped"
check "-c is the untrusted one" grep -qx "untrusted comment: not signed" report.minisig
check_exit 0 "several files are signed at once" "$gpukey" sign empty digest-sized large
for file in "${files[@]}"; do
	check_exit 0 "check accepts the signature of $file" "$gpukey" check "$file"
done
check_exit 0 "-o names the signature" "$gpukey" sign -o elsewhere report
check_exit 0 "which --signature finds" "$gpukey" check --signature elsewhere report

# What is refused -----------------------------------------------------------------------------------------------------
cp report changed && echo . >>changed
check_exit 1 "another file is FORGED" "$gpukey" check --signature report.minisig changed
check "which is the first word" first_line "FORGED changed"
check_prints "the file is not the one that the key [0-9A-F]+ signed" "with the reason"
sed '3s/seen/sign/' report.minisig >comment.minisig
check_exit 1 "another trusted comment is FORGED" "$gpukey" check --signature comment.minisig report
check_prints "the trusted comment is not the one" "with its own reason"
head -n 3 report.minisig >cut.minisig
check_exit 4 "a signature that is cut off is MALFORMED" "$gpukey" check --signature cut.minisig report
check_prints "cut\.minisig: a signature file that is cut off: 3 of 4 lines are there" "which is told"
{ cat report.minisig && echo more; } >longer.minisig
check_exit 4 "something behind a signature is MALFORMED" "$gpukey" check --signature longer.minisig report
check_exit 4 "so is a file that is no signature" "$gpukey" check --signature large report
check_exit 4 "so is a folder" "$gpukey" check --signature . report
check_exit 3 "a signature that is not there is UNCHECKED" "$gpukey" check changed
check_says "changed\.minisig: cannot be opened: No such file" "and named"
check_exit 3 "so is a file that is not there" "$gpukey" check --signature report.minisig absent
check_says "absent: cannot be opened" "which is named"
mkfifo fifo
check_exit 3 "what is no regular file is not signed" "$gpukey" sign fifo
check_says "fifo: not a regular file" "and told"
check_exit 3 "a file that cannot be signed" "$gpukey" sign -f absent report
check_says "absent: cannot be opened" "is told"
check_prints "^report\.minisig: signed" "and does not keep the others from it"
check_exit 3 "a signature does not replace what it signs" "$gpukey" sign -f -o report report
check_exit 3 "a trusted comment of two lines is refused" "$gpukey" sign -f -t $'one\ntwo' report
check_says "trusted comment holds a newline" "and told"
check_exit 3 "so is an empty one" "$gpukey" sign -f -t '' report
check_exit 2 "sign without a file is a usage error" "$gpukey" sign
check "in one line" in_one_line
check_exit 2 "-o with two files is a usage error" "$gpukey" sign -o x report empty
check_exit 2 "check without a file is a usage error" "$gpukey" check
check_exit 2 "check with two files is a usage error" "$gpukey" check report empty
check_exit 2 "a descriptor of x is a usage error" "$gpukey" sign --passphrase-fd x report

# Trust ---------------------------------------------------------------------------------------------------------------
check_exit 0 "a second key" "$gpukey" generate -W -s second.key
check_exit 0 "-s signs with it" "$gpukey" sign -s second.key -o second.minisig report
check_exit 6 "what nothing here trusts is UNTRUSTED" "$gpukey" check --signature second.minisig report
check "which is the first word" first_line "UNTRUSTED report"
check_prints "signed by the key [0-9A-F]+, which is not trusted here" "with the key's id"
check_exit 0 "--trust takes a public key file" "$gpukey" check --trust second.pub --signature second.minisig report
check_prints "\(second\.pub\), trusted here" "and says so"
check_exit 3 "one that is none is an error" "$gpukey" check --trust report --signature second.minisig report
check_exit 0 "trusting the key" "$gpukey" trust second.pub
check_exit 0 "is enough" "$gpukey" check --signature second.minisig report
check_prints "\(second\), trusted here" "by its name there"
# A key with the number of another: a label that anybody can take.
number() { tail -n 1 "$1" | base64 -d | head -c 10; }
rest() { tail -n 1 "$1" | base64 -d | tail -c 32; }
{ echo "untrusted comment: twin" && { number second.pub && rest "$GPUREC_HOME/host.pub"; } | base64 -w 0 && echo; } >twin.pub
check_exit 0 "the key with that number which signed is found beside one that did not" \
	"$gpukey" check --trust twin.pub --signature second.minisig report
check_exit 0 "distrusting it" "$gpukey" untrust second
check_exit 1 "and alone that other key makes it FORGED" "$gpukey" check --trust twin.pub --signature second.minisig report

# Passphrases ---------------------------------------------------------------------------------------------------------
check_exit 0 "a key with a passphrase" locked_key locked.key "$passphrase"
check_exit 0 "signs with it from a descriptor" "$gpukey" sign -s locked.key --passphrase-fd 3 -o locked.minisig report 3<<<"$passphrase"
check_exit 0 "and the signature holds" "$gpukey" check --trust locked.pub --signature locked.minisig report
check_exit 3 "a wrong one does not" "$gpukey" sign -s locked.key --passphrase-fd 3 -o wrong.minisig report 3<<<"wrong"
check_says "locked\.key: wrong passphrase" "which is told"
check "and no signature is left" test ! -e wrong.minisig
check_exit 3 "without terminal and descriptor nothing is asked" setsid -w "$gpukey" sign -s locked.key -o no.minisig report
check_says "no terminal to ask on; pass it with --passphrase-fd" "and it is said what to do"

# On a terminal: wait for the prompt, type, keep all that the terminal shows in `shown`.
type_passphrase() {
	local char prompt='' status=0
	# shellcheck disable=SC2034 # TERMINAL is the co-process
	coproc TERMINAL { script -qec "'$gpukey' sign -s locked.key -o typed.minisig report" /dev/null 2>&1; }
	local pid=$TERMINAL_PID out=${TERMINAL[0]} in=${TERMINAL[1]}
	while [[ $prompt != *"Passphrase for locked.key: " ]] && IFS= read -r -t 10 -N 1 -u "$out" char; do
		prompt+=$char
	done
	echo "$1" >&"$in"
	{ printf '%s' "$prompt" && cat <&"$out"; } >shown
	wait "$pid" || status=$?
	cat shown
	return "$status"
}
if command -v script >/dev/null; then
	check "a passphrase typed at a terminal opens the key" type_passphrase "$passphrase"
	check "it was asked for" grep -q "Passphrase for locked.key: " shown
	check "the terminal shows none of it" test "$(grep -cE 'correct|horse|battery' shown)" = 0
	check_exit 0 "and the signature holds" "$gpukey" check --trust locked.pub --signature typed.minisig report
else
	skip "a passphrase typed at a terminal opens the key" "script(1) is not installed"
fi

# The stock tool ------------------------------------------------------------------------------------------------------
if ! command -v minisign >/dev/null; then
	skip "signatures pass between gpukey and the stock minisign" "minisign is not installed"
	finish
fi

# stock_verifies PUB FILE SIG: prehashed, as nothing else is
stock_verifies() {
	minisign -V -H -p "$1" -m "$2" -x "$3"
}
for file in "${files[@]}"; do
	check "minisign accepts our signature of $file" stock_verifies "$GPUREC_HOME/host.pub" "$file" "$file.minisig"
done
check "it shows our trusted comment" grep -qxF 'Trusted comment: seen \ by me' <(
	"$gpukey" sign -q -f -t 'seen \ by me' report >/dev/null && minisign -V -p "$GPUREC_HOME/host.pub" -m report)
check "minisign accepts what our key with a passphrase signed" stock_verifies locked.pub report locked.minisig
check "and refuses it for another file" bash -c '! minisign -V -p locked.pub -m changed -x locked.minisig'
check "our key with a passphrase signs in minisign" minisign -S -s locked.key -m report -x by-stock.minisig <<<"$passphrase"
check_exit 0 "and check accepts that" "$gpukey" check --trust locked.pub --signature by-stock.minisig report
check "our key without one signs in minisign" minisign -S -W -s second.key -m report -x by-stock.minisig -t 'a b'
check_exit 0 "and check accepts that" "$gpukey" check --trust second.pub --signature by-stock.minisig report
check_prints '^  comment    a b$' "and shows minisign's trusted comment"

check "minisign makes a key without a password" minisign -G -W -s stock.key -p stock.pub
check "and one with" minisign -G -s stock-locked.key -p stock-locked.pub < <(printf '%s\n%s\n' "$passphrase" "$passphrase")
check_exit 0 "its key without a password signs here" "$gpukey" sign -s stock.key -o stock.minisig large
check "and minisign accepts that" stock_verifies stock.pub large stock.minisig
check_exit 0 "its key with a password signs here" \
	"$gpukey" sign -s stock-locked.key --passphrase-fd 0 -o stock-locked.minisig large <<<"$passphrase"
check "and minisign accepts that" stock_verifies stock-locked.pub large stock-locked.minisig
for file in "${files[@]}"; do
	check "minisign signs $file" minisign -S -s stock.key -m "$file" -x "$file.stock"
	check_exit 0 "and check accepts that" "$gpukey" check --trust stock.pub --signature "$file.stock" "$file"
done
check "minisign makes a signature of its old kind" minisign -S -l -s stock.key -m report -x old.minisig
check_exit 4 "which is MALFORMED here" "$gpukey" check --trust stock.pub --signature old.minisig report
check_prints "old\.minisig: a signature of minisign's old kind .*have the file signed anew, without -l" "with the remedy"
# An ED signature is right as an Ed one over the 64 bytes of the hash: such a file must not pass.
# shellcheck disable=SC2059 # the format is the bytes
printf "$(b2sum -l 512 report | cut -d' ' -f1 | sed 's/../\\x&/g')" >hash-of-report
{ sed -n 1p report.stock; { printf Ed && sed -n 2p report.stock | base64 -d | tail -c 72; } | base64 -w 0 && echo; sed -n '3,4p' report.stock; } >as-old.minisig
check "minisign takes a signature made over a hash for one over a file that consists of it" \
	minisign -V -p stock.pub -m hash-of-report -x as-old.minisig
check_exit 4 "check does not" "$gpukey" check --trust stock.pub --signature as-old.minisig hash-of-report

# The wrong half.
"$gpukey" generate -W -s half.key >/dev/null 2>&1 || exit 1
chmod 644 half.pub
check_exit 3 "a public key signs nothing" "$gpukey" sign -s half.pub half.key
check_says "half\\.pub: a public key, where a secret key is needed$" "which is said, and not that others may read it"
chmod 644 half.key
check_exit 3 "a secret key that others may read signs nothing either" "$gpukey" sign -s half.key half.pub
check_says "half\\.key: others may read this secret key; run: chmod 600 half\\.key" "and here that is what is wrong"
finish
