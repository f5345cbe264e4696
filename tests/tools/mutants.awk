# SPDX-License-Identifier: Apache-2.0
# The checks of C sources, one a line, for tests/tools/mutants.sh: file, line, what is removed, its sentence, first byte,
# number of bytes, what stands there instead; separated by tabs.
#
# A check is: an operand of || in an `if` that leads to a fault; an `if` that passes an error on, or that lets the next
# step run; a fault that no `if` guards; an operand of && in what a bool function returns, or among steps whose result
# nobody wants. It knows C as clang-format lays it out, no more.

{ text = text $0 "\n" }
FILENAME != name && FNR == 1 { if (name != "") { text = substr(text, 1, length(text) - length($0) - 1); scan(); text = $0 "\n" } name = FILENAME }
END { scan() }

# The text with comments, literals and preprocessor lines blanked, byte for byte.
function blank(s,    out, i, c, n, state, start) {
	n = length(s); out = ""; state = ""; start = 1
	for (i = 1; i <= n; i++) {
		c = substr(s, i, 1)
		if (state == "") {
			if (c == "/" && substr(s, i + 1, 1) == "*") state = "*"
			else if (c == "\"" || c == "'") { state = c; out = out " "; continue }
			else if (c == "#" && start) state = "#"
		} else if (state == "*") {
			if (c == "/" && substr(s, i - 1, 1) == "*") { state = ""; out = out " "; continue }
		} else if (state == "#") {
			if (c == "\n" && substr(s, i - 1, 1) != "\\") state = ""
		} else if (c == "\\") { out = out "  "; i++; continue }
		else if (c == state) { state = ""; out = out " "; continue }
		out = out (state == "" || c == "\n" ? c : " ")
		start = c == "\n" || (start && c ~ /[ \t]/)
	}
	return out
}

# Where the bracket that opens at `i` closes.
function closing(i,    c, depth) {
	for (depth = 0; i <= length(code); i++) {
		c = substr(code, i, 1)
		if (c ~ /[({[]/) depth++
		else if (c ~ /[])}]/ && --depth == 0) return i
	}
	return i
}

# Where the statement that begins at `i` ends.
function statement_end(i,    c) {
	if (substr(code, i, 1) == "{") return closing(i)
	for (; i <= length(code); i++) {
		c = substr(code, i, 1)
		if (c ~ /[({[]/) i = closing(i)
		else if (c == ";") return i
	}
	return i
}

function skip_blanks(i) {
	while (substr(code, i, 1) ~ /[ \t\n]/) i++
	return i
}

function line_of(i,    s) {
	s = substr(text, 1, i)
	return gsub(/\n/, "", s) + 1
}

function one_line(s) {
	gsub(/[ \t\n]+/, " ", s)
	return s
}

# The first sentence in the source from `from` to `to`.
function sentence(from, to,    s) {
	s = substr(text, from, to - from + 1)
	if (!match(s, /"([^"\\]|\\.)*"/)) return ""
	return one_line(substr(s, RSTART + 1, RLENGTH - 2))
}

# What stands instead is one line, too: no check holds a literal with a tab, or a comment with //.
function mutant(from, to, before, after, said,    s) {
	s = substr(text, from, to - from + 1)
	gsub(/[\t\n]/, " ", s)
	printf "%s\t%d\t%s\t%s\t%d\t%d\t%s\n", name, line_of(from), one_line(s), said, from, to - from + 1, before (after == "" ? "" : s after)
}

# Each operand of `op` (two equal characters) between `from` and `to`.
function operands(from, to, op, before, after, said,    i, c, start) {
	start = from
	for (i = from; i <= to; i++) {
		c = substr(code, i, 1)
		if (c ~ /[({[]/) i = closing(i)
		else if (substr(code, i, 2) == op) {
			mutant(start, i - 2, before, after, said)
			i++
			start = skip_blanks(i + 1)
		}
	}
	mutant(start, to, before, after, said)
}

function has_top(from, to, op,    i, c) {
	for (i = from; i <= to; i++) {
		c = substr(code, i, 1)
		if (c ~ /[({[]/) i = closing(i)
		else if (substr(code, i, 2) == op) return 1
	}
	return 0
}

function check_if(a, b, from, to,    cond, body, i) {
	cond = substr(code, a, b - a + 1)
	body = substr(code, from, to - from + 1)
	if (body ~ /fault_set\(|fault_errno\(|scan_fail\(|return false|return  +;|goto refuse|slice = false/) {
		for (i = from; i <= to; i++) guarded[i] = 1
		if (has_top(a, b, "&&") || !has_top(a, b, "||")) mutant(a, b, "0 && (", ")", sentence(from, to))
		else operands(a, b, "||", "(0 && (", "))", sentence(from, to))
	} else if (cond ~ /^(r|ret) < 0$/ && body ~ /return (r|ret)[ ;]/)
		mutant(a, b, "0 && (", ")", "(an error is passed on)")
	else if (cond ~ /^(r|ret) (==|>=) 0$/ && body ~ /^(r|ret) = /)
		mutant(a, b, "0 && (", ")", "(the next step) " one_line(substr(text, from, to - from)))
}

# Whether the function around `i` is a bool one: the last line that begins in the first column tells.
function in_bool(i,    s, n, lines) {
	s = substr(code, 1, i)
	n = split(s, lines, "\n")
	for (; n > 0; n--)
		if (lines[n] ~ /^[a-z]/) return lines[n] ~ /^(static )?(inline )?bool /
	return 0
}

function scan(    at, i, a, b, from, to, word) {
	if (text == "") return
	code = blank(text)
	split("", guarded)
	for (at = 1; match(substr(code, at), /[^A-Za-z0-9_]if \(/); at = a) {
		a = at + RSTART + 4
		b = closing(a - 1) - 1
		from = skip_blanks(b + 2)
		check_if(a, b, from, statement_end(from))
	}
	for (at = 1; match(substr(code, at), /[^A-Za-z0-9_](fault_set|fault_errno|scan_fail)\(/); at = to) {
		from = at + RSTART
		a = from + RLENGTH - 2
		to = closing(a)
		if (!guarded[from] && substr(code, to + 1, 1) == ";" && substr(code, 1, from) !~ /\nstatic int $/)
			mutant(from, to, "0", "", sentence(from, to))
	}
	for (at = 1; match(substr(code, at), /return (r|ret) < 0 \? (r|ret) : [a-z_]+\(/); at = to) {
		from = at + RSTART - 1
		word = substr(code, from, RLENGTH)
		to = closing(from + RLENGTH - 1)
		sub(/.* : /, "", word)
		a = from + RLENGTH - length(word)
		mutant(a, to, "0", "", "(the next step)")
	}
	for (at = 1; match(substr(code, at), /\(void\)\([a-z_]+\(/); at = to) {
		a = at + RSTART + 5
		to = closing(a)
		if (has_top(a + 1, to - 1, "&&")) operands(a + 1, to - 1, "&&", "(1 || (", "))", "(a step)")
	}
	for (at = 1; match(substr(code, at), /[^A-Za-z0-9_](return|good =|consistent =|fits =) [^;]/); at = from) {
		from = at + RSTART + RLENGTH - 2
		word = substr(code, at + RSTART, 6)
		to = statement_end(from) - 1
		if ((word == "return" && !in_bool(from)) || substr(code, from, to - from + 1) ~ /^(true|false|[a-z0-9_>-]+)$/) continue
		if (has_top(from, to, "||") || !has_top(from, to, "&&")) mutant(from, to, "(1 || (", "))", "")
		else operands(from, to, "&&", "(1 || (", "))", "")
	}
	text = ""
}
