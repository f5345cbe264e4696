#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm prolog (Prolog= in slurm.conf, runs as root on each node of a job): one capture per job and node.
# It records the processes of the job's control group's user from now on, in the background, and never holds the job up:
# whatever goes wrong is a line in the node's log.
#
# Settings: GPUREC_DIR (where captures go), GPUREC_MAX_SIZE (per capture)
set -u

dir=${GPUREC_DIR:-/var/spool/gpurec}
job=${SLURM_JOB_ID:?this is a Slurm prolog: SLURM_JOB_ID is not set}
node=${SLURMD_NODENAME:-$(uname -n)}
capture=$dir/job-$job-$node.cap

mkdir -p "$dir" && chmod 700 "$dir" || exit 0
if [ -e "$capture" ]; then # a job that was requeued
	capture=$dir/job-$job-$node-$(date +%s).cap
fi
setsid gpurec -q -o "$capture" --max-size "${GPUREC_MAX_SIZE:-2G}" </dev/null >"$capture.log" 2>&1 &
echo "$! $capture" >"$dir/job-$job.recorder"
exit 0
