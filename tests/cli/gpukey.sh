#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpukey from outside: making, showing, trusting and untrusting keys, and both directions with the stock minisign.
. "$(dirname "$0")/lib.sh"

gpukey=$BUILD/gpukey
cd "$TMP" || exit 1

# The value of a line such as "key id       6AD2764B2DBBD4EC".
value() {
	sed -n "s/^$1  *//p" "$TMP/out"
}

# Base64 as a regular expression.
literally() {
	echo "${1//+/\\+}"
}

check_exit 0 "list of an empty store is no error" "$gpukey" list
check_says "no key is trusted here yet" "and it says what to do"
check_exit 3 "show without a key of one's own fails" "$gpukey" show
check_says "this host has no key yet" "and says so"

check_exit 0 "generate -W makes the host's identity without asking" "$gpukey" generate -W
host_id=$(value "key id")
host_line=$(value "public key")
check_prints "^trusted as   .*-$host_id\$" "and trusts it"
check_says "gpukey trust $(literally "$host_line") --name" "and prints the command for other machines"
check "the secret key is for its owner only" test "$(stat -c %a "$GPUREC_HOME/host.key")" = 600
check "the folder can be read by others" test "$(stat -c %a "$GPUREC_HOME")" = 755
cp "$GPUREC_HOME/host.key" before.key
check_exit 3 "a second generate refuses to replace it" "$gpukey" generate -W
check_says "host.key: there is a file already; -f replaces it" "and names the file"
check "the key is unchanged" cmp before.key "$GPUREC_HOME/host.key"
check_exit 0 "list shows it" "$gpukey" list
check_prints "^$host_id .*\(this host\)\$" "as this host's"
check_exit 0 "show prints the host's own key" "$gpukey" show
check_prints "^public key   $(literally "$host_line")\$" "in one line"
check "the fingerprint is BLAKE2b-256 of the 32-byte key" test \
	"$(value fingerprint | tr -d ' ')" = "$(base64 -d <<<"$host_line" | tail -c 32 | b2sum -l 256 | cut -d' ' -f1)"

check_exit 0 "generate -s makes a pair in files" "$gpukey" generate -W -s my.key
check "the public half lies beside it" test -s my.pub
my_id=$(value "key id")
my_line=$(value "public key")
check_exit 0 "a key in files is not trusted by itself" "$gpukey" show my.pub
check_prints "not trusted here" "show says so"
check_exit 0 "trust FILE" "$gpukey" trust my.pub --name lab-7
check_prints "^trusted as lab-7: key $my_id, fingerprint " "tells name, id and fingerprint"
check_exit 0 "trusting it again is no error" "$gpukey" trust "$my_line"
check_prints "trusted already as lab-7" "and says under which name"
check_exit 0 "show finds a key by name" "$gpukey" show lab-7
check_prints "^key id       $my_id\$" "the right one"
check_exit 0 "show finds a key by id, in lower case too" "$gpukey" show "${my_id,,}"
check_prints "^public key   $(literally "$my_line")\$" "the right one"
check_exit 0 "a third key" "$gpukey" generate -W -s third.key -p third.public
check_exit 3 "a name that is taken is refused" "$gpukey" trust third.public --name lab-7
check_says "another key is trusted as lab-7; choose a name with --name" "with the remedy"
check_exit 2 "a name with a path in it is refused" "$gpukey" trust third.public --name ../../x
check_says "cannot name a key" "with the reason"
check_exit 0 "untrust NAME" "$gpukey" untrust lab-7
check_exit 0 "show still reads the file" "$gpukey" show my.pub
check_prints "not trusted here" "and the key is trusted no more"
check_exit 3 "untrusting what is not trusted fails" "$gpukey" untrust lab-7
check_says "no key named lab-7" "and says so"
check_exit 0 "trust BASE64" "$gpukey" trust "$my_line"
check_prints "^trusted as $my_id: " "is called by its id"
check_exit 0 "untrust KEYID" "$gpukey" untrust "$my_id"

check_exit 3 "a secret key cannot be trusted" "$gpukey" trust my.key
check_says "my.key: a secret key, where a public key is needed" "with its own sentence"
head -c 80 my.pub >cut.pub
check_exit 3 "a key that is cut off cannot be trusted" "$gpukey" trust cut.pub
check_says "cut.pub: a public key that is cut off" "with its own sentence"
head -c 100 /dev/urandom >noise.pub
check_exit 3 "a line of base64 that lost a letter cannot be trusted" "$gpukey" trust "${my_line%?}"
check_says ": neither a file nor a whole public key \\(56 characters of base64, this has 55\\)\$" "which is said"
check_exit 3 "nor one with a wrong letter" "$gpukey" trust "A${my_line#?}"
check_says ": neither a file nor a public key: a letter is wrong\$" "which is said"
check_exit 3 "nor can it be shown" "$gpukey" show "${my_line%?}"
check_says "this has 55\\)\$" "which is said"
check_exit 3 "random bytes cannot be trusted" "$gpukey" trust noise.pub
check_says "noise.pub: not a minisign key" "with its own sentence"
check_exit 3 "a folder cannot be trusted" "$gpukey" trust .
check_exit 3 "what is not there cannot be trusted" "$gpukey" trust absent.pub
check_says "absent.pub: cannot be opened: No such file" "with its own sentence"
printf 'x\n' >"$GPUREC_HOME/trust/broken.pub"
check_exit 3 "list with a broken file in the store fails" "$gpukey" list
check_says "broken.pub: not a minisign key" "names the file"
check_prints "^$host_id " "and lists the others all the same"
check_exit 0 "untrust removes a broken file by its name" "$gpukey" untrust broken

check_exit 2 "no subcommand is a usage error" "$gpukey"
check_exit 2 "an unknown subcommand is a usage error" "$gpukey" frobnicate
check_says "unknown command 'frobnicate'; there are generate, list," "and is named"
check_exit 2 "an unknown option is a usage error" "$gpukey" generate --frob
check "in one line" test "$(wc -l <"$TMP/err")" = 1
check_exit 2 "-p without -s is a usage error" "$gpukey" generate -W -p x.pub
check_exit 2 "trust without a key is a usage error" "$gpukey" trust
check_exit 2 "an operand too many is a usage error" "$gpukey" list all
check_exit 3 "a folder that cannot be written to is told" "$gpukey" generate -W -s /proc/nothing.key
check_exit 0 "--version" "$gpukey" --version
check_prints "^gpukey [0-9]+\.[0-9]+\.[0-9]+\$" "is name and number"
check_exit 0 "--help of a subcommand" "$gpukey" generate --help
check_prints "^  -W, --no-password  " "lists its options"
check_exit 3 "an empty passphrase is refused" "$gpukey" generate -s empty.key --passphrase-fd 0 </dev/null
check "and nothing is made" test ! -e empty.key -a ! -e empty.pub

echo "what is signed" >message
if command -v minisign >/dev/null; then
	check "minisign signs with the host's key" minisign -S -W -s "$GPUREC_HOME/host.key" -m message
	check "minisign verifies with its public half" minisign -V -p "$GPUREC_HOME/host.pub" -m message
	check "minisign recreates that public half to the byte" minisign -R -W -s "$GPUREC_HOME/host.key" -p again.pub -f
	check "the same bytes" cmp again.pub "$GPUREC_HOME/host.pub"
	check_exit 0 "generate with a passphrase" "$gpukey" generate -s locked.key --passphrase-fd 0 <<<"correct horse"
	check "minisign opens that key with the passphrase" minisign -S -s locked.key -m message -x locked.sig <<<"correct horse"
	check "and its signature holds" minisign -V -p locked.pub -m message -x locked.sig
	check "minisign makes a key" minisign -G -W -s stock.key -p stock.pub
	check_exit 0 "gpukey trusts it" "$gpukey" trust stock.pub
	stock_id=$(sed -n 's/^untrusted comment: minisign public key //p' stock.pub)
	check_exit 0 "and shows it" "$gpukey" show stock
	check_prints "^key id       0*$stock_id\$" "with the id that minisign prints"
	check_prints "^public key   $(literally "$(sed -n 2p stock.pub)")\$" "and the same line"
else
	skip "keys serve the stock minisign and the other way round" "minisign is not installed"
fi


check_exit 0 "help names all that sign does" "$gpukey" --help
check_prints '^ +gpukey sign --custody ACT \[--name WHO\] \[--note TEXT\] \[-s FILE\] CAPTURE\.\.\.$' "custody too"
check_prints '^Exit status: 0 fine; 1 FORGED by check' "and the exit statuses"

# What a key may do.
export GPUREC_HOME=$TMP/for-roles
"$gpukey" generate -W >/dev/null 2>&1
check_exit 0 "a host's own key" "$gpukey" list
check_prints '\(may record\) \(this host\)$' "may record, and no more"
"$gpukey" generate -W -s "$TMP/boss.key" >/dev/null 2>&1
"$gpukey" generate -W -s "$TMP/other.key" >/dev/null 2>&1
check_exit 0 "a key is trusted for what is named" "$gpukey" trust --role custody,vouch "$TMP/boss.pub"
check_prints '^trusted as boss: .*; it may vouch,custody$' "and it says so"
check "which is kept beside it, with the whole key" [ "$(cat "$GPUREC_HOME/trust/boss.roles")" = "$(tail -n 1 "$TMP/boss.pub") vouch,custody" ]
check_exit 0 "show" "$gpukey" show boss
check_prints '^roles        vouch,custody$' "tells the roles"
check_exit 0 "trusting it again" "$gpukey" trust "$TMP/boss.pub"
check_prints '^trusted already as boss; it may vouch,custody$' "changes none"
check_exit 0 "other roles replace them" "$gpukey" trust --role revoke boss
check_prints '^boss may revoke now, before vouch,custody$' "which is told"
check_exit 0 "as JSON" "$gpukey" show --json boss
check_prints '"roles":\["revoke"\]\}$' "they are a list"
check_exit 2 "a word that is no role is refused" "$gpukey" trust --role record,admin boss
check_says "--role: 'admin' is not a role: must be record, vouch, revoke or custody" "by name"
check_exit 2 "no word is none" "$gpukey" trust --role '' boss
cp "$TMP/other.pub" boss
check_exit 3 "a name that is a file's, too, may mean either" "$gpukey" trust --role record boss
check_says "boss: a file and a trusted key; use ./boss for the file, else the key's id" "so one is to be named"
rm boss
cp "$TMP/other.pub" "$GPUREC_HOME/trust/boss.pub"
check_exit 3 "another key put in its place" "$gpukey" list
check_says "boss.roles: the roles of another key; remove this file" "does not have its roles"
check_exit 0 "untrust" "$gpukey" untrust boss
check "takes key and roles away" test ! -e "$GPUREC_HOME/trust/boss.pub" -a ! -e "$GPUREC_HOME/trust/boss.roles"

# For programs.
export GPUREC_HOME=$TMP/for-programs
"$gpukey" generate -W >/dev/null 2>&1
"$gpukey" generate -W -s "$TMP/odd.key" >/dev/null 2>&1
"$gpukey" trust "$TMP/odd.pub" --name odd.one >/dev/null
check_exit 0 "the list as JSON" "$gpukey" list --json
check "is an object a line for each key" [ "$(grep -c '^{"key_id":"[0-9A-F]*","public_key":"RW[^"]*","fingerprint":"[0-9a-f ]*","name":"[^"]*","file":"/[^"]*","trusted":true,"own":\(true\|false\),"roles":\["record"\]}$' "$TMP/out")" -eq 2 ]
check "one of them is this host's" [ "$(grep -c '"own":true' "$TMP/out")" -eq 1 ]
check_exit 0 "a key as JSON" "$gpukey" show --json odd.one
check_prints "^\{\"key_id\":.*\"fingerprint\":\"$("$gpukey" show odd.one | sed -n 's/^fingerprint  //p')\",\"trusted\":true,\"name\":\"odd\.one\",\"roles\":\[\"record\"\]\}\$" "with what identifies it"
check_exit 0 "one that is not trusted" sh -c '"$1" untrust odd.one >/dev/null; "$1" show --json "$2"' sh "$gpukey" "$TMP/odd.pub"
check_prints '"trusted":false}$' "says so"
check_exit 2 "show takes one key" "$gpukey" show a b
check_says "unexpected argument 'b'" "and names the one too many"

# Trust on first use by a person: the fingerprint is shown and asked for on a terminal, and nowhere else.
if command -v python3 >/dev/null; then
	# asked ANSWER ARG...: gpukey trust ARG... on a terminal; what it showed, then its exit status
	asked() {
		python3 - "$@" <<-'ASK'
			import os, pty, sys
			pid, fd = pty.fork()
			if pid == 0:
			    os.execv(os.environ["BUILD"] + "/gpukey", ["gpukey", "trust"] + sys.argv[2:])
			shown = b""
			answered = False
			while True:
			    try:
			        part = os.read(fd, 4096)
			    except OSError:
			        break
			    if not part:
			        break
			    shown += part
			    if b"[y/N]" in shown and not answered:
			        answered = True
			        os.write(fd, sys.argv[1].encode() + b"\n")
			print(shown.decode())
			sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
		ASK
	}
	export GPUREC_HOME=$TMP/first-use
	GPUREC_HOME=$TMP/other "$BUILD/gpukey" generate -W -s "$TMP/stranger.key" >/dev/null 2>&1
	wanted=$("$BUILD/gpukey" show "$TMP/stranger.pub" | sed -n 's/^fingerprint  //p')
	check_exit 3 "on a terminal gpukey trust asks, and no is no" asked n "$TMP/stranger.pub"
	check "after it has shown the fingerprint" grep -qF "fingerprint  $wanted" "$TMP/out"
	check "so that the key is not trusted" sh -c '! "$BUILD/gpukey" list | grep -q stranger'
	check_exit 3 "nothing is no, too" asked "" "$TMP/stranger.pub"
	check_exit 0 "y is yes" asked y "$TMP/stranger.pub"
	check "then it is" sh -c '"$BUILD/gpukey" list | grep -q stranger'
	"$BUILD/gpukey" untrust stranger >/dev/null
	check_exit 0 "with --yes nothing is asked" asked n --yes "$TMP/stranger.pub"
	check "not even shown" sh -c "! grep -q 'y/N' '$TMP/out'"
	check_exit 0 "gpukey list -v shows fingerprints" "$BUILD/gpukey" list -v
	check "this one's" grep -qF "fingerprint $wanted" "$TMP/out"
else
	skip "on a terminal gpukey trust asks" "there is no python3"
fi
finish
