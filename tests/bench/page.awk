# SPDX-License-Identifier: Apache-2.0
# docs/BENCHMARKS.md from the JSON lines of the benchmarks (tests/bench/lib.sh says what they hold).
function text(key,   m) {
	if (!match($0, "\"" key "\":\"[^\"]*\""))
		return ""
	m = substr($0, RSTART, RLENGTH)
	sub(/^"[^"]*":"/, "", m)
	sub(/"$/, "", m)
	return m
}
function number(key,   m) {
	if (!match($0, "\"" key "\":-?[0-9.e+-]+"))
		return ""
	m = substr($0, RSTART, RLENGTH)
	sub(/^[^:]*:/, "", m)
	return m
}
function show(v) {
	if (v != "")
		v += 0
	if (v == "")
		return ""
	return v >= 1e6 ? sprintf("%.3g M", v / 1e6) : v >= 1000 ? sprintf("%.0f", v) : sprintf("%.3g", v)
}
# A line of targets.md: {bench:figure} is a median of this run, {bench:figure<=N} and {bench:figure>=N} a word on it, {a over b} with
# two of the first sort their ratio. Of figures with one name the first counts; {bench:figure CPU} is the one of CPU time.
function filled(line,   out, inner, part, v) {
	while (match(line, /\{[^}]*\}/)) {
		inner = substr(line, RSTART + 1, RLENGTH - 2)
		out = out substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		if (split(inner, part, /[<>]=/) == 2) {
			v = part[1] in median ? median[part[1]] : ""
			out = out (v == "" ? "not measured" : (inner ~ /<=/ ? v <= part[2] + 0 : v >= part[2] + 0) ? "yes" : "**no**")
		} else if (split(inner, part, " over ") == 2) {
			out = out (!(part[1] in median) || !(part[2] in median) || !median[part[2]] ? "?" : show(median[part[1]] / median[part[2]]))
		} else {
			out = out (inner in median ? show(median[inner]) : "?")
		}
	}
	return out line
}
BEGIN {
	title["overhead"] = "Cost of a traced call"
	about["overhead"] = "The same calls untraced, with an empty uprobe and uretprobe (`pair`: the kernel's floor), and under gpurec, in turns in one process; bpftrace and perf record on one function, afterwards. `ratio` is gpurec's added time over the empty pair's, without futex recording; `futex-ratio` the same as gpurec records by default; `futex-ratio-beside` over a pair that pays for the tracepoints of system calls, too."
	title["rate"] = "Cost of an event to the recorder"
	about["rate"] = "From the ring to the disk: drained, translated, encoded, signed, synced (`cpu`), beside draining and writing the records as they are (`bare`); the ring is filled by a program in the kernel. `call`: CPU time of the recording process for a call, of one thread that calls as fast as it goes."
	title["size"] = "Bytes of an event on disk"
	about["size"] = "The same events as a gpurec capture, as raw structs, those under lz4 and zstd -3, and in SQLite; and what perf record writes of the same program: of a call its entry and return, each switch and each waking. `perf.data-capture`: how many times larger its file is, as a whole, than the capture of the same program."
	title["verify"] = "Verification"
	about["verify"] = "One file of some 400 MB, from the page cache. `whole` decodes every row; `bytes-only` proves what `minisign -V` proves, and all seals."
	title["load"] = "Loading the SQL view"
	about["load"] = "Beside a bare loop of prepared inserts of the same rows (`bare`), and `sqlite3 .import` of them as CSV. Ratios are the other's time over the loader's: 1 is as fast."
	title["text"] = "Text"
	about["text"] = "Lines that gpureplay writes, verifying included: as text with one clock or another, through a condition, as JSON, into a pipe."
	title["module"] = "The SQLite module"
	about["module"] = "Answers from the capture as it is; and the same queries by it and on the database that gpureplay makes. Ratios are the database's time over the module's: 1 is as fast."
	title["detect"] = "Detectors"
	about["detect"] = "All default rules over a large synthetic capture."
	title["profile"] = "Where the time goes"
	about["profile"] = "Shares of perf's samples by function; of a library other than the C library, all of it together. The detectors' samples are of two passes, one of them reading alone; those to the disk hold the generator in the kernel."
	title["metrics"] = "Host metrics from events that fire anyway"
	about["metrics"] = "CPU that sampling costs, beside a process that polls /proc as often."
}
/^\{"machine"/ {
	print "# Benchmarks"
	print ""
	print "Made by `make bench`, which runs `tests/bench/*.sh`. Each figure is the median of runs that alternate with those it is compared"
	print "with; the least and the greatest of them, and how many there were, stand beside it. Nothing here gates a test."
	print ""
	printf "Machine: %s, %s cores, Linux %s; page made %s.\n", text("machine"), number("cores"), text("kernel"), text("date")
	next
}
{
	bench = text("bench")
	if (bench != last) {
		printf "\n## %s\n", bench in title ? title[bench] : bench
		if (bench in about)
			printf "%s\n", about[bench]
		last = bench
		table = 0
	}
	if (text("began")) {
		printf "\nRun on %s%s; load %s before.\n", text("began"), text("commit") ? ", commit " text("commit") : "", text("load")
		next
	}
	if (text("missing")) {
		printf "\nNot measured: %s.\n", text("missing")
		table = 0
		next
	}
	if (!table) {
		print ""
		print "| figure | median | least to greatest | runs | |"
		print "| --- | --- | --- | --- | --- |"
		table = 1
	}
	key = bench ":" text("figure")
	if (!(key in median))
		median[key] = number("median") + 0
	if (text("what") == "CPU" || text("cores") == "1" || number("cores") == 1)
		median[key " " (text("what") == "CPU" ? "CPU" : "1 core")] = number("median") + 0
	note = ""
	n = split("cores what lost calls peer note", keys, " ")
	for (i = 1; i <= n; i++) {
		v = text(keys[i])
		gsub(/_/, " ", v)
		if (v == "" && (keys[i] == "lost" || keys[i] == "calls" || keys[i] == "cores"))
			v = number(keys[i])
		if (v != "")
			note = note (note ? ", " : "") (keys[i] == "what" || keys[i] == "note" ? v : keys[i] == "cores" ? v (v == "1" ? " core" : " cores") : keys[i] " " v)
	}
	printf "| %s | %s %s | %s to %s | %s | %s |\n", text("figure"), show(number("median")), text("unit"), show(number("low")), show(number("high")), number("runs"), note
}
END {
	for (i = 1; i <= split("tests/soak/endurance.md tests/bench/targets.md", files, " "); i++)
		while ((getline line <files[i]) > 0)
			print (line ~ /^## / && i == 1 ? "\n" : "") (i == 2 ? filled(line) : line)
}
