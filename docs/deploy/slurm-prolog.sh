#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm prolog (Prolog= in slurm.conf, runs as root on each node of a job): one capture per job and node.
# It records, in the background and for as long as the job runs, EVERY process of the node that uses CUDA: gpurec cannot
# know a job's processes before there are any. So the capture is root's, who alone may read it; docs/DEPLOY.md says when
# it may become the user's. It never holds a job up: whatever goes wrong is a line in the capture's .log.
#
# Slurm gives its scripts no search path and no variables of the site. Settings are lines of sh in /etc/gpurec/slurm:
#   GPUREC_DIR=/var/spool/gpurec   where captures go
#   GPUREC_MAX_SIZE=2G             of each capture
#   GPUREC_BIN=/opt/gpurec/bin     where the tools are, if not in /usr/local/bin or /usr/bin
#   GPUREC_GIVE=user               slurm-epilog.sh tells
set -u

settings=${GPUREC_SLURM:-/etc/gpurec/slurm}
# shellcheck source=/dev/null
[ ! -r "$settings" ] || . "$settings"
PATH=${GPUREC_BIN:-/usr/local/bin}:/usr/bin:/bin
export PATH
umask 077

dir=${GPUREC_DIR:-/var/spool/gpurec}
job=${SLURM_JOB_ID:?this is a Slurm prolog: SLURM_JOB_ID is not set}
user=${SLURM_JOB_UID:?this is a Slurm prolog: SLURM_JOB_UID is not set}
node=${SLURMD_NODENAME:-$(uname -n)}
boot=$(cat /proc/sys/kernel/random/boot_id)
capture=$dir/job-$job-$node.cap

# Who owns a capture in it may reach it by its name, and nobody may list the others.
mkdir -p "$dir" && chmod 711 "$dir" || exit 0
if [ -e "$capture" ]; then # a job that was requeued
	capture=$dir/job-$job-$node-$(date +%s).cap
fi
setsid gpurec -o "$capture" --max-size "${GPUREC_MAX_SIZE:-2G}" </dev/null >"$capture.log" 2>&1 &
echo "$! $user $boot $(cut -d' ' -f22 "/proc/$!/stat" 2>/dev/null) $capture" >"$dir/job-$job.recorder"

# Where jobs of two users meet on a node, the capture of each has the other's processes, too: both are marked.
for other in "$dir"/job-*.recorder; do
	read -r _ its_user its_boot _ 2>/dev/null <"$other" || continue
	if [ "$its_boot" != "$boot" ]; then # the node went down with that job on it
		rm -f "$other"
	elif [ "$its_user" != "$user" ]; then
		: >"$dir/job-$job.shared"
		: >"${other%.recorder}.shared"
	fi
done
exit 0
