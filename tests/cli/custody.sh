#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The chain of custody from outside: acts recorded by gpukey sign and gpuverify, checked and told by gpuverify.
. "$(dirname "$0")/lib.sh"

verify=$BUILD/gpuverify
gpukey=$BUILD/gpukey
mkcap=$BUILD/tests/mkcap
cd "$TMP" || exit 1

cat >run.script <<'END'
process at=+0 pid=100 start=+0 uid=1000 tracked=1 name="trainer"
repeat 10 1ms launch at=+10ms pid=100 tid=100 dur=17us
epoch +1s
repeat 5 1ms launch at=+1.5s pid=100 tid=100 dur=17us
epoch +2s
end interrupted
END
"$gpukey" generate -W >/dev/null 2>&1 || exit 1
"$mkcap" -k "$GPUREC_HOME/host.key" -o run.cap run.script || exit 1
"$gpukey" generate -W -s carol.key >/dev/null 2>&1 || exit 1

head_of() { # CUSTODY-FILE: hash of its last line, from the words of gpuverify
	"$verify" "$1" | sed -n 's/^  head  *//p'
}
first_line() {
	[ "$(head -n 1 out)" = "$1" ]
}

check_exit 0 "a capture without custody is OK" "$verify" run.cap
check "and nothing is said of custody" bash -c '! grep -q custody out'

# Acts.
check_exit 0 "gpukey sign --custody adds an act" "$gpukey" sign --custody recorded --name ops@node17 run.cap
check_prints '^run.cap.custody: act 1, recorded, head [0-9a-f]{64}$' "and prints the hash to hand on"
check "no signature file is made" test ! -e run.cap.minisig
check_exit 6 "a key that may just record, as a host's own, keeps no custody" "$verify" run.cap
check "the capture is OK" first_line "OK run.cap"
check_prints '^  custody +UNTRUSTED: line 1: signed by the key [0-9A-F]+ \([^)]+\), trusted here without the role custody; to give it: gpukey trust --role record,custody ' \
	"and it says how to give it the role"
# shellcheck disable=SC2046 # its words
check_exit 0 "with that very command" "$gpukey" $(sed -n 's/^  custody .*gpukey \(trust .*\)$/\1/p' out)
check_exit 0 "gpuverify --custody adds one" "$verify" --custody verified --name $'eve\t\e[31m' --note 'looks fine, 100%' run.cap
check "the verdict stays first" first_line "OK run.cap"
check_prints '^  custody +INTACT: 2 acts$' "the chain is told"
check_prints '^ +1 [0-9-]+ [0-9:]+ UTC recorded by "ops@node17", who found it OK; signed by [0-9A-F]+ \(.*\), trusted here$' \
	"act by act, with who, when and by which key"
check_prints '^ +remark: act 1 is dated before the recording began, by the clocks of who signed and who recorded$' \
	"an act dated before the recording, which is of 2027, draws a remark"
check_prints 'verified by "eve\\x09\\x1b\[31m"' "names are made harmless"
check_prints '^ +"looks fine, 100%"$' "the reason is told"
check_exit 0 "an act without name is somebody's at this host" "$gpukey" sign --custody transferred run.cap
check_exit 0 "the chain as JSON" "$verify" --json run.cap
check_prints '"custody":\{"state":"INTACT","head":"[0-9a-f]{64}","same_file":true,"acts":\[\{"number":1,"action":"recorded"' \
	"stands in the object"
check_exit 0 "with -q" "$verify" -q run.cap
check "only the verdict is printed" [ "$(cat out err)" = "OK run.cap" ]
head=$(head_of run.cap)
check_exit 0 "an act that is asked for by its hash is there" "$verify" --custody-head "$head" run.cap
check "file and seal hashes are what other tools compute" \
	test "$(cut -f 7 run.cap.custody | sort -u)" = "$(b2sum -l 256 run.cap | cut -d' ' -f1)"
check "the seal named is the one that gpuverify prints" \
	test "$(cut -f 6 run.cap.custody | sort -u)" = "$("$verify" run.cap | sed -n 's/^  last seal  *//p')"

# What can happen to the lines; each is told apart.
cp run.cap.custody good
sed 2d good >run.cap.custody
check_exit 1 "a line taken out" "$verify" run.cap
check "does not change the capture's verdict" first_line "OK run.cap"
check_prints '^  custody +MISSING: act 2 is missing, though act 3 is there$' "is MISSING"
check_exit 1 "with -q, too" "$verify" -q run.cap
check_says 'run.cap: custody MISSING' "it is said, on stderr"
sed 1d good >run.cap.custody
check_exit 1 "the first line taken out" "$verify" run.cap
check_prints '^  custody +MISSING: act 1 is missing' "is MISSING"
sed -n '1p;3p' good >run.cap.custody; sed -n 2p good >>run.cap.custody
check_exit 1 "two lines swapped" "$verify" run.cap
check_prints '^  custody +REORDERED: act 3 is in line 2' "are REORDERED"
head -c -20 good >run.cap.custody
check_exit 1 "a line cut short" "$verify" run.cap
check_prints '^  custody +CUT: it stops inside line 3' "is CUT"
check_exit 3 "a chain that is cut is not extended" "$gpukey" sign --custody archived run.cap
check_says 'is not extended: CUT' "and it is said why"
check "it is as it was" cmp run.cap.custody <(head -c -20 good)
sed '2s/looks fine/looks bad!/' good >run.cap.custody
check_exit 1 "an altered line" "$verify" run.cap
check_prints '^  custody +FORGED: line 2: its signature does not fit' "is FORGED"
check_exit 1 "recording in gpuverify does not hide it" "$verify" --custody archived run.cap
check_prints '^  custody +FORGED' "it stays FORGED"
echo hello >run.cap.custody
check_exit 1 "other text" "$verify" run.cap
check_prints '^  custody +MALFORMED: line 1' "is MALFORMED"
sed 's/^gpurec-custody-2/gpurec-custody-3/' good >run.cap.custody
check_exit 3 "lines of a later version" "$verify" run.cap
check_prints '^  custody +UNCHECKED: line 1' "cannot be checked"
head -n 2 good >run.cap.custody
check_exit 0 "the end cut off between lines cannot be seen" "$verify" run.cap
check_exit 1 "unless the hash of the last act is asked for" "$verify" --custody-head "$head" run.cap
check_prints '^  custody +MISSING: no line has the hash' "then it is MISSING"
rm run.cap.custody
check_exit 1 "no chain at all" "$verify" --custody-head "$head" run.cap
check_prints '^  custody +MISSING: all lines are missing' "is MISSING, too"
: >run.cap.custody
check_exit 1 "an empty one" "$verify" run.cap
check_prints '^  custody +MISSING: all lines are missing' "as well"
cp good run.cap.custody

# Keys that nobody here trusts, and other captures.
check_exit 0 "anybody can add an act" "$gpukey" sign --custody received -s carol.key --name carol run.cap
check_exit 6 "but a key that nothing here trusts makes the chain UNTRUSTED" "$verify" run.cap
check_prints '^  custody +UNTRUSTED: line 4: signed by the key' "which names the line"
check "the capture itself is OK" first_line "OK run.cap"
check_exit 6 "that key trusted to record is of no use" "$verify" --trust carol.pub run.cap
check_prints 'carol\), trusted here without the role custody; to give it: --trust record,custody:FILE$' "and it says so"
check_exit 0 "with --trust" "$verify" --trust custody:carol.pub run.cap
check_prints 'received by "carol".* \(carol\), trusted here$' "all is"
"$mkcap" -k "$GPUREC_HOME/host.key" -o short.cap --no-end run.script || exit 1
check_exit 1 "a chain beside another recording by the same host" "$verify" --custody-file good short.cap
check_prints '^  custody +OTHER: line 1 is about another capture' "is told as OTHER"
"$mkcap" -o other.cap --pub other.pub run.script || exit 1
check_exit 1 "or of another one" "$verify" --trust other.pub --custody-file good other.cap
check_prints '^  custody +OTHER: line 1 is about' "is OTHER, too"

# Narrowing needs no key; its name and reason go into custody.
cp good run.cap.custody
check "a narrower copy is made without a key" env GPUREC_HOME="$TMP/nobody" "$mkcap" --narrow run.cap -o part.cap --withhold process
cp good part.cap.custody
check_exit 0 "the chain holds for the narrower capture" "$verify" part.cap
check_prints '^ +the file has other bytes than at act 3: it was narrowed' "and says that it is another file"
check_exit 0 "the narrowing is recorded" "$gpukey" sign --custody narrowed --name dana --note 'no process names' part.cap
check_exit 0 "then" "$verify" part.cap
check "the verdict is OK-REDACTED" first_line "OK-REDACTED part.cap"
check_prints 'narrowed by "dana", who found it OK-REDACTED' "name and verdict are told"
check "and the file is the one of the last act" bash -c '! grep -q "other bytes" out'

# A capture whose end was cut off after an act.
size=$(stat -c %s run.cap)
head -c $((size - 40)) run.cap >cutoff.cap
check_exit 1 "custody tells that a capture was cut" "$verify" --custody-file good cutoff.cap
check "though the capture alone is" first_line "UNSEALED cutoff.cap"
check_prints '^  custody +OTHER: line 1 is about a seal that this capture does not have' "by the seal that is gone"

# Refusals.
printf x | dd of=run.cap bs=1 seek=$((size - 70)) conv=notrunc 2>/dev/null
check_exit 3 "nothing is recorded on a forged capture" "$gpukey" sign --custody verified run.cap
check_says 'no act is recorded on a capture that is' "and it is said"
check "the chain is as it was" cmp good run.cap.custody
check_exit 2 "an unknown act is a wrong option" "$gpukey" sign --custody stolen part.cap
check_exit 2 "to gpuverify, too" "$verify" --custody stolen part.cap
check_exit 2 "a note without an act is one" "$verify" --note x part.cap
check_exit 2 "a hash that is none" "$verify" --custody-head abc part.cap
check_exit 3 "a chain that is named must be there" "$verify" --custody-file none part.cap
check_exit 3 "a name that is too long is refused" "$gpukey" sign --custody archived --name "$(printf '%0300d' 0)" part.cap
ln -s elsewhere link.custody
check_exit 3 "no line is added through a link" "$verify" --custody archived --custody-file link.custody part.cap
check "nor a file made" test ! -e elsewhere
finish
