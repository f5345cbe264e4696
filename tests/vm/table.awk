# SPDX-License-Identifier: Apache-2.0
# The table of kernels in a page, between the lines <!-- kernels --> and <!-- kernels end -->, made of what guests left:
#
#	awk -v results=tests/vm/results.txt -f tests/vm/table.awk docs/CROSS.md
#
# prints the page with it. A line of results is of one guest, in fields that are separated by tabs: name in kernels.txt,
# release, machine, date, the last commit to the programs, whether recording is possible, "recorded lost made" of a run, the same of a flood, nested
# stacks and wrong ones among them, verdict, planted faults found and missed, samples with --metrics, seconds, "tests failed".

function sum(text,   n) {
	if (split(text, n, " ") != 3)
		return "no"
	return n[1] " + " n[2] (n[1] + n[2] == n[3] ? " = " : " **≠** ") n[3]
}

function pair(text, words,   n) {
	if (split(text, n, " ") != 2)
		return "no"
	return n[1] ", " n[2] " " words
}

function row(f,   tests) {
	split(f[14], tests, " ")
	print "| " f[2] " | " f[3] " | " f[6] " | " sum(f[7]) " | " sum(f[8]) " | " pair(f[9], "wrong") " | " f[10] " | " pair(f[11], "missed") \
		" | " (f[12] > 0 ? "yes" : "no") " | " tests[1] - tests[2] " of " tests[1] " | " f[4] ", " f[5] " |"
}

/^<!-- kernels end -->$/ { inside = 0 }
!inside { print }
/^<!-- kernels -->$/ {
	inside = 1
	print "| kernel | machine | records | recorded + lost = made | in a flood | nested stacks | verdict | planted faults found | `--metrics` | tests | tried |"
	print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
	while ((getline line < results) > 0)
		if (line !~ /^#/) {
			split(line, fields, "\t")
			row(fields)
		}
}
