#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Narrower captures from outside: they verify with the original signatures, what was withheld is told, and nothing of
# it can be found again.
. "$(dirname "$0")/lib.sh"
golden=$(cd "$(dirname "$0")/../golden" && pwd) || exit 1

replay=$BUILD/gpureplay
verify=$BUILD/gpuverify
analyze=$BUILD/gpuanalyze
mkcap=$BUILD/tests/mkcap
cd "$TMP" || exit 1

# For slices and order: a few events, of which the times are known.
cat >run.script <<'END'
start 500s 1790000000s
process at=+0 pid=100 start=+0 uid=1000 tracked=1 name="QpsmarkProcessJ1"
thread at=+0 tid=100 pid=100 start=+0 name="QpsmarkThreadJ2"
module at=+0 id=1 build_id="QpsmarkBuildidJ3" path="/opt/QpsmarkModuleJ4.so"
executable at=+0 pid=100 start=+0 path="/opt/QpsmarkExecutableJ5"
attach at=+0 module=1 probe=cudaMalloc offset=0x1234
fact at=+0 name="QpsmarkFactnameJ6" value="QpsmarkFactvalueJ7"
frame at=+0 stack=1 depth=0 address=0x1000 module=1 offset=16 symbol="QpsmarkSymbolJ8"
alloc at=+10ms pid=100 tid=100 bytes=1M addr=0x5ec2e7addc0de memory=1 stack=1
repeat 20 1ms launch at=+20ms pid=100 tid=100 dur=17us
lost cudaMalloc ring_full 3
epoch +1s
thread at=+1s tid=101 pid=100 start=+1s name="QpsmarkThreadJ9"
repeat 20 1ms launch at=+1.2s pid=100 tid=101 dur=17us
epoch +2s
fact at=+2s name="QpsmarkFactnameJ10" value="QpsmarkFactvalueJ11"
repeat 20 1ms launch at=+2.2s pid=100 tid=101 dur=17us
epoch +3s
repeat 20 1ms launch at=+3.2s pid=100 tid=101 dur=17us
lost cudaMalloc ring_full 4
epoch +4s
end command 256
END
"$mkcap" -o run.cap --pub run.pub run.script || exit 1
"$mkcap" -o cut.cap --no-end run.script || exit 1
"$mkcap" -o empty.cap </dev/null || exit 1
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" || exit 1
cp run.pub "$GPUREC_HOME/trust/lab.pub"

# is WORD FILE: the verdict, by the store of another machine that knows the public key only
is() {
	local word
	word=$(GPUREC_HOME=$TMP/elsewhere "$verify" -q --trust "$TMP/run.pub" "$2") || return
	[ "${word%%:*}" = "$1 $2" ] # what was lost stands behind
}

# A capture with every kind of event that format/kinds.h has, made from the list itself, so that a text that is added
# there cannot be forgotten here. Each text, and each address of an event, is a mark of kind, field and epoch that
# stands nowhere else: the file `marks` has lines of CLASS KIND FIELD MARK.
here=${golden%/golden}
sed -n 's/^\tC(\([0-9]*\), \([a-z]*\)).*/\2/p' "$here/../format/kinds.h" | head -n 7 >classes
sed -n 's/^\tK([0-9]*, \([a-z_]*\), \([a-z]*\), \([A-Z]*\)).*/\1 \2 \3/p' "$here/../format/kinds.h" >kinds
sed -n 's/^\tF(\([a-z_]*\), \([a-z_0-9]*\), \([A-Z]*\), \([A-Z_]*\)).*/\1 \2 \3 \4/p' "$here/../format/kinds.h" >fields
check "the lists of classes, kinds and fields could be read" [ "$(paste -sd' ' classes) $(
	grep -cE '^(launch events CALL|fact host PLAIN|cgroup cgroup PLAIN)$' kinds) $(grep -c '^xid text TEXT NONE$' fields)" = \
	"events process path host symbol cgroup arguments 3 1" ]
awk '
	FILENAME == "fields" && $3 == "TEXT" { texts[$1] = texts[$1] " " $2; next }
	FILENAME == "fields" && $4 == "ADDRESS" { addresses[$1] = addresses[$1] " " $2; next }
	FILENAME == "fields" { has[$1, $2] = 1; next }
	$3 != "PLAIN" { print "probe", ++nprobes, "probe_of_" $1, $1 }
	{ kinds[++n] = $1; class[$1] = $2; call[$1] = $3 == "CALL" }
	function row(k, epoch, i,	line, names, count, f, mark) {
		line = k " at=+" epoch * 1000 + 10 + i "ms"
		if (call[k] || has[k, "pid"]) line = line " pid=100"
		if (call[k] || has[k, "tid"]) line = line " tid=101"
		if (call[k] || has[k, "dur"]) line = line " dur=5us"
		if (k == "frame") line = line " stack=1 module=1"
		if (k == "alloc") line = line " bytes=1M memory=1"
		if (k == "alloc" || k == "launch") line = line " stack=1"
		if (k == "module") line = line " id=1"
		count = split(texts[k], names, " ")
		for (f = 1; f <= count; f++) {
			mark = "Qpsmark." k "." names[f] ".of" epoch "."
			line = line " " names[f] "=\"" mark "\""
			print class[k], k, names[f], mark >"marks"
		}
		count = class[k] == "events" ? split(addresses[k], names, " ") : 0
		for (f = 1; f <= count; f++) {
			mark = sprintf("5ec2e7add%03x", ++naddresses)
			line = line " " names[f] "=0x" mark
			print class[k], k, names[f], mark >"marks"
		}
		return line
	}
	END {
		print "start 500s 1790000000s"
		for (epoch = 0; epoch < 2; epoch++) {
			for (i = 1; i <= n; i++)
				print row(kinds[i], epoch, i)
			if (epoch == 0)
				print "lost probe_of_alloc ring_full 3"
			print "epoch +" epoch + 1 "s"
		}
		print "end command 256"
	}' fields kinds >every.script
while read -r class kind field mark; do # an address is shown in decimal, too
	[ "$class" != events ] || echo "$class $kind $field $((0x$mark))"
done <marks >decimal
cat decimal >>marks
"$mkcap" -o every.cap --pub every.pub every.script || exit 1
check "the narrower captures of both are of one key" cmp run.pub every.pub

# views CAPTURE FOLDER: all that can be made of it
formats="txt jsonl csv db perfetto-trace otlp.json folded alloc.folded"
views() {
	local suffix
	rm -rf "$2" && mkdir "$2" && cp "$1" "$2/raw" && lz4 -dc "$1" >"$2/content" && "$replay" -q "$1" >"$2/text" &&
		"$replay" -q "$1" --json >"$2/json" && "$verify" "$1" >"$2/verdict" && "$verify" --json "$1" >"$2/verdict.json" || return
	for suffix in $formats; do
		"$replay" -q "$1" -o "$2/view.$suffix" || return
	done
	sqlite3 -readonly "$2/view.db" .dump >"$2/dump" || return
	"$replay" -q --diff "$1" "$1" >"$2/diff" && "$replay" -q --diff --json "$1" "$1" >"$2/diff.json" || return
	"$analyze" "$1" >"$2/report.txt" && "$analyze" "$1" --json >"$2/report.json" || return
	for suffix in html json sarif txt; do
		"$analyze" -q "$1" --report="$2/report-file.$suffix" || return
	done
}

# holds_none FOLDER WORDS: none of the lines of file WORDS stands in any file there
holds_none() {
	[ -s "$2" ] && [ "$(find "$1" -type f -size +0 | wc -l)" -ge 20 ] && ! grep -rlaiF -f "$2" "$1"
}

marks() { # CLASS: its marks; no class: all
	awk -v class="$1" 'class == "" || $1 == class { print $4 }' marks
}
missing() { # FILE WORDS: those of the lines of WORDS that do not stand in FILE
	grep -oaiF -f "$2" "$1" | sort -u >present
	sort "$2" | comm -23 - present
}
all_found() { # CLASS: in the whole, each of its marks is found: in lines of JSON, CSV and the database
	local file mark
	marks "$1" | grep -v '^[0-9]*$' >whole.marks
	for file in json view.jsonl view.csv dump; do
		# In decimal is as good as in hexadecimal.
		grep -oaE "\\b$((0x5ec2e7add000 / 100000))[0-9]{5}\\b" "whole/$file" | sort -u | while read -r mark; do
			printf '%x\n' "$mark"
		done >in_hex
		cat "whole/$file" in_hex >shown
		[ -s whole.marks ] && [ -z "$(missing shown whole.marks)" ] || { echo "$file"; missing shown whole.marks; return 1; }
	done
}

# Each class alone, all names together, everything together.
check "all that can be made of the whole capture is made" views every.cap whole
marks "" >all.marks
for file in $(find whole -type f ! -name raw ! -name 'diff*' ! -name 'verdict*' -printf '%f\n' | sort); do
	check "of the whole some mark stands in $file, so that the search there can find one" grep -qaiF -f all.marks "whole/$file"
done
for class in $(cat classes); do
	check "the whole capture shows each text of class $class, so that it could be found" all_found $class
	check_exit 0 "class $class is withheld" "$replay" every.cap -o "$class.cap" --withhold $class
	check_says "^gpureplay: $class\.cap: withheld from $class: [0-9]+ rows? in 2 chunks? of epochs 0 to 1" "and it is said how much"
	check "the result is OK-REDACTED elsewhere, with the original signature" is OK-REDACTED "$class.cap"
	check_exit 7 "--require-complete refuses it" "$verify" --require-complete "$class.cap"
	check "it can be used like any capture" views "$class.cap" view
	goes=$class # arguments hold paths, so they go with these
	[ $class != path ] || goes="path|arguments"
	grep -E "^($goes) " marks | cut -d' ' -f4 >gone
	check "no text of class $class is left in it, nor in anything made of it" holds_none view gone
	grep -vE "^($goes) " marks | grep -v '^events' | cut -d' ' -f4 >kept
	check "what was not to be withheld is all there" [ -z "$(missing view/content kept)" ]
	check "gpuverify lists class $class and no other" [ "$(
		grep -oE '"class":"[a-z]+"' view/verdict.json | cut -d'"' -f4 | paste -sd'|')" = "$goes" ]
done
check_exit 0 "a class of which nothing was recorded can be withheld, too" "$replay" run.cap -o none-of-it.cap --withhold cgroup
check_says 'withheld from cgroup: nothing, for the capture has none of it$' "which is said"
check_says 'nothing was withheld: it holds all that the capture does$' "as well as that nothing is missing"
check "then the copy is the capture" cmp run.cap none-of-it.cap
check_exit 0 "all classes are withheld" "$replay" -q every.cap -o all.cap --withhold "$(paste -sd, classes)"
check "with -q without a word" [ ! -s err ]
check "the result is OK-REDACTED" is OK-REDACTED all.cap
check "it can be used" views all.cap view
check "no text of any class is left" holds_none view all.marks
check "stock lz4 finds no content in it" [ "$(wc -c <view/content)" -eq 0 ]
check "the losses stay" grep -q '3 probe_of_alloc: no room in the ring' view/verdict
check "and the end" grep -q 'the command ended with exit status 1' view/verdict
check "and the counts" [ "$(grep -oE '(launch|xid|kernel|cgroup) 2\b' view/verdict | wc -l)" -eq 4 ]
check "only its owner and group may read a narrower capture" [ "$(stat -c %a all.cap)" = "$(printf '%o' $((0640 & ~0$(umask))))" ]
for class in process path events; do "$replay" -q --force run.cap -o $class.cap --withhold $class || exit 1; done # for what follows

# Of an older recorder: paths and names of processes in rows of class host.
cat >old.script <<'END'
start 500s 1790000000s
process at=+0 pid=100 start=+0 uid=1000 tracked=1 name="trainer"
command_line at=+0 pid=100 start=+0 bytes=20 text="train --token s3cret"
fact at=+0 name=kernel value="6.1"
fact at=+0 name=library_problem value="/home/secret-customer/libcudart.so.12: not an ELF file"
launch at=+20ms pid=100 tid=100 dur=17us
epoch +1s
xid at=+1.1s code=79 pid=100 pci="0000:3b:00" text="NVRM: Xid (PCI:0000:3b:00): 79, pid=100, name=acme-payroll, GPU"
epoch +2s
fact at=+2.1s name=nvml value="/srv/acme/libnvidia-ml.so: cannot open shared object file"
epoch +3s
END
for what in 'library_problem path secret-customer' 'nvml path srv.acme' 'xid process acme-payroll'; do
	read -r row class word <<<"$what"
	grep -vE "^epoch|name=(library_problem|nvml)|^xid" old.script >one.script # one of these rows alone
	grep -E "name=$row|^$row" old.script >>one.script
	"$mkcap" -o one.cap one.script || exit 1
	check "an older capture has '$word' in class host" sh -c '"$1" -q one.cap | grep -q "$2"' sh "$replay" "$word"
	check_exit 0 "without class $class" "$replay" --force one.cap -o one.part.cap --withhold "$class"
	check "it is not there any more" sh -c '! "$1" -q one.part.cap | grep -q "$2"' sh "$replay" "$word"
	check_says 'class host is withheld, too: .*older recorder' "and it is said that class host went with it"
	check_exit 0 "without the other class" "$replay" --force one.cap -o one.part.cap --withhold symbol
	check "it stays, as does the rest of class host" sh -c '"$1" -q one.part.cap | grep -q "$2" && "$1" -q one.part.cap | grep -q 6.1' \
		sh "$replay" "$word"
done
sed 's/=acme-payroll/=(process)/; s#/home.*so.12:#(path):#; s#/srv.*so:#(path):#' old.script >new.script
"$mkcap" -o new.cap new.script || exit 1
check_exit 0 "of a capture of this recorder" "$replay" new.cap -o new.part.cap --withhold path,process
check "class host stays" sh -c '"$1" -q new.part.cap | grep -q "not an ELF file"' sh "$replay"

# A part by time still tells of the whole recording, unless asked not to.
check_exit 0 "a part by time" "$replay" --force new.cap -o new.slice.cap --from 0s --to 1s
check_says 'only events are cut by time; rows about the whole recording stay \(1 of process, 4 of host, 1 of arguments\).*: --withhold process,host,arguments removes them' \
	"is said to hold names and arguments of all"
check "as it does" sh -c '"$1" -q new.slice.cap | grep -q s3cret' sh "$replay"
check_exit 0 "what is said removes them" "$replay" --force new.cap -o new.slice.cap --from 0s --to 2s --withhold process,host,arguments
check "all" sh -c '! "$1" -q new.slice.cap | grep -E "s3cret|trainer|ELF"' sh "$replay"
check "and nothing more is said" [ "$(grep -c 'only events are cut' err)" -eq 0 ]

# Losses, seals and END are no class.
for what in losses lost seals seal end END "" "process," Process 1; do
	check_exit 2 "'$what' cannot be withheld" "$replay" run.cap -o none.cap --withhold "$what"
	check_says "'.*' is not a class of content here; there are events, process, path, host, symbol, cgroup, arguments" "the classes are named"
done
check_exit 2 "nor can a misspelt one" "$replay" run.cap -o none.cap --withhold proces
check_says "; did you mean 'process'\?" "what may be meant is named"
check "and nothing is made" [ ! -e none.cap ]

# Slices.
slice() { # VERDICT KEPT-LAUNCHES OPTIONS...
	local verdict=$1 kept=$2
	shift 2
	rm -f slice.cap
	"$replay" -q run.cap -o slice.cap "$@" && is "$verdict" slice.cap &&
		[ "$("$replay" -q slice.cap | grep -c ' cudaLaunchKernel ')" -eq "$kept" ]
}
check "a slice at the bounds of an epoch" slice OK-SLICE 20 --from 1s --to 2s
check "of two epochs" slice OK-SLICE 40 --from 1s --to 3s
check "from the start" slice OK-SLICE 20 --to 1s
check "to the end" slice OK-SLICE 20 --from 3s
check "inside a chunk, which is kept whole" slice OK-SLICE 20 --from 1205ms --to 1206ms
check "by the boot clock" slice OK-SLICE 20 --from 501000000000 --to 502000000000
check "from the last event of a chunk on" slice OK-SLICE 60 --from 1219ms
check "from right after it" slice OK-SLICE 40 --from 1219000001ns
check "up to the first event of a chunk, which is not kept" slice OK-SLICE 40 --to 2200ms
check "up to right after it" slice OK-SLICE 60 --to 2200000001ns
check "of everything: then it is whole" slice OK 80 --from 0s --to 1h
check_exit 0 "a slice keeps names" "$replay" -q run.cap --from 3s -o late.cap
"$replay" -q late.cap >late.txt
check "of what is in it" grep -q ' QpsmarkThreadJ9/101 .*cudaLaunchKernel' late.txt
check "events that are withheld are not in it" [ "$(grep -c 5ec2e7addc0de late.txt)" -eq 0 ]
check_exit 0 "it is told" "$replay" run.cap --from 1s --to 2s -o told.cap
check_says 'told\.cap: withheld from events: 61 rows in 3 chunks of epochs 0 to 3, from \+0\.010000000 s to \+3\.219000000 s$' "what is withheld"
check_says 'told\.cap: events are kept from \+1\.200000000 s to \+1\.219000000 s: a slice is cut between chunks' "and what is kept"
check_exit 0 "gpuverify lists it" "$verify" told.cap
check_prints '^  withheld   events: 21 rows in 1 chunk of epoch 0, 2026-09-21 14:13:20 UTC to .* \(\+0\.010000000 s to \+0\.039000000 s\)$' \
	"what is before it: class, epochs, time"
check_prints '^             events: 40 rows in 2 chunks of epochs 2 to 3, .* \(\+2\.200000000 s to \+3\.219000000 s\)$' "and what is after it"
check_exit 0 "in JSON" "$verify" --json told.cap
check_prints '"withheld":\[\{"class":"events","rows":61,"chunks":3,.*"runs":\[\{"rows":21,"chunks":1,"first_epoch":0,"last_epoch":0,"begin":500010000000,"end":500039000000,"begin_wall":1790000000010000000,' \
	"likewise"
check_exit 0 "a slice without names" "$replay" -q run.cap --from 1s --to 2s --withhold process,path -o both.cap
check "is OK-REDACTED" is OK-REDACTED both.cap
check_exit 2 "a time in which there is nothing" "$replay" run.cap --from 4s -o none.cap
check_says 'no events are in that time: those of the capture reach from \+0\.010000000 s to \+3\.219000000 s' "is refused in words"
check_exit 2 "between two epochs' events, too" "$replay" run.cap --from 1500ms --to 2s -o none.cap
check_exit 2 "and in a slice what was withheld before" "$replay" told.cap --to 1s -o none.cap
check_says 'reach from \+1\.200000000 s' "of what is there"
check_exit 2 "a capture without events has no slices" "$replay" events.cap --from 1s -o none.cap
check_says 'no events are in this capture' "in words"
check_exit 2 "--from after --to" "$replay" run.cap --from 3s --to 2s -o none.cap
check_exit 2 "a slice of events that are all withheld" "$replay" run.cap --from 1s --withhold events -o none.cap
check_says 'leaves no event for --from and --to' "is refused in words"

# Twice is the same as at once.
narrow() { # IN OUT OPTIONS...
	local in=$1 out=$2
	shift 2
	rm -f "$out" && "$replay" -q "$in" -o "$out" "$@"
}
twice() { # OPTIONS -- OPTIONS: one after the other, in both orders, and at once
	local a=() b=()
	while [ "$1" != -- ]; do a+=("$1"); shift; done
	shift
	b=("$@")
	narrow run.cap one.cap "${a[@]}" && narrow one.cap two.cap "${b[@]}" && narrow run.cap three.cap "${b[@]}" &&
		narrow three.cap four.cap "${a[@]}" && narrow run.cap once.cap "${a[@]}" "${b[@]}" &&
		cmp two.cap once.cap && cmp four.cap once.cap && ! cmp -s one.cap once.cap && ! cmp -s three.cap once.cap
}
check "a time and a class, one after the other or at once, give the same bytes" twice --from 1s --to 3s -- --withhold process
check "so do two ends" twice --from 1s -- --to 3s
check "class by class is the same as at once" sh -c '"$0" -q run.cap -o c1.cap --withhold host &&
	"$0" -q c1.cap -o c2.cap --withhold process && "$0" -q c2.cap -o c3.cap --withhold path &&
	"$0" -q run.cap -o c4.cap --withhold path,host,process && cmp c3.cap c4.cap' "$replay"
check_exit 0 "what is withheld cannot be withheld again" "$replay" c4.cap -o c5.cap --withhold path
check "and nothing changes" cmp c4.cap c5.cap

# What may be narrowed.
check_exit 0 "a capture without an end can be narrowed" "$replay" cut.cap -o cutless.cap --withhold process
check_exit 5 "it stays UNSEALED" "$verify" cutless.cap
check_prints '^  withheld   process: 3 rows in 2 chunks of epochs 0 to 1' "and says what is withheld"
last=$(LC_ALL=C grep -obUaP '\x53\x2a\x4d\x18' run.cap | tail -n 1 | cut -d: -f1) # the last seal
head -c $((last + 20)) run.cap >torn.cap
check_exit 0 "one that is torn inside its last epoch can" "$replay" torn.cap -o tornless.cap --from 2s
open=$(LC_ALL=C grep -obUaP '\x51\x2a\x4d\x18' torn.cap | tail -n 1 | cut -d: -f1) # the chunk of the epoch that is open
check "what is after the last whole epoch is not copied" cmp <(tail -c 500 tornless.cap) <(head -c "$open" torn.cap | tail -c 500)
check_exit 5 "and it is UNSEALED" "$verify" tornless.cap
cp run.cap flip.cap
flip_byte flip.cap $((last + 60)) 1
for options in "" --unverified; do
	# shellcheck disable=SC2086 # none or one word
	check_exit 1 "a forged capture cannot be narrowed ${options:-(without --unverified)}" "$replay" $options flip.cap -o none.cap --withhold process
done
check_says 'no narrower capture is made of one that is FORGED, not even with --unverified: ' "which is said"
{ cat run.cap; echo; } >longer.cap
check_exit 1 "nor can a malformed one" "$replay" --unverified longer.cap -o none.cap --withhold process
check_says 'that is MALFORMED' "which is said"
rm "$GPUREC_HOME/trust/lab.pub"
check_exit 1 "a stranger's capture is refused" "$replay" run.cap -o none.cap --withhold process
check_exit 0 "unless with --unverified: whoever receives it judges" "$replay" --unverified run.cap -o strange.cap --withhold process
check "the result is the same" cmp strange.cap process.cap
check "no failure has made anything" [ ! -e none.cap ]
check "nor left anything behind" [ -z "$(find . -name '*.part')" ]
cp run.pub "$GPUREC_HOME/trust/lab.pub"

# The output.
cp run.cap own.cap
ln own.cap hard.cap
ln -s own.cap soft.cap
for out in own.cap ./own.cap hard.cap soft.cap; do
	check_exit 3 "the capture that is read is never replaced, also not as $out" "$replay" --force own.cap -o "$out" --withhold process
done
check_exit 3 "nor when it is read by another name" "$replay" --force soft.cap -o own.cap --withhold process
check_says 'own\.cap is the capture that is read: it is left alone' "which is said"
cp own.cap own.txt
check_exit 3 "nor by another kind of output" "$replay" --force own.txt -o own.txt
check "it is as it was" sh -c 'cmp run.cap own.cap && cmp run.cap own.txt'
check_exit 3 "another file that is there is left alone" "$replay" run.cap -o path.cap --withhold process
check_exit 0 "unless with --force" "$replay" -q --force run.cap -o path.cap --withhold process
check "which replaces it" cmp path.cap process.cap
check_exit 2 "--withhold is for captures" "$replay" run.cap -o none.db --withhold process
check_says '--withhold is for a narrower capture: -o FILE\.cap' "which is said"
check_exit 2 "also on standard output" "$replay" run.cap --withhold process
check_exit 2 "a process cannot be kept of a capture that is not separated" "$replay" run.cap -o none.cap --pid 100
check_says 'not separated by process' "which is said"
check_says 'gpurec --by-process' "with what makes one that is"

# A number of a process is reused: a part is all that bears it, which may be more than was meant.
sed 's/^process/by-process\n&/' run.script >parts.script
sed '/^epoch +1s/a exit at=+1.1s pid=100 tid=100 last=1\nprocess at=+1.15s pid=100 start=+1.15s uid=1001 tracked=1 name="other"' \
	parts.script >reused.script
"$mkcap" -o parts.cap parts.script && "$mkcap" -o reused.cap reused.script || exit 1
check_exit 0 "a process is kept of a capture that is separated" "$replay" parts.cap -o kept.cap --pid 100
check "no number was reused there" sh -c '! grep -q reused err'
check_exit 0 "one that was reused is kept" "$replay" --force reused.cap -o kept.cap --pid 7 --pid 100
check_says 'kept\.cap: the number 100 was that of 2 processes in turn, .*: all of them stay' "which is said"
for filter in "--kind launch" "--tid 100" "--time wall"; do
	# shellcheck disable=SC2086 # two words
	check_exit 2 "$filter is no way to narrow" "$replay" run.cap -o none.cap $filter
	check_says 'cut between chunks, not events' "which is said"
done
check_exit 2 "a narrower capture without anything left out" "$replay" run.cap -o none.cap
check_says 'what is to be left out\?' "is asked back"

# A chain of custody comes along as it stands.
cp run.cap kept.cap
echo 'whatever stands in it' >kept.cap.custody
check_exit 0 "a capture with a chain of custody is narrowed" "$replay" kept.cap -o handed.cap --withhold process
check_says 'handed\.cap\.custody: the chain of custody, as it was$' "which comes along"
check "as it stands" cmp kept.cap.custody handed.cap.custody
"$BUILD/gpukey" generate -W >/dev/null 2>&1 && "$mkcap" -k "$GPUREC_HOME/host.key" -o owned.cap run.script &&
	"$BUILD/gpukey" sign --custody recorded owned.cap >/dev/null || exit 1
me=$(id -un)@$(uname -n)
check "who did an act is somebody at this host" [ "$(cut -f 10 owned.cap.custody)" = "$me" ]
check_exit 0 "a chain that names it comes along when other things are withheld" "$replay" owned.cap -o unnamed.cap --withhold process
check "without a word" [ "$(grep -c 'names a host' err)" -eq 0 ]
check_exit 0 "and when what names the host is withheld" "$replay" owned.cap -o hostless.cap --withhold process,host
check_says "hostless\.cap\.custody names a host, \"$me\" in act 1, though host is withheld: keep it back" "which is said"
check_exit 0 "also when it was withheld before" "$replay" hostless.cap -o again.cap --withhold path
check_says 'again\.cap\.custody names a host' "likewise"
rm hostless.cap.custody
check_exit 0 "a chain that is begun after that" "$BUILD/gpukey" sign --custody narrowed hostless.cap
check "does not name the host by itself" [ "$(cut -f 10 hostless.cap.custody)" = "$(id -un)" ]
check_exit 0 "but who says a name is taken by the word" "$BUILD/gpukey" sign --custody transferred --name dana@site hostless.cap
check "as it is" [ "$(cut -f 10 hostless.cap.custody | tail -n 1)" = dana@site ]
check "a capture without one gets none" [ ! -e told.cap.custody ]

# A disk that is full, a signal, a kill: nothing under the final name.
{ for i in $(seq 40); do echo "repeat 20000 3us launch at=+$((i * 100))ms pid=100 tid=100 dur=0x123~977"; [ $((i % 8)) -ne 0 ] || echo "epoch +$((i * 100 + 90))ms"; done; } >big.script
"$mkcap" -o big.cap big.script || exit 1
# shellcheck disable=SC2016 # for the inner shell
check_exit 3 "a limit on the output's size, like a full disk, is told" sh -c \
	'ulimit -f 200; exec "$0" -q big.cap -o none.cap --to 3s' "$replay"
check_says 'cannot write the capture' "in words"
check "it leaves nothing" [ -z "$(find . -name 'none.cap*')" ]
mkdir there || exit 1
killed() { # SIGNAL: at several moments; what is there afterwards is whole or nothing
	local delay
	for delay in 0.005 0.01 0.02 0.03 0.05 0.08; do
		rm -f there/none.cap
		timeout -s "$1" $delay "$replay" -q big.cap -o there/none.cap --to 3s # speed: right at whichever moment it ends
		[ ! -e there/none.cap ] || "$verify" -q there/none.cap || return
		[ "$1" = KILL ] || [ -z "$(find there -name '*.part')" ] || return
	done
	rm -f there/none.cap
}
for signal in TERM INT HUP KILL; do
	check "interrupted by $signal it leaves nothing that is half under the final name" killed $signal
done

# Stock lz4.
check_exit 0 "a big capture is narrowed" "$replay" -q big.cap -o less.cap --from 1s --to 3s
check "stock lz4 decodes it" sh -c 'lz4 -dc less.cap >less.content'
check "from a pipe, too" sh -c 'cat less.cap | lz4 -dc >piped.content'
check "to the same bytes" cmp less.content piped.content
lz4 -dc big.cap >big.content
check "which are a part of the whole's" sh -c '[ -s less.content ] && [ "$(wc -c <less.content)" -lt "$(wc -c <big.content)" ]'
"$replay" -q less.cap --json | grep '^{"at":' >less.events
first=$(head -n 1 less.events | grep -oE '[0-9]+' | head -n 1) last=$(tail -n 1 less.events | grep -oE '[0-9]+' | head -n 1)
check "it holds more than was asked for only at its ends" [ $((first <= 1001000000000 && last >= 1002900000000)) -eq 1 ]
check "and there whole chunks" sh -c '"$0" -q big.cap --json --from "$1" --to "$2" | grep "^{\"at\":" | cmp - less.events' \
	"$replay" "$first" $((last + 1))

# A capture of a real recorder: all its texts, looked for in all that can be made of the narrower one.
check "a recorded capture's key is trusted" "$BUILD/gpukey" trust "$golden/demo.pub" --name demo
texts() { # CAPTURE: the texts of names, paths, facts and symbols, of eight bytes or more, a line each
	"$replay" -q "$1" --json | grep -E '"kind":"(process|thread|module|executable|fact|frame)"' |
		grep -oE '"(name|path|build_id|value|symbol)":"[^"\\]{8,}"' | sed -E 's/^"[a-z_]*":"//; s/"$//' | sort -u
}
texts "$golden/demo.cap" >all.texts
"$mkcap" -o bare.cap </dev/null && views bare.cap bare || exit 1
head -c 8000 "$golden/demo.cap" | strings -n 8 >header.texts # names of probes are part of the signed header
while read -r text; do
	grep -rqaF -- "$text" bare header.texts || echo "$text"
done <all.texts >own.texts
check "it has many texts that are its own" [ "$(wc -l <own.texts)" -ge 40 ]
check_exit 0 "all names are withheld" "$replay" -q "$golden/demo.cap" -o nameless.cap --withhold process,path,host,symbol
check "the result can be used" views nameless.cap view
check "none of the texts is left anywhere" holds_none view own.texts
check_exit 0 "it is authentic" "$verify" -q nameless.cap
check_prints '^OK-REDACTED ' "and says that it is redacted"
finish
