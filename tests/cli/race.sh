#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An output in a folder of somebody else, who gives the names of temporary files to links while they are written: nothing is
# written where these lead.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
replay=$BUILD/gpureplay analyze=$BUILD/gpuanalyze gpukey=$BUILD/gpukey
if [ "$(id -u)" != 0 ]; then
	skip "outputs in another's folder" "only root writes where others may not"
	finish
fi
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || {
	skip "outputs in another's folder" "no python3 here"
	finish
}
cd "$TMP" || exit 1
cp "$here/tests/golden/demo.cap" run.cap && cp "$here/tests/golden/demo.pub" demo.pub && chmod u+w run.cap || exit 1
"$gpukey" generate -q -W -s my.key >/dev/null || exit 1
chmod 755 "$TMP"
mkdir theirs
chown 65534 theirs
echo "root's own" >victim
chmod 600 victim

# Whatever is made there, but what an output is called in the end, becomes a link to the victim. Its name is in `swaps`.
cat >racer.py <<'END'
import os, sys
folder, victim, swaps = sys.argv[1:]
log = open(swaps, "w", buffering=1)
os.setgid(65534)
os.setuid(65534)
fd = os.open(folder, os.O_RDONLY)
while True:
    for name in os.listdir(fd):
        path = os.path.join(folder, name)
        try:
            if not name.startswith("out.") or ".part" in name or name.startswith("."):
                if not os.path.islink(path):
                    os.unlink(path)
                    os.symlink(victim, path)
                    log.write(name + "\n")
        except OSError:
            pass
END
"$python" racer.py "$TMP/theirs" "$TMP/victim" "$TMP/swaps" &

until_true test -e swaps

# writes NAME COMMAND ARG...: again and again, until the racer has been faster at least three times
writes() {
	local name=$1 tries=0
	shift
	: >swaps
	: >said
	while [ "$(grep -c . swaps)" -lt 3 ] && [ $((tries += 1)) -le 300 ]; do
		"$@" >>said 2>&1
	done
	echo "# $name: $tries tries, $(grep -c . swaps) of them won by the racer"
	[ "$(grep -c . swaps)" -ge 3 ]
}
untouched() { [ "$(cat victim)" = "root's own" ] && [ "$(stat -c %a:%u victim)" = 600:0 ]; }
less() { # FORM: a capture is made narrower
	[ "$1" != cap ] || echo --withhold process
}
for form in csv db cap perfetto-trace otlp.json folded jsonl txt; do
	check "the racer is faster than gpureplay -o out.$form" \
		writes "$form" "$replay" -q --force --trust demo.pub run.cap -o "theirs/out.$form" $(less "$form")
	check "and nothing is written where its link leads" untouched
	check "it is reported" test -s said
	rm -rf theirs/* theirs/.[!.]*
done
for form in html json txt; do
	check "the racer is faster than gpuanalyze --report=out.$form" \
		writes "$form" "$analyze" -q --force --trust demo.pub run.cap --report="theirs/out.$form"
	check "and nothing is written where its link leads" untouched
	rm -rf theirs/* theirs/.[!.]*
done
finish
