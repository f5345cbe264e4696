#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kernels that this machine does not run, in guests: each records its own programs, and its captures are read on this
# machine. A guest is skipped where QEMU, a cross-compiler or packages are not available.
#
# In the environment: GPUREC_VM_KERNELS (names of tests/vm/kernels.txt, or paths of kernels; default: its rows of the set
# ci), GPUREC_VM_STEPS (see tests/vm/steps.sh), GPUREC_VM_JOBS (guests side by side, 2), GPUREC_VM_RESULTS (a file to which
# a line for each guest is added: tests/vm/table.awk explains them), and what tests/vm/boot.sh and fetch.sh take.
# Results of the guests are kept in $BUILD/vm/.
# alone: two guests take two CPUs
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
table=tests/vm/kernels.txt
golden=tests/golden
kernels=${GPUREC_VM_KERNELS:-$(awk '$5 == "ci" { print $1 }' $table)}
# KERNEL=6.1 ARCH=arm64 names the row 6.1-arm64.
[ -z "${ARCH:-}" ] || ! grep -q "^$kernels-$ARCH " $table || kernels=$kernels-$ARCH
steps=${GPUREC_VM_STEPS:-check record flood stacks metrics detach peer}
# The newest kernel has no memory for BPF on this CPU (tests/vm/qemu.sh): what is recorded there is counted.
poor_kernel=newest
# shellcheck source=tests/vm/qemu.sh
. tests/vm/qemu.sh
results=$BUILD/vm
here=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')

if [ "${BPF:-1}" = 0 ]; then
	for kernel in $kernels; do skip "guest ${kernel##*/}" "the build is without BPF"; done
	finish
fi

# as_text CAPTURE: the sum of its events as JSON, which does not depend on the signers that this machine trusts
as_text() { GPUREC_HOME=$TMP/nobody "$BUILD/gpureplay" -q --unverified --json "$1" | sha256sum | cut -d' ' -f1; }
# arch_of KERNEL: that of its row, or of a kernel that has none
arch_of() { awk -v name="$1" -v own="${ARCH:-$here}" '$1 == name { own = $2 } END { print own }' $table; }

# build_for ARCH: prints the folder with programs for it, built now if need be; 3: not available here
build_for() {
	local make=${MAKE:-make}
	[ "$1" != "$here" ] || { echo "$BUILD"; return; }
	[ "$1" = arm64 ] || { echo "there is no cross-build for $1" >&2; return 3; }
	command -v aarch64-linux-gnu-gcc >/dev/null || { echo "there is no aarch64-linux-gnu-gcc here: 'sh .ci/deps.sh vm' installs it" >&2; return 3; }
	tests/vm/fetch.sh sysroot "$1" >/dev/null || return
	# shellcheck disable=SC2086 # make may come with options
	$make -s --no-print-directory BUILD="$BUILD" GOALS=guest "$1" >&2 || return
	echo "$BUILD/arm64"
}

# guest NAME KERNEL: boots it; writes $results/NAME.status, the exit status of boot.sh, and NAME.log, its messages
guest() {
	local arch build status=0
	arch=$(arch_of "$2")
	build=$(cat "$TMP/build.$arch") || { cp "$TMP/build.$arch.status" "$results/$1.status"; cp "$TMP/build.$arch.log" "$results/$1.log"; return; }
	# shellcheck disable=SC2086 # one word per step
	FILES="$TMP/sums $(echo $golden/*.cap)" tests/vm/boot.sh "$2" "$build" "$results/$1" $steps \
		>"$results/$1.log" 2>&1 </dev/null || status=$?
	echo $status >"$results/$1.status"
}

# read_here NAME: its captures have the same verdict and the same events on this machine
read_here() {
	local name=$1 out=$results/$1 sum cap
	[ -s "$out/sums" ] || return
	while read -r sum cap; do
		check_exit 0 "$name: $cap verifies here" "$BUILD/gpuverify" --trust "$out/host.pub" "$out/$cap"
		check "$name: $cap gives the same events here" [ "$(as_text "$out/$cap")" = "$sum" ]
	done <"$out/sums"
	if [ -s "$out/report.json" ]; then
		"$BUILD/gpuanalyze" -q --trust "$out/host.pub" --json "$out/record.cap" >"$TMP/report.json"
		check "$name: its report is the same here" same_findings "$out/report.json" "$TMP/report.json"
	fi
}
# same_findings REPORT REPORT: the rest of a report depends on the signers that a machine trusts
same_findings() {
	local findings="SELECT group_concat(value, char(10)) FROM json_each(CAST(readfile('%s') AS TEXT), '\$.reports[0].findings')"
	# shellcheck disable=SC2059 # the query is a format
	diff <(sqlite3 :memory: "$(printf "$findings" "$1")") <(sqlite3 :memory: "$(printf "$findings" "$2")")
}

# judge NAME: the guest's tests, by name, and those of its captures on this machine
judge() {
	local name=$1 out=$results/$1 line failing plan=
	case $(cat "$out.status") in
	0) ;;
	3)
		skip "guest $name" "$(tail -n 1 "$out.log")"
		return
		;;
	*)
		lib_result 1 "guest $name ends normally" <"$out.log"
		return
		;;
	esac
	while IFS= read -r line; do
		case $line in
		"ok "*"# SKIP "*) skip "$name: $(sed -E 's/^ok [0-9]+ - (.*) # SKIP .*/\1/' <<<"$line")" "${line##*# SKIP }" ;;
		"ok "*) lib_result 0 "$name: ${line#ok * - }" </dev/null ;;
		"not ok "*)
			failing=$(grep -nxF -- "$line" "$out/tap" | head -n 1 | cut -d: -f1)
			lib_result 1 "$name: ${line#not ok * - }" < <(sed -n "$((failing + 1)),\${/^#/!q; s/^# //p}" "$out/tap")
			;;
		1..*) plan=${line#1..} ;;
		esac
	done <"$out/tap"
	check "$name: all its tests have ended" [ "$(grep -cE '^(not )?ok ' "$out/tap")" = "${plan:-none}" ]
	read_here "$name"
}

# result NAME: adds a line for the table of kernels to $GPUREC_VM_RESULTS
result() {
	local out=$results/$1
	[ -n "${GPUREC_VM_RESULTS:-}" ] && [ "$(cat "$out.status")" = 0 ] || return 0
	figure() { awk -v name="$1" '$1 == name { gsub(/[|]/, " "); $1 = ""; print substr($0, 2); found = 1 } END { if (!found) print "-" }' "$out/figures"; }
	touch "$out/figures"
	printf '%s\t' "$1" "$(cut -d' ' -f3 "$out/uname")" "$(awk '{ print $(NF - 1) }' "$out/uname")" "$(date -u +%F)" \
		"$(git log -1 --format=%h --abbrev=10 -- bpf format keys record replay analyze 2>/dev/null)" "$(figure possible)" "$(figure record)" "$(figure flood)" \
		"$(figure nested)" "$(figure verdict)" "$(figure found)" "$(figure metrics)" "$(cat "$out/seconds")" >>"$GPUREC_VM_RESULTS"
	echo "$((lib_count - before)) $((lib_failed - failed_before))" >>"$GPUREC_VM_RESULTS"
}

rm -rf "$results"
mkdir -p "$results" || exit 1
for cap in $golden/*.cap; do
	echo "$(as_text "$cap") ${cap##*/}"
done >"$TMP/sums"
for kernel in $kernels; do arch_of "$kernel"; done | sort -u >"$TMP/architectures"
while read -r arch; do
	build_for "$arch" >"$TMP/build.$arch" 2>"$TMP/build.$arch.log"
	status=$?
	[ $status -eq 0 ] || { rm "$TMP/build.$arch"; echo $status >"$TMP/build.$arch.status"; }
done <"$TMP/architectures"

# Two at a time, each of which uses one CPU.
declare -a names=()
for kernel in $kernels; do
	name=${kernel##*/}
	names+=("$name")
	while [ "$(jobs -pr | wc -l)" -ge "${GPUREC_VM_JOBS:-2}" ]; do wait -n; done
	guest "$name" "$kernel" &
done
if [ -z "${GPUREC_VM_STEPS:-}" ] && grep -qw $poor_kernel <<<"$kernels"; then
	names+=("$poor_kernel-poor")
	while [ "$(jobs -pr | wc -l)" -ge "${GPUREC_VM_JOBS:-2}" ]; do wait -n; done
	steps=refused CPU=$cpu_before_7 guest $poor_kernel-poor $poor_kernel &
fi
wait
for name in "${names[@]}"; do
	before=$lib_count failed_before=$lib_failed
	judge "$name"
	[ "$name" = $poor_kernel-poor ] || result "$name"
done
finish
