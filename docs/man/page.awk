# SPDX-License-Identifier: Apache-2.0
# A guide as a manual page: the Markdown that docs/*.md use (headings, paragraphs, lists, tables, code, links, emphasis) in
# man(7) and tbl(1).
#
#	awk -v page=gpurec-format.5 -f docs/man/page.awk docs/FORMAT.md >gpurec-format.5
BEGIN {
	split(page, part, ".")
	print "'\\\" t -*- coding: UTF-8 -*-"
	print ".\\\" SPDX-License-Identifier: Apache-2.0"
	printf ".TH %s %s \"\" gpurec\n", toupper(part[1]), part[2]
}

# Text between marks: \fB, \fI, as roff wants it.
function inline(s,   out, m) {
	gsub(/\\/, "\\e", s)
	gsub(/\[([^]]*)\]\([^)]*\)/, "\001&", s)
	while (match(s, /\001\[[^]]*\]\([^)]*\)/)) {
		m = substr(s, RSTART + 2, RLENGTH - 2)
		sub(/\]\(.*/, "", m)
		s = substr(s, 1, RSTART - 1) m substr(s, RSTART + RLENGTH)
	}
	while (match(s, /`[^`]*`/))
		s = substr(s, 1, RSTART - 1) "\\fB" substr(s, RSTART + 1, RLENGTH - 2) "\\fR" substr(s, RSTART + RLENGTH)
	while (match(s, /\*\*[^*]*\*\*/))
		s = substr(s, 1, RSTART - 1) "\\fB" substr(s, RSTART + 2, RLENGTH - 4) "\\fR" substr(s, RSTART + RLENGTH)
	while (match(s, /\*[^* ][^*]*\*/))
		s = substr(s, 1, RSTART - 1) "\\fI" substr(s, RSTART + 1, RLENGTH - 2) "\\fR" substr(s, RSTART + RLENGTH)
	gsub(/-/, "\\-", s)
	return guard(s)
}
# A line that starts with a dot or a quote is a request.
function guard(s) {
	return s ~ /^[.']/ ? "\\&" s : s
}
function end_table() {
	if (!ncolumns)
		return
	printf ".TS\nallbox;\n"
	for (i = 1; i <= ncolumns; i++)
		printf "%s%s", i < ncolumns ? "l" : "lx", i < ncolumns ? " " : ".\n"
	printf "%s.TE\n", table
	ncolumns = 0
	table = ""
}
function row(line,   n, cell, i, out) {
	gsub(/^\| */, "", line)
	gsub(/ *\|$/, "", line)
	gsub(/\\\|/, "\002", line)
	n = split(line, cell, / *\| */)
	if (line ~ /^[-| ]*$/ && line ~ /---/)
		return ""
	if (n > ncolumns)
		ncolumns = n
	for (i = 1; i <= n; i++) {
		gsub(/\002/, "|", cell[i])
		out = out (i > 1 ? "\t" : "") "T{\n" inline(cell[i]) "\nT}"
	}
	return out "\n"
}

/^```/ {
	end_table()
	code = !code
	print code ? ".PP\n.RS 2\n.nf" : ".fi\n.RE"
	next
}
code {
	gsub(/\\/, "\\e")
	gsub(/-/, "\\-")
	print guard($0)
	next
}
/^<!--/ { next }
/^\|/ {
	table = table row($0)
	next
}
{ end_table() }
/^# / {
	sub(/^# */, "")
	printf ".SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", part[1], tolower(substr($0, 1, 1)) substr($0, 2)
	next
}
/^## / {
	sub(/^## */, "")
	print ".SH " toupper($0)
	next
}
/^###+ / {
	sub(/^###+ */, "")
	print ".SS " inline($0)
	next
}
# A table of contents: links within the page, which lead nowhere on paper.
/^[-*] \[[^]]*\]\(#[^)]*\)$/ { next }
/^[-*] / {
	sub(/^[-*] */, "")
	print ".IP \\(bu 2\n" inline($0)
	next
}
/^[0-9]+\. / {
	number = $1
	sub(/^[0-9]+\. */, "")
	printf ".IP %s 4\n%s\n", number, inline($0)
	next
}
/^$/ {
	blank = 1
	next
}
{
	if (blank && $0 !~ /^ /)
		print ".PP"
	sub(/^ +/, "")
	print inline($0)
}
{ blank = 0 }
END { end_table() }
