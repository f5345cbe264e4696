#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm epilog (Epilog= in slurm.conf, runs as root): ends the job's recorder, which seals its capture, and writes down the
# verdict. Capture and verdict stay root's, for they cover the whole node.
#
# With GPUREC_GIVE=user (in /etc/gpurec/slurm; slurm-prolog.sh describes this file) they become the job's user's, unless a job
# of another user was on the node meanwhile. Set it only where Slurm hands out whole nodes (OverSubscribe=EXCLUSIVE) and what
# the system itself runs on them is no secret.
set -u

settings=${GPUREC_SLURM:-/etc/gpurec/slurm}
# shellcheck source=/dev/null
[ ! -r "$settings" ] || . "$settings"
PATH=${GPUREC_BIN:-/usr/local/bin}:/usr/bin:/bin
export PATH
umask 077

dir=${GPUREC_DIR:-/var/spool/gpurec}
job=${SLURM_JOB_ID:?this is a Slurm epilog: SLURM_JOB_ID is not set}
state=$dir/job-$job.recorder
shared=$dir/job-$job.shared

# Whether it is the one that the prolog started, and not another one that has its number by now.
running() {
	case $(cut -d' ' -f3,22 "/proc/$pid/stat" 2>/dev/null) in
	"Z $started" | '') return 1 ;;
	*" $started") return 0 ;;
	*) return 1 ;;
	esac
}

[ -r "$state" ] || exit 0
read -r pid user _ started capture <"$state"
tries=100 # ten seconds: a capture that is not sealed by then is authentic up to its last seal
running && kill -TERM "$pid"
while running && [ $tries -gt 0 ]; do
	sleep 0.1
	tries=$((tries - 1))
done
gpuverify -q "$capture" >"$capture.verdict" 2>&1 || true
if [ "${GPUREC_GIVE:-}" = user ] && [ ! -e "$shared" ] && ! running; then
	chown "$user" "$capture" "$capture.verdict"
fi
rm -f "$state" "$shared"
exit 0
