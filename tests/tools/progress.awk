# SPDX-License-Identifier: Apache-2.0
# The output of make as one line: how many files are made by now. Where the build fails ("demo: the build failed" is the
# last line then), all of it is shown, and the exit status is 1.
function say(text) {
	printf "%s%s", terminal ? "\r" : "", text >"/dev/stderr"
}
BEGIN { terminal = system("test -t 2") == 0 }
{ lines[NR] = $0 }
/^demo: the build failed$/ { failed = 1 }
/^  [A-Z]+ +[^ ]/ { n++; if (terminal) say("Building: " n " files") }
END {
	if (failed) {
		if (terminal) print "" >"/dev/stderr"
		for (i = 1; i < NR; i++) print lines[i] >"/dev/stderr"
		exit 1
	}
	if (n) say("Built " n " files into the build folder\n")
}
