# SPDX-License-Identifier: Apache-2.0
# A table out of what `gcov -n` says of several files: the lines of each .c file that ran, then each folder's sum. Fails
# when a folder has less than `least` percent, or none at all.

/^File / {
	file = $0
	gsub(/^File .|.$/, "", file)
	next
}

/^Lines executed:/ && file ~ /^(format|keys)\/[^\/]*\.c$/ && !(file in seen) {
	seen[file] = 1
	percent = $0
	sub(/^Lines executed:/, "", percent)
	lines = percent
	sub(/%.*/, "", percent)
	sub(/.* of /, "", lines)
	ran = int(percent * lines / 100 + 0.5)
	folder = substr(file, 1, index(file, "/"))
	all[folder] += lines
	covered[folder] += ran
	printf "%6.1f %%  %5d of %5d  %s\n", percent, ran, lines, file | "sort -k6"
	file = ""
}

END {
	close("sort -k6")
	for (folder in all) {
		printf "%6.1f %%  %5d of %5d  %s\n", 100 * covered[folder] / all[folder], covered[folder], all[folder], folder
		if (100 * covered[folder] < least * all[folder]) {
			print "coverage: less than " least " % of " folder
			failed = 1
		}
		nfolders++
	}
	if (nfolders != 2) {
		print "coverage: gcov gave no figures for format/ and keys/"
		failed = 1
	}
	exit failed
}
