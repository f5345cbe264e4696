#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/QUICKSTART.md, typed line by line by an ordinary user in a clean folder, on a system on which the tools were installed
# and nothing else was ever done. What that user types with `sudo` is run as root.
# shellcheck source-path=SCRIPTDIR/../cli
# An /etc in which no identity was made yet, and which nobody else sees.
[ "${1:-}" = inside ] || ! unshare -m true 2>/dev/null || exec unshare -m bash "$0" inside
. "$(dirname "$0")/../cli/lib.sh"
repo=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ "$(id -u)" != 0 ] || [ "${1:-}" != inside ] || ! "${user[@]}" true 2>/dev/null; then
	skip "the quick start of an ordinary user" "only root can become one, in a mount namespace"
	finish
fi
cp -a /etc "$TMP/etc" && rm -rf "$TMP/etc/gpurec" && mount --bind "$TMP/etc" /etc || exit 1
unset GPUREC_HOME XDG_CONFIG_HOME

chmod 711 "$TMP"
mkdir "$TMP/user" && chown 65534:65534 "$TMP/user" || exit 1
check_exit 0 "the tools are installed" "${MAKE:-make}" -s -C "$repo" --no-print-directory BUILD="$BUILD" BPF="${BPF:-1}" \
	DESTDIR="$TMP/root" PREFIX=/usr install

# typed LINE: by the user, in the folder of the line before. The words of a command for sudo are found by the user's shell.
typed() {
	local folder asked
	folder=$(cat "$TMP/folder")
	"${user[@]}" env -i HOME="$TMP/user" PATH="$TMP/root/usr/bin:$PATH" LC_ALL=C.UTF-8 \
		bash -euo pipefail -c 'sudo() { printf "%q " "$@"; }; cd "$1"; eval "$2"; pwd >&3' bash "$folder" "$1" \
		3>"$TMP/folder" </dev/null >"$TMP/typed" || { cat "$TMP/typed"; return 1; }
	[[ $1 == sudo\ * ]] || return 0
	asked=$(cat "$TMP/typed")
	(cd "$folder" && PATH=$TMP/root/usr/bin:$PATH && eval "$asked") >"$TMP/typed" </dev/null
}
types() { # LINE
	local status=0
	typed "$1" 2>"$TMP/typed.err" || status=$?
	cat "$TMP/typed" "$TMP/typed.err"
	return $status
}
saw() { # EXPRESSION: in what the last line printed
	grep -qE "$1" "$TMP/typed" || { cat "$TMP/typed"; return 1; }
}

can_record=
[ -x "$TMP/root/usr/bin/gpurec" ] && "$TMP/root/usr/bin/gpurec" --check >/dev/null 2>&1 && can_record=1
echo "$TMP/user" >"$TMP/folder"
awk '/^```sh (run|root)$/ { kind = $2; next } /^```/ { kind = "" } kind { print kind "\t" $0 }' "$repo/docs/QUICKSTART.md" >"$TMP/lines"
while IFS=$'\t' read -r kind line; do
	if [ "$kind" = root ] && [ -z "$can_record" ]; then
		skip "$line" "this machine cannot record"
		continue
	fi
	check "$line" types "$line"
	case $line in
	"gpuverify demo.cap ||"*)
		check "the sample's signer is not trusted yet" saw '^UNTRUSTED .*demo\.cap'
		check "exit status 6, as the page says" saw '^exit status 6$'
		check "the fingerprint is the page's" saw "$(grep -oE '70fa bd8b[0-9a-f ]*[0-9a-f]' "$repo/docs/QUICKSTART.md")"
		;;
	"gpuverify demo.cap") check "it is trusted then" saw '^OK .*demo\.cap' ;;
	"gpuanalyze demo.cap --report")
		check "the leak is named, as the page says" saw '^  1\. leak_site leaks device memory'
		check "and the launch" saw '^  2\. cudaLaunchKernel took 18\.1 ms \(median 21\.8 .*woken by .* hog '
		;;
	*--tid\ 3523) check "that launch is shown" saw 'cudaLaunchKernel .*dur=18\.1ms' ;;
	"gpuverify part.cap") check "the part is what the page says" saw '^OK-REDACTED .*part\.cap' ;;
	"gpuverify run.cap") check "the host's own capture is trusted by its users" saw '^OK .*run\.cap' ;;
	esac
done <"$TMP/lines"
check "there were lines to type" [ "$(wc -l <"$TMP/lines")" -ge 12 ]
check "all that was made is in one folder" [ "$(cd "$TMP/user" && echo *)" = gpurec-quickstart ]
finish
