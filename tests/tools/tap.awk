# SPDX-License-Identifier: Apache-2.0
# Sums up the TAP of one test program for tests/run: the lines to show go to stdout, "PASSED FAILED SKIPPED PLANNED" to
# the file `sums`. Given: status, the program's exit status; limit, the seconds it had.

function result(ok, text) {
	results++
	failing = 0
	sub(/^(not )?ok *[0-9]* *(- )?/, "", text)
	if (match(toupper(text), /# *SKIP/)) {
		skipped++
		name = substr(text, 1, RSTART - 1)
		reason = substr(text, RSTART + RLENGTH)
		sub(/^[: ]+/, "", reason)
		sub(/ +$/, "", name)
		if (name == "") { # as cmocka prints it: the name after SKIP, the reason, if any, on the line before
			name = reason
			reason = said
		}
		print "    skip " name ": " (reason == "" ? "no reason given" : reason)
	} else if (ok) {
		passed++
	} else {
		failed++
		failing = 1
		print "    FAIL " text
	}
	said = ""
}

/^1\.\.[0-9]+/ { plan += substr($1, 4); planned = 1; next }
/^ok( |$)/ { result(1, $0); next }
/^not ok( |$)/ { result(0, $0); next }
/^Bail out!/ { failed++; bailed = 1; print "    FAIL " $0; next }
/^# tried [0-9]/ { print "    " substr($0, 3); next } # how much a test of chance or exhaustion tried
/^#/ && !failing { said = substr($0, 3) }
{
	kept[++nkept % 20] = $0
	if (failing && nshown++ < 400)
		print "    | " substr($0, 1, 400)
}

END {
	if (status == 124 || status == 137) {
		failed++
		print "    FAIL it took longer than " limit " seconds, or was killed"
	} else if (!planned && !bailed) {
		failed++
		print "    FAIL it printed no plan (exit status " status ")"
	} else if (results != plan && !bailed) {
		failed++
		print "    FAIL it planned " plan " tests and gave " results + 0 " results (exit status " status ")"
	} else if (status != 0 && !failed) {
		failed++
		print "    FAIL it exited with status " status " though no test failed"
	}
	if (failed && !passed && !results)
		for (i = nkept - 18 > 1 ? nkept - 18 : 1; i <= nkept; i++)
			print "    | " substr(kept[i % 20], 1, 400)
	print passed + 0, failed + 0, skipped + 0, plan + 0 > sums
}
