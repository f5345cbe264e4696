#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys, signatures, delegations, revocation lists and custody as mail, git and editors hand them on: with CR LF, a byte
# order mark, without the last newline; and keys that were pasted. The stock minisign reads the keys and signatures alike.
. "$(dirname "$0")/lib.sh"

gpukey=$BUILD/gpukey
verify=$BUILD/gpuverify
cd "$TMP" || exit 1

cat >run.script <<'END'
launch at=+1s pid=100 tid=100 dur=17us
epoch +2s
end interrupted
END
for name in authority host lost; do
	"$gpukey" generate -q -W -s $name.key >/dev/null || exit 1
done
"$BUILD/tests/mkcap" -k host.key -o run.cap run.script || exit 1
"$gpukey" sign -q -s host.key -t 'seen by me' run.cap >/dev/null || exit 1
cp run.cap plain.cap
for act in recorded transferred; do
	"$gpukey" sign -q -s host.key --custody $act --name ops@node17 run.cap >/dev/null || exit 1
done
"$gpukey" delegate -q -s authority.key --name node17 --from 2027-01-15 --for 365d -o host.delegation host.pub >/dev/null || exit 1
"$gpukey" revoke -q -s authority.key -o list.revoked lost.pub >/dev/null 2>&1 || exit 1
head=$("$verify" --trust host.pub run.cap | sed -n 's/^  head  *//p')

crlf() { sed 's/$/\r/' "$1"; }
mark() { printf '\xef\xbb\xbf' && cat "$1"; }
bare() { printf %s "$(cat "$1")"; }
all() { printf '\xef\xbb\xbf' && printf %s "$(sed 's/$/\r/' "$1")"; }
first_line() { [ "$(head -n 1 out)" = "$1" ]; }

for how in crlf mark bare all; do
	mkdir "$how" || exit 1
	for file in authority.pub host.pub run.cap.minisig run.cap.custody host.delegation list.revoked list.revoked.minisig; do
		$how "$file" >"$how/$file"
	done
	(umask 077 && $how host.key >"$how/host.key")
	cp run.cap "$how"
	check "$how: the files are other ones" eval "! cmp -s host.pub $how/host.pub"
	check_exit 0 "$how: a public key is trusted" "$verify" --trust "$how/host.pub" plain.cap
	check_exit 0 "$how: a signature holds" "$gpukey" check --trust "$how/host.pub" --signature "$how/run.cap.minisig" run.cap
	check_prints '^  comment    seen by me$' "$how: with the comment that was signed"
	if command -v minisign >/dev/null; then
		check "$how: as for the stock minisign" minisign -Vqm run.cap -x run.cap.minisig -p "$how/host.pub"
		# It takes no mark before a signature.
		case $how in crlf | bare)
			check "$how: both" minisign -Vqm run.cap -x "$how/run.cap.minisig" -p "$how/host.pub" ;;
		esac
	else
		skip "$how: as for the stock minisign: it is not installed"
	fi
	check_exit 0 "$how: a secret key signs" "$gpukey" sign -q -s "$how/host.key" -t x -o "$how/again" run.cap
	check_exit 0 "$how: as itself" "$gpukey" check --trust host.pub --signature "$how/again" run.cap
	check_exit 0 "$how: a delegation is believed" "$verify" --trust "vouch:$how/authority.pub" --delegation "$how/host.delegation" plain.cap
	check_exit 0 "$how: custody is INTACT" "$verify" --trust record,custody:host.pub --custody-head "$head" "$how/run.cap"
	check_prints '^  custody +INTACT' "$how: in words"
	check_exit 0 "$how: and goes on" "$gpukey" sign -q -s host.key --custody received --name me@here "$how/run.cap"
	check_exit 0 "$how: with one more act" "$verify" --trust record,custody:host.pub --custody-head "$head" "$how/run.cap"
	check_prints '^  custody +INTACT: 3 acts' "$how: which is counted"
	mkdir -m 700 "$how.home"
	check_exit 0 "$how: an authority is trusted" env GPUREC_HOME="$TMP/$how.home" "$gpukey" trust --role vouch,revoke --name ca "$how/authority.pub"
	check_exit 0 "$how: its list is taken" env GPUREC_HOME="$TMP/$how.home" "$gpukey" trust --name ca-list "$how/list.revoked"
	check_exit 3 "$how: what it revokes is not trusted" env GPUREC_HOME="$TMP/$how.home" "$gpukey" trust --name lost lost.pub
	check_says 'is revoked here' "$how: for that reason"
done

# What is not an end of a line is what it always was.
sed '2s/^\(.\{20\}\)/\1\r/' host.pub >inside.pub
check_exit 3 "a return inside a line is refused" "$verify" --trust inside.pub plain.cap
sed 's/$/\r\r/' run.cap.custody >run.cap.twice
check_exit 1 "two returns at the end of a line are" "$verify" --trust record,custody:host.pub --custody-file run.cap.twice run.cap
check_prints '^  custody +MALFORMED: line 1' "a line that is none"
sed '1s/always/2027-01-15T00:00:00Z/;s/$/\r/' list.revoked | sed 's/always/2027-01-15T00:00:00Z/' >other.revoked
cp list.revoked.minisig other.revoked.minisig
check_exit 3 "a list that says something else is not the one that was signed" env GPUREC_HOME="$TMP/crlf.home" \
	"$gpukey" trust --name other other.revoked

# Pasted keys.
key=$(sed -n 2p host.pub)
n=0
for pasted in " $key" "$key " "$(printf '\t%s\r\n ' "$key")" "$key"$'\r' $'\n'"$key"$'\n'; do
	n=$((n + 1))
	check_exit 0 "a pasted key, $n: with blanks or the end of a line around it" "$gpukey" trust --name "pasted$n" "$pasted"
	check_exit 0 "is the key" "$verify" plain.cap
	check_exit 0 "and goes again" "$gpukey" untrust "pasted$n"
done
check_exit 3 "a pasted key that lost its end" "$gpukey" trust --name short " ${key%???}"$'\r'
check_says 'not a whole public key|neither a file nor a whole public key' "is still reported as one"
cp host.pub ' named like a key '
check_exit 0 "a file may be called as it likes" "$gpukey" trust --name file ' named like a key '
finish
