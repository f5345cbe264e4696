#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Delegation and revocation from outside: an authority vouches for a host, a machine that trusts the authority believes
# the host's captures, and a signed list takes that back.
. "$(dirname "$0")/lib.sh"

gpukey=$BUILD/gpukey
verify=$BUILD/gpuverify
mkcap=$BUILD/tests/mkcap
cd "$TMP" || exit 1

first_line() { # of stdout is WORD FILE
	[ "$(head -n 1 out)" = "$1" ]
}
id_of() { # the key id of a public key file
	"$gpukey" show "$1" | sed -n 's/^key id  *//p'
}

# Three seconds from 2027-01-15 08:00:00 on.
cat >run.script <<'END'
thread at=+0 tid=100 pid=100 start=+0 name="trainer"
launch at=+1s pid=100 tid=100 dur=17us
epoch +2s
launch at=+2.1s pid=100 tid=100 dur=17us
epoch +3s
END
for name in authority host stranger; do
	"$gpukey" generate -q -W -s $name.key >/dev/null || exit 1
done
host=$(id_of host.pub) authority=$(id_of authority.pub)
"$mkcap" -k host.key -o run.cap run.script || exit 1
{ cat run.script; echo "jump 3600s"; echo "epoch +4s"; } >jump.script
"$mkcap" -k host.key -o jump.cap jump.script || exit 1
sed 's/jump 3600s/jump -3600s/' jump.script >back.script
"$mkcap" -k host.key -o back.cap back.script || exit 1

# Making one.
check_exit 0 "an authority vouches for a host" "$gpukey" delegate -s authority.key --name node17 \
	--from 2027-01-15 --for 365d -o host.delegation host.pub
check_says "^gpukey: key $host vouched for as \"node17\" by $authority, from 2027-01-15T00:00:00Z until 2028-01-15T00:00:00Z" \
	"and is told what was said"
check "the file is two lines" [ "$(sed -n '$=' host.delegation)" = 2 ]
check "the first names the host" grep -qx "untrusted comment: gpurec delegation of node17" host.delegation
check_exit 3 "a file that is there stays" "$gpukey" delegate -s authority.key --name x --for 1d -o host.delegation host.pub
check_says "host.delegation: there is a file already; -f replaces it" "and the remedy is told"
check_exit 0 "without -o the delegation goes to standard output" "$gpukey" delegate -s authority.key --name node17 \
	--from 2027-01-15 --until 2028-01-15 "$(tail -n 1 host.pub)"
check "the same words give the same bytes, by base64 and by file" cmp out host.delegation
check_exit 2 "an end is needed" "$gpukey" delegate -s authority.key --name x host.pub
check_says "missing end: either --for" "and asked for"
check_exit 2 "but one only" "$gpukey" delegate -s authority.key --name x --for 1d --until 2028-01-15 host.pub
check_exit 2 "a date that is none is refused" "$gpukey" delegate -s authority.key --name x --until 2027-02-30 host.pub
check_says "'2027-02-30' is not a date" "by name"
check_exit 2 "a name is needed" "$gpukey" delegate -s authority.key --for 1d host.pub
check_exit 3 "a name with an escape sequence is refused" "$gpukey" delegate -s authority.key --name $'a\e[31m' --for 1d host.pub
check_exit 3 "an interval that ends before it begins is refused" "$gpukey" delegate -s authority.key --name x \
	--from 2028-01-15 --until 2027-01-15 host.pub
check_exit 3 "without a key of its own a host vouches for nobody" "$gpukey" delegate --name x --for 1d host.pub
check "and no key is made for the purpose" test ! -e "$GPUREC_HOME/host.key"

# Believing it.
check_exit 6 "a host that nothing vouches for is UNTRUSTED" "$verify" run.cap
check_exit 6 "so is one whose authority is not trusted" "$verify" --delegation host.delegation run.cap
check_prints "vouched for as \"node17\" by the key $authority, which is not trusted on this machine" "which is told"
check_exit 6 "nor is the word of a key that may just record worth anything" "$verify" --trust authority.pub \
	--delegation host.delegation run.cap
check_prints "vouched for as \"node17\" by $authority, trusted here without the role vouch; to give it: --trust record,vouch:FILE\$" \
	"which is told, with the remedy"
check_exit 0 "with the authority trusted, its host is" "$verify" --trust vouch:authority.pub --delegation host.delegation run.cap
check "which is OK" first_line "OK run.cap"
check_prints "^  signed by +$host, vouched for as \"node17\" by $authority \\(authority\\) until 2028-01-15T00:00:00Z\$" \
	"and it says through whom"
check_exit 0 "the same as JSON" "$verify" --json --trust vouch:authority.pub --delegation host.delegation run.cap
check_prints "\"signer\":\"$host\",\"signer_name\":\"node17\",\"trust\":\"delegated\",\"authority\":\"$authority\"" "names both"
cp host.delegation run.cap.delegation
check_exit 0 "a delegation beside the capture is found" "$verify" --trust vouch:authority.pub run.cap
check_prints '^  delegation run\.cap\.delegation$' "and named"
check_exit 0 "in JSON" "$verify" --json --trust vouch:authority.pub run.cap
check_prints '"delegation_file":"run\.cap\.delegation"' "likewise"
check_exit 6 "but is a hint, no reason" "$verify" run.cap
check_exit 6 "another key with a delegation is no authority" "$verify" --trust stranger.pub run.cap
check_exit 0 "gpureplay believes it, too" "$BUILD/gpureplay" --trust vouch:authority.pub run.cap
check_says "signed by $host \\(node17, vouched for by $authority until 2028" "and says so"
check_exit 0 "so does gpuanalyze" "$BUILD/gpuanalyze" --trust vouch:authority.pub --delegation host.delegation run.cap
check_exit 1 "which refuses the host alone" "$BUILD/gpuanalyze" --trust stranger.pub --delegation host.delegation run.cap
rm run.cap.delegation

# In the store.
check_exit 0 "the delegation is kept in the store" "$gpukey" trust host.delegation
check_prints "^kept as host: key $host is \"node17\", signed by the authority $authority\$" "under its file's name"
check_says "not trusted here" "with a word about the authority"
check_exit 6 "which alone is no reason" "$verify" run.cap
check_exit 0 "list shows it" "$gpukey" list
check_prints "^$host  host .*host.delegation \\(\"node17\" from 2027-01-15T00:00:00Z until 2028-01-15T00:00:00Z, signed by $authority, which is not trusted\\)\$" \
	"with name, interval and authority"
check_exit 0 "show takes the name that list shows" "$gpukey" show host
check_prints "^key id       $host\$" "for the key that it is about"
check_prints "^vouched for  as \"node17\" from 2027-01-15T00:00:00Z until 2028-01-15T00:00:00Z, signed by $authority, which is not trusted\$" \
	"and tells what is said of it"
check_exit 0 "trust in the authority" "$gpukey" trust authority.pub --name boss
check_prints "^trusted as boss: key $authority, .*; it may record\$" "to record"
check_exit 6 "makes no host's captures trusted" "$verify" run.cap
check_prints "trusted here without the role vouch; to give it: gpukey trust --role record,vouch boss\$" "and the remedy is told"
check_exit 0 "list tells what is missing" "$gpukey" list
check_prints "^$authority  boss .*/boss.pub \\(may record\\)\$" "of the key"
check_prints "signed by $authority, which is trusted without the role vouch\\)\$" "and of its word"
check_exit 0 "with that very command" "$gpukey" trust --role record,vouch boss
check_prints "^boss may record,vouch now, before record\$" "the key has the role"
check_exit 0 "makes the host's captures trusted" "$verify" run.cap
check_prints "by $authority \\(boss\\) until" "through the authority's name here"
check_exit 0 "list says that the authority is trusted" "$gpukey" list
check_prints "signed by $authority, which is trusted\\)\$" "now"
check_exit 3 "the name is taken once" "$gpukey" trust host.delegation
check_exit 3 "a delegation is given no role" "$gpukey" trust --role record,vouch host.delegation --name x
check_says "is not a key: it counts as far as its signer's roles go" "but its signer is"
check_exit 0 "untrust takes the delegation away" "$gpukey" untrust host
check_exit 6 "and with it the trust" "$verify" run.cap

# The interval.
vouch() { # FROM UNTIL
	"$gpukey" delegate -q -f -s authority.key --name node17 --from "$1" --until "$2" -o t.delegation host.pub
}
vouch 2026-01-01 2027-01-15T08:00:03Z
check_exit 6 "a capture that reaches the end of the interval is UNTRUSTED" "$verify" --delegation t.delegation run.cap
check_prints "only until 2027-01-15T08:00:03Z; by its own clock this capture reaches to 2027-01-15T08:00:03Z" "and why"
vouch 2026-01-01 2027-01-15T08:00:04Z
check_exit 0 "one that ends before is trusted" "$verify" --delegation t.delegation run.cap
check_exit 6 "one whose clock was set beyond the end in between is not" "$verify" --delegation t.delegation jump.cap
vouch 2027-01-15T08:00:00Z 2028-01-01
check_exit 0 "one that begins with the interval is trusted" "$verify" --delegation t.delegation run.cap
check_exit 6 "one whose clock was set back before it is not" "$verify" --delegation t.delegation back.cap
vouch 2027-01-15T08:00:01Z 2028-01-01
check_exit 6 "one that begins before the interval is UNTRUSTED" "$verify" --delegation t.delegation run.cap
check_prints "only from 2027-01-15T08:00:01Z; by its own clock this capture begins 2027-01-15T08:00:00Z" "and why"
check_exit 0 "one good delegation of two does" "$verify" --delegation t.delegation --delegation host.delegation run.cap

# Forged ones.
line=$(tail -n 1 host.delegation)
{ head -n 1 host.delegation; echo "${line:0:120}A${line:121}"; } >forged.delegation
cmp -s forged.delegation host.delegation && { head -n 1 host.delegation; echo "${line:0:120}B${line:121}"; } >forged.delegation
check_exit 6 "a forged delegation vouches for nobody" "$verify" --delegation forged.delegation run.cap
check_prints "forged.delegation: a forged delegation: the authority that it names did not sign it" "and is told apart"
check_exit 3 "it is not taken into the store" "$gpukey" trust forged.delegation
cp forged.delegation run.cap.delegation
check_exit 6 "beside the capture it is no use either" "$verify" run.cap
check_prints "run.cap.delegation: a forged delegation" "and is named"
rm run.cap.delegation
head -c 100 host.delegation >cut.delegation
check_exit 3 "a delegation that is cut is an error where it is named" "$verify" --delegation cut.delegation run.cap
check_says "cut.delegation: " "by name"

# Revocation.
"$gpukey" trust -q host.delegation >/dev/null || exit 1
check_exit 0 "before, the capture is trusted" "$verify" run.cap
check_exit 3 "a list by a key that is not trusted here is not begun" "$gpukey" revoke -s stranger.key host.pub
check_says "is not trusted here, so its list would not count" "which is told"
check_exit 3 "nor one by a key that may not revoke" "$gpukey" revoke -s authority.key host.pub
check_says "$authority is trusted here without the role revoke, .*; to give it: gpukey trust --role record,vouch,revoke boss; or" \
	"which is told with the remedy"
"$gpukey" revoke -q -s authority.key --reason "not its business" -o early.txt host.pub >/dev/null || exit 1
check_exit 3 "nor is one that was made elsewhere taken" "$gpukey" trust early.txt
check_says "trusted here without the role revoke; to give it: gpukey trust --role record,vouch,revoke boss\$" "for the same reason"
cp early.txt "$GPUREC_HOME/trust/early.revocations" && cp early.txt.minisig "$GPUREC_HOME/trust/early.revocations.minisig"
check_exit 6 "one that is in the store all the same, from before there were roles, may revoke anything" "$verify" run.cap
check_prints "early.revocations is signed by a key without the role revoke; to give it: gpukey trust --role record,vouch,revoke boss\$" \
	"so nothing is trusted, and it says why"
"$gpukey" untrust early >/dev/null || exit 1
check_exit 0 "the role is given by the key's id, too" "$gpukey" trust --role record,vouch,revoke "$authority"
check_exit 0 "the authority revokes the host's key since after the capture" "$gpukey" revoke -s authority.key \
	--since 2027-02-01 --reason "the disk was stolen" host.pub
check_prints "^revoked: key $host, since 2027-02-01T00:00:00Z \\(the disk was stolen\\)\$" "and says so"
check_exit 0 "the capture is trusted still" "$verify" run.cap
check_prints "^  revoked +since 2027-02-01T00:00:00Z, after this capture by its own clock: the disk was stolen\$" "with a word on it"
check_exit 0 "a key that is revoked since a time can be trusted for what was before" "$gpukey" trust host.pub --name before
check_says "key $host is revoked since 2027-02-01T00:00:00Z: the disk was stolen; captures of before count" "with a note"
check_exit 0 "show says since when" "$gpukey" show before
check_prints "^trusted as +before, but revoked since 2027-02-01T00:00:00Z: the disk was stolen\$" "with the date"
"$gpukey" untrust before >/dev/null || exit 1
check_exit 0 "revoked for all time" "$gpukey" revoke -s authority.key --reason "the disk was stolen" host.pub
check_exit 6 "it is not" "$verify" run.cap
check_prints "signed by the key $host, which is revoked: the disk was stolen" "for the reason that was given"
check "and nobody is advised to trust it" test -z "$(grep 'gpukey trust' out)"
check_exit 6 "nor does naming the key help" "$verify" --trust host.pub run.cap
echo words >words.txt
"$gpukey" sign -q -s host.key words.txt >sign.out 2>&1 || cat sign.out
check_exit 6 "a file that the key signed is not accepted either" "$gpukey" check --trust host.pub words.txt
check_prints "which is revoked: the disk was stolen" "for the same reason"
check_exit 0 "show tells that it is revoked, and why" "$gpukey" show host.pub
check_prints "^trusted as +- \\(not trusted here\\), and revoked: the disk was stolen\$" "where it tells of trust"
check_exit 3 "the revoked key is not trusted anew" "$gpukey" trust host.pub --name again
check_says "key $host is revoked here: the disk was stolen; to trust it would change nothing" "which is said"
check "and nothing is made" test ! -e "$GPUREC_HOME/trust/again.pub"
cp host.pub "$GPUREC_HOME/trust/by-hand.pub"
check_exit 0 "of one that was put there by hand" "$gpukey" show by-hand
check_prints "^trusted as +by-hand, but revoked: the disk was stolen\$" "show says so, too"
check_exit 0 "list tells it of each key" "$gpukey" list
check_prints "^$host  by-hand .*\\(may record\\) \\(revoked: the disk was stolen\\)\$" "likewise"
check_prints "^$host  .*\\.delegation \\(.*which is trusted; the host's key is revoked: the disk was stolen\\)\$" "and of each delegation"
rm "$GPUREC_HOME/trust/by-hand.pub"
check_exit 0 "list shows the revocation list" "$gpukey" list
check_prints "^$authority  $authority .*\\(revokes 1\\)\$" "with how many it revokes"
list=$GPUREC_HOME/trust/$authority.revocations
if command -v minisign >/dev/null; then
	check "the stock minisign verifies the list" minisign -Vqm "$list" -p authority.pub
else
	skip "the stock minisign verifies the list" "minisign is not installed"
fi
cp "$list" list.txt && cp "$list.minisig" list.txt.minisig
rm "$list" "$list.minisig"
check_exit 0 "without the list the capture is trusted again" "$verify" run.cap
check_exit 0 "the list goes to another machine" "$gpukey" trust list.txt --name ours
check_exit 6 "and counts there" "$verify" run.cap
sed -i 1q "$GPUREC_HOME/trust/ours.revocations"
check_exit 6 "a list from which a line was taken is not believed" "$verify" run.cap
check_prints "nothing is trusted here while a revocation list cannot be believed: .*ours.revocations" "and nothing else either"
"$mkcap" -k authority.key -o boss.cap run.script || exit 1
check_exit 6 "not even what has nothing to do with it" "$verify" boss.cap
check_exit 3 "list fails, too" "$gpukey" list
check_exit 0 "untrust takes the list away" "$gpukey" untrust ours
check_exit 0 "and all is as before" "$verify" run.cap boss.cap
sed -i s/stolen/st0len/ list.txt
check_exit 3 "a forged list is not taken into the store" "$gpukey" trust list.txt
check_says "list.txt: forged, or signed by none of the keys" "which is told"
check_exit 0 "a delegation alone can be revoked" "$gpukey" revoke -s authority.key --reason "wrong name" host.delegation
check_exit 6 "then it vouches no more" "$verify" run.cap
check_prints "but that delegation is revoked: wrong name" "and says so"
check_exit 0 "as list says" "$gpukey" list
check_prints "which is trusted; it is revoked: wrong name\\)\$" "with the reason"
check_exit 0 "the host's key itself is not" "$verify" --trust host.pub run.cap
"$gpukey" trust -q --role record,revoke stranger.pub >/dev/null
check_exit 0 "an authority is revoked by another key" "$gpukey" revoke -s stranger.key authority.pub
check_exit 6 "and vouches no more" "$verify" --delegation t.delegation boss.cap
check_prints "signed by the key $authority, which is revoked: no reason given" "nor records"
check_exit 0 "which list says, too" "$gpukey" list
check_prints "^$authority  .*\\.pub \\(may record,vouch,revoke\\) \\(revoked: .*\\)\$" "of the authority"
check_prints "signed by $authority, which is revoked: " "and of what it vouched for"
finish
