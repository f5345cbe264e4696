#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libgpucap as a stranger uses it: installed into a folder, the example built against it with pkg-config alone, shared and
# static, and run on captures; compared with what gpureplay says of them.
. "$(dirname "$0")/lib.sh"
repo=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
golden=$repo/tests/golden
cd "$TMP" || exit 1

libdir=$TMP/root/usr/local/lib
mkdir -p "$libdir/pkgconfig" root/usr/local/include
cp "$BUILD/libgpucap.so.1" "$BUILD/libgpucap.a" "$libdir"
ln -s libgpucap.so.1 "$libdir/libgpucap.so"
sed "s|@PREFIX@|$TMP/root/usr/local|; s|@LIBDIR@|$libdir|; s|@VERSION@|0|" "$repo/replay/gpucap.pc.in" >"$libdir/pkgconfig/gpucap.pc"
cp "$repo/replay/gpucap.h" root/usr/local/include
cp "$repo/docs/examples/slowest.c" .
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
san=
! nm -D "$BUILD/libgpucap.so.1" | grep -q __asan_ || san=-fsanitize=address,undefined
cc=${CC:-gcc}

if command -v pkg-config >/dev/null; then
	flags=$(pkg-config --cflags --libs gpucap) || flags=missing
	static=$(pkg-config --static --libs gpucap)
else
	flags="-I$TMP/root/usr/local/include -L$libdir -lgpucap"
	static="$flags $(sed -n 's/^Libs.private: //p' "$repo/replay/gpucap.pc.in")"
fi
# shellcheck disable=SC2086 # one word per flag
{
	check "the example builds against the shared library" "$cc" $san -Wall -Wextra -Werror slowest.c $flags -o shared
	if echo 'int main() {}' | "$cc" -x c++ -fsyntax-only - 2>cxx; then
		check "and as C++" "$cc" $san -x c++ -Wall -Wextra -Werror -fsyntax-only slowest.c ${flags%%-l*}
	else
		skip "and as C++" "$cc has no C++ here: $(tail -n 1 cxx)"
	fi
	check "and against the static one" "$cc" $san slowest.c -I"$TMP/root/usr/local/include" "$libdir/libgpucap.a" \
		${static#*-lgpucap} -o static
}
check "the shared one is asked for by its versioned name" sh -c 'readelf -d shared | grep -q "NEEDED.*libgpucap.so.1"'
check "the static one is not asked for" sh -c '! readelf -d static | grep -q libgpucap'
check "the example is at most some 60 lines" [ "$(grep -vc '^ \*\|^/\*' slowest.c)" -le 60 ]

# What it gives out is what its header promises, no more and no less.
nm -D --defined-only "$libdir/libgpucap.so.1" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >shared.names
nm -g --defined-only "$libdir/libgpucap.a" | awk '$2 == "T" { print $3 }' | sort >static.names
nm -D --defined-only "$libdir/libgpucap.so.1" | awk '$2 == "T" { print $3 }' >versioned
grep GPUCAP_API -A1 "$repo/replay/gpucap.h" | grep -o 'gpucap_[a-z_]*(' | tr -d '(' | sort -u >api
check "the shared library exports what the header declares" cmp api shared.names
check "the static one too" cmp api static.names
check "each with a version" sh -c '! grep -v "@@LIBGPUCAP_1.0$" versioned'
if [ -z "$san" ]; then
	check "it can neither write, nor print, nor reach a network" sh -c \
		'! nm -D -u "$1" | grep -wE "write|pwrite|printf|puts|fputs|fwrite|fopen|fopen64|rename|unlink|mkdir|socket|connect|sendto|system|execve|fork|exit|_exit"' \
		sh "$libdir/libgpucap.so.1"
else
	skip "it can neither write, nor print, nor reach a network" "the sanitizers' own functions are in it"
fi

for kind in shared static; do
	check_exit 1 "$kind: an unknown signer is refused" "./$kind" "$golden/demo.cap"
	check_says 'UNTRUSTED' "in so many words"
done
check "the signer is trusted" "$BUILD/gpukey" trust "$golden/demo.pub" --name demo
for kind in shared static; do
	check_exit 0 "$kind: then it is read" "./$kind" "$golden/demo.cap"
	check_prints '^OK, signed by ' "with the verdict"
	mv out "$kind.out"
done
check "both say the same" cmp shared.out static.out
"$BUILD/gpureplay" --json "$golden/demo.cap" >events.json
sed -n 's/.*"dur":\([0-9]*\),"probe":"\([^"]*\)".*/\2 \1/p' events.json |
	awk '{ n[$1]++; if ($2 + 0 > max[$1]) max[$1] = $2 } END { for (p in n) print p, n[p], max[p] }' | LC_ALL=C sort >want
awk '/ calls, slowest / { print $1, $2, $5 }' shared.out | LC_ALL=C sort >have
check "there are calls" [ "$(wc -l <have)" -ge 5 ]
check "their numbers and slowest are those of the JSON lines" cmp want have
cp "$golden/demo.cap" flip.cap
printf '\377' | dd of=flip.cap bs=1 seek=50000 conv=notrunc 2>/dev/null
check_exit 1 "a changed capture is refused" ./shared flip.cap
check_says 'FORGED' "as forged"
check_exit 1 "what is no capture too" ./shared slowest.c
check_says 'MALFORMED' "as malformed"
check_exit 1 "and what is not there" ./shared nowhere.cap
check_says 'No such file' "with the reason"
finish
