#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm epilog (Epilog= in slurm.conf): ends the job's recorder, which seals its capture, and gives the capture to the user.
set -u

dir=${GPUREC_DIR:-/var/spool/gpurec}
job=${SLURM_JOB_ID:?this is a Slurm epilog: SLURM_JOB_ID is not set}
state=$dir/job-$job.recorder

[ -r "$state" ] || exit 0
read -r pid capture <"$state"
rm -f "$state"
if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = gpurec ]; then
	kill -TERM "$pid"
	tries=100 # ten seconds: a capture that is not sealed by then is authentic up to its last seal
	while kill -0 "$pid" 2>/dev/null && [ $tries -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
fi
gpuverify -q "$capture" >"$capture.verdict" 2>&1 || true
[ -z "${SLURM_JOB_UID:-}" ] || chown "$SLURM_JOB_UID" "$capture" "$capture.verdict"
exit 0
