#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What docs/deploy and docs/systemd hand to Slurm, Kubernetes and systemd does what docs/DEPLOY.md says, as far as one
# machine without any of them can show: the scripts are run with Slurm's variables, the manifests' commands are run as they
# stand there, with other folders.
# records: most of its time it waits for recorders
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
repo=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
deploy=$repo/docs/deploy
golden=$repo/tests/golden
chmod 711 "$TMP"

can_record=1
[ "$(id -u)" = 0 ] && [ -x "$BUILD/gpurec" ] && [ "${BPF:-1}" != 0 ] && "$BUILD/gpurec" --check >/dev/null 2>&1 || can_record=

# --- Slurm ---
# A recorder that needs no rights, where it does not matter what is recorded.
mkdir "$TMP/double" "$TMP/none"
cat >"$TMP/double/gpurec" <<END
#!/bin/sh
trap 'exit 0' TERM
while [ "\$1" != -o ]; do shift; done
cp '$golden/demo.cap' "\$2"
while :; do sleep 0.05; done
END
chmod 755 "$TMP/double/gpurec"
ln -s "$BUILD/gpuverify" "$TMP/double/gpuverify"
"$BUILD/gpukey" trust "$golden/demo.pub" --name demo >/dev/null || exit 1

# slurm SCRIPT JOB UID [SETTING=VALUE]...: as slurmd starts it, with nothing but Slurm's variables
slurm() {
	local script=$1 job=$2 uid=$3
	shift 3
	env -i SLURM_JOB_ID="$job" SLURM_JOB_UID="$uid" SLURMD_NODENAME=node17 GPUREC_HOME="$GPUREC_HOME" GPUREC_SLURM="$TMP/slurm" \
		GPUREC_DIR="$TMP/spool" GPUREC_BIN="${recorder:-$TMP/double}" "$@" /bin/sh "$deploy/slurm-$script.sh"
}
# job NUMBER UID [SETTING=VALUE]...: from prolog to epilog; the second time its capture has another name
job() {
	slurm prolog "$@" && appears "$(awk '{ print $NF }' "$TMP/spool/job-$1.recorder")" && slurm epilog "$@"
}
appears() {
	until_true test -s "$1" || { echo "there is no $1"; cat "$1.log"; return 1; }
}
# may UID FILE, may_not UID FILE: that user can read it
may() {
	setpriv --reuid "$1" --regid "$1" --clear-groups cat "$2" >/dev/null
}
may_not() {
	[ -s "$2" ] && ! may "$1" "$2" 2>/dev/null
}
spool=$TMP/spool
if [ "$(id -u)" = 0 ]; then
	if [ -n "$can_record" ]; then
		recorder=$BUILD
		check "a job under Slurm leaves a capture" job 70 1234
		recorder=
		check "which verifies" grep -q '^OK ' "$spool/job-70-node17.cap.verdict"
		check "says that it was ended in order" "$BUILD/gpuverify" "$spool/job-70-node17.cap"
		check "and holds other processes than the job's, so it stays root's" may_not 1234 "$spool/job-70-node17.cap"
	else
		skip "a job under Slurm leaves a capture" "this machine cannot record"
	fi
	check "one capture for each job" job 71 1234
	check "of which the job's user reads nothing" may_not 1234 "$spool/job-71-node17.cap"
	check "nor its verdict" may_not 1234 "$spool/job-71-node17.cap.verdict"
	check "nor which captures there are" sh -c '! setpriv --reuid 1234 --regid 1234 --clear-groups ls "$1"' sh "$spool"
	check "where nodes are whole, the capture can be given to its user" job 72 1234 GPUREC_GIVE=user
	check "who then can read it" may 1234 "$spool/job-72-node17.cap"
	check "and its verdict" may 1234 "$spool/job-72-node17.cap.verdict"
	check "and nobody else" may_not 1235 "$spool/job-72-node17.cap"
	two_users() {
		slurm prolog 73 1234 GPUREC_GIVE=user && slurm prolog 74 1235 GPUREC_GIVE=user &&
			appears "$spool/job-73-node17.cap" && appears "$spool/job-74-node17.cap" &&
			slurm epilog 73 1234 GPUREC_GIVE=user && slurm epilog 74 1235 GPUREC_GIVE=user
	}
	check "two users meet on a node" two_users
	check "the first is not given what tells of the second" may_not 1234 "$spool/job-73-node17.cap"
	check "nor the second what tells of the first" may_not 1235 "$spool/job-74-node17.cap"
	echo "1 1235 of-another-boot 5 $spool/job-60-node17.cap" >"$spool/job-60.recorder"
	check "a job that the node went down with does not count" job 75 1234 GPUREC_GIVE=user
	check "its follower is given its capture" may 1234 "$spool/job-75-node17.cap"
	echo GPUREC_GIVE=user >"$TMP/slurm"
	check "a site's settings stand in a file" job 76 1234
	check "which counts" may 1234 "$spool/job-76-node17.cap"
	check "a job that is queued again is recorded again" job 71 1234
	check "beside the first time" [ "$(find "$spool" -name 'job-71-node17*.cap' | wc -l)" -eq 2 ]
	check "and ended, however soon after its begin" sh -c '! grep -qlsF "$1/job-" /proc/[0-9]*/cmdline' sh "$spool"
	check "no recorder is left" sh -c '! ls "$1"/*.recorder "$1"/*.shared 2>/dev/null' sh "$spool"
else
	skip "what the scripts for Slurm do" "they run as root"
fi
recorder=$TMP/none
check "a node without gpurec runs its jobs" slurm prolog 90 "$(id -u)"
check "and ends them" slurm epilog 90 "$(id -u)"
recorder=
check "the log says what was missing" until_true grep -qs gpurec "$spool/job-90-node17.cap.log"
# --- Kubernetes ---
# words MANIFEST CONTAINER: its command and args, a word after each NUL
words() {
	awk -v name="$2" '/^ +- name: / { here = $3 == name } here && /^ +(command|args): \[/ { sub(/^[^[]*/, ""); print }' "$deploy/$1" |
		while read -r list; do
			sqlite3 :memory: "SELECT hex(value) FROM json_each('${list//\'/\'\'}')"
		done | while read -r word; do printf '%b\0' "$(sed 's/../\\x&/g' <<<"$word")"; done
}
# contain MANIFEST CONTAINER [WORD...]: runs what the container runs, with WORDs for its args, and other folders
contain() {
	local manifest=$1 container=$2 command
	shift 2
	mapfile -d '' -t command < <(words "$manifest" "$container")
	[ $# -eq 0 ] || command=("${command[@]:0:4}" "$@")
	command=("${command[@]//\/captures\//$TMP/captures/}")
	command[0]=${command[0]/#\/bin\/gpurec/$BUILD/gpurec}
	PATH=$BUILD:$PATH exec "${command[@]}" </dev/null
}
# stand N: a DaemonSet's container from its start to the end that the kubelet asks for
stand() {
	contain daemonset.yaml gpurec 2>"$TMP/captures/node-0000$1.cap.log" &
	appears "$TMP/captures/node-0000$1.cap" || return 1
	kill -TERM $!
	wait $! && "$BUILD/gpuverify" -q "$TMP/captures/node-0000$1.cap"
}
beside() {
	local program
	contain sidecar.yaml train "$BUILD/workload/driver" -q --seconds 5 >/dev/null &
	program=$!
	"$BUILD/workload/driver" -q --seconds 6 >/dev/null & # of another pod
	(contain sidecar.yaml gpurec) || return 1
	wait $program || return 1
	"$BUILD/gpuverify" -q "$TMP/captures/run.cap" || return 1
	[ "$(cat "$TMP/captures/pid")" = $program ] || { echo "the program is not the process that was named"; return 1; }
	"$BUILD/gpureplay" --json --kind launch "$TMP/captures/run.cap" | sed -nE 's/.*"kind":"launch",.*"pid":([0-9]+).*/\1/p' | sort -u >"$TMP/pids"
	echo "calls of: $(tr '\n' ' ' <"$TMP/pids")"
	[ "$(grep -c . "$TMP/pids")" -eq 1 ] && grep -qx $program "$TMP/pids"
}
mkdir "$TMP/captures"
check "the DaemonSet's command is found in its manifest" [ "$(words daemonset.yaml gpurec | tr '\0' ' ' | grep -c '^/bin/gpurec .*-o /captures/')" -eq 1 ]
options() {
	local option
	for option in $(words daemonset.yaml gpurec | tr '\0' '\n' | grep '^--'); do
		"$BUILD/gpurec" --help | grep -qE -- " ${option}(=| )" || { echo "no option $option"; return 1; }
	done
}
if [ -n "$can_record" ]; then
	check "its options are gpurec's" options
	check "a DaemonSet's container records until it is ended" stand 1
	check "and goes on with the next number when it is started again" stand 2
	check "a sidecar records the program of its pod, from its start to its end, and no other" beside
else
	skip "what the manifests' containers do" "this machine cannot record"
fi
capabilities() {
	local file cap
	for file in daemonset.yaml sidecar.yaml; do
		for cap in $(sed -nE 's/^ +add: \[(.*)\]/\1/p' "$deploy/$file" | tr -d '",'); do
			grep -q "^| \`CAP_$cap\`" "$repo/docs/PRIVILEGES.md" || { echo "$file: $cap is not explained"; return 1; }
		done
	done
	diff <(sed -nE 's/^ +add: \[(.*)\]/\1/p' "$deploy/daemonset.yaml" | tr -d '",' | tr ' ' '\n' | sort) \
		<(sed -nE 's/^AmbientCapabilities=//p' "$repo/docs/systemd/gpurec.service" | tr ' ' '\n' | sed 's/^CAP_//' | sort)
}
check "manifests and unit ask for the same capabilities, which PRIVILEGES.md explains" capabilities
if python3 -c 'import yaml' 2>/dev/null; then
	check "the manifests are YAML" python3 -c 'import sys, yaml
for name in sys.argv[1:]:
    assert all(d["kind"] and d["metadata"]["name"] for d in yaml.safe_load_all(open(name)))' "$deploy/daemonset.yaml" "$deploy/sidecar.yaml"
else
	skip "the manifests are YAML" "python3 has no yaml here"
fi

# --- systemd ---
unit() {
	sed "s#^ExecStart=gpurec #ExecStart=$BUILD/gpurec #; /^Documentation=/d" "$repo/docs/systemd/gpurec.service" >"$TMP/gpurec.service"
	timeout 200 systemd-analyze verify "$TMP/gpurec.service" 2>&1 | tee "$TMP/said" # speed: a limit for what never ends
	! grep -q 'gpurec\.service' "$TMP/said"
}
if command -v systemd-analyze >/dev/null; then
	check "systemd understands the unit" unit
else
	skip "systemd understands the unit" "systemd is not installed"
fi
if [ -n "$can_record" ]; then
	as_unit() {
		local line
		line=$(sed -nE "s/^ExecStart=//p" "$repo/docs/systemd/gpurec.service")
		mkdir -p "$TMP/state"
		PATH=$BUILD:$PATH sh -c "exec ${line//\/var\/lib\/gpurec/$TMP\/state}" &
		appears "$TMP/state/host-00001.cap"
		kill -TERM $! && wait $! && "$BUILD/gpuverify" -q "$TMP"/state/*.cap
	}
	check "the unit's command records, and ends in order" as_unit
else
	skip "the unit's command records, and ends in order" "this machine cannot record"
fi
finish
