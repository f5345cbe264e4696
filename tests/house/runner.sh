#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/run: what counts as passed, failed, skipped and unstable.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
runner=$(cd "$(dirname "$0")/.." && pwd)/run
cd "$TMP" || exit 1
unset STRICT LONG TIMES AGAIN JOBS LANES SLOW

# planted NAME: a test file; its body is read from standard input
planted() { { echo '#!/usr/bin/env bash'; cat; } >"$1.sh"; }
planted good <<<'echo "ok 1 - it works"; echo "1..1"'
planted broken <<<'echo "ok 1 - it works"; echo "not ok 2 - it never works"; echo "1..2"'
planted skipping <<<'echo "ok 1 - it works # SKIP there is no moon"; echo "1..1"'
planted dead <<<'echo "ok 1 - it works"; kill -9 $$'
planted silent <<<'exit 0'
planted hung <<<'echo "1..1"; sleep 300' # speed: ended by LIMIT
planted flaky <<<'[ -e "$0.seen" ] && echo "ok 1 - it works at times" || echo "not ok 1 - it works at times"
	touch "$0.seen"; echo "1..1"'
flaky_again() { rm -f flaky.sh.seen; "$runner" "$@"; }

last_line() { [ "$(tail -n 1 out)" = "$1" ] || { cat out; return 1; }; }
check_exit 0 "tests that pass" "$runner" good.sh skipping.sh
check "are summed up in the last line, with what was skipped" last_line "1 passed, 0 failed, 1 skipped"
check_prints "^    skip it works: there is no moon" "the reason for which a check was skipped is printed"
check_exit 1 "a check that always fails is a failure" "$runner" good.sh broken.sh
check "of one check" last_line "2 passed, 1 failed, 0 skipped"
check_prints "^failed: broken.sh: it never works" "which is named again at the end"
check "not as unstable" sh -c '! grep -q UNSTABLE out'
check_exit 1 "a test that dies is a failure" "$runner" dead.sh
check_exit 1 "so is one that prints no plan" "$runner" silent.sh
check_exit 1 "and one that takes too long" "$runner" LIMIT=1 hung.sh
check_exit 1 "and no test at all" "$runner"
planted slow <<<'sleep 2; [ "$SLOW" = 200 ] && echo "ok 1 - it knows" || echo "not ok 1 - it knows"; echo "1..1"' # speed: longer than LIMIT
check_exit 0 "with SLOW=200 a test may take 200 times as long" env SLOW=200 "$runner" LIMIT=1 slow.sh

check_exit 0 "a check that fails only the first time" flaky_again good.sh flaky.sh
check "counts as passed" last_line "2 passed, 0 failed, 0 skipped"
check_prints "^UNSTABLE flaky.sh: it works at times" "and is named as unstable"
check_prints "^1 unstable" "and counted"
check_exit 1 "with STRICT=1 it is a failure" env STRICT=1 bash -c 'rm -f flaky.sh.seen; "$@"' sh "$runner" good.sh flaky.sh
check_prints "^UNSTABLE flaky.sh: it works at times" "named all the same"
check "and counted as one" last_line "2 passed, 1 failed, 0 skipped"
for n in 1 2 3; do cp flaky.sh flaky$n.sh; done
check_exit 1 "where more than AGAIN files fail, none runs again" env AGAIN=2 "$runner" flaky1.sh flaky2.sh flaky3.sh
check "and all of them have failed" last_line "0 passed, 3 failed, 0 skipped"

# What a test inherits. (Of signals the first 28: glibc keeps 32 and 33 to itself, and make has them ignored.)
planted inherits <<<'[ "$(umask)" = 0022 ] && echo "ok 1 - umask" || echo "not ok 1 - umask"
	[ ! -e /proc/$$/fd/7 ] && echo "ok 2 - descriptors" || echo "not ok 2 - descriptors"
	[ -z "$NO_COLOR$SUDO_UID$GPUREC_HOME" ] && echo "ok 3 - environment" || echo "not ok 3 - environment"
	[ "$LONG$SETTING" = 1yes ] && echo "ok 4 - settings" || echo "not ok 4 - settings"
	grep -q "^SigIgn:[[:space:]][0-9a-f]*0000000$" /proc/self/status && echo "ok 5 - signals" || echo "not ok 5 - signals"; echo "1..5"'
from_elsewhere() {
	(
		umask 077
		exec 7</dev/null
		trap '' PIPE USR1
		NO_COLOR=1 SUDO_UID=1000 GPUREC_HOME=/nowhere LONG=1 "$runner" SETTING=yes inherits.sh
	)
}
check_exit 0 "a test inherits nothing but the standard descriptors, the settings, and what is passed on" from_elsewhere

# Two that record run side by side, and one that measures the host after them.
planted record_a <<<'touch a; until [ -e b ]; do sleep 0.05; done
	echo "ok 1 - b runs beside it"; touch met; rm a; echo "1..1"'
planted record_b <<<'touch b; until [ -e met ]; do sleep 0.05; done; echo "ok 1 - it runs"; echo "1..1"'
planted measuring <<<'# alone: it looks at everything
	[ ! -e a ] && [ -e b ] && echo "ok 1 - nobody else runs" || echo "not ok 1 - nobody else runs"; echo "1..1"'
check_exit 0 "scripts that record run side by side, one that measures the host alone" "$runner" measuring.sh record_a.sh record_b.sh
check "in that order" sh -c '[ "$(grep -c "" out)" = 4 ] && sed -n 3p out | grep -q measuring.sh'
finish
