#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What gpureplay exports of collectives, streams, graphs, page faults, kernels' names, GPUs' figures, what happens to the
# host, and of recordings that were reduced on purpose.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")/.." && pwd)
replay=$BUILD/gpureplay
cd "$TMP" || exit 1
cat >run.script <<'END'
probe 1 sched_switch switch
probe 2 sched_waking waking
probe 3 page_fault fault
probe 4 oom oom
probe 10 cudaLaunchKernel launch
probe 11 cudaStreamCreate stream
probe 12 cudaGraphInstantiate graph
probe 13 ncclAllReduce collective
probe 14 cuMemMap map
probe 15 cuModuleLoadData load
probe 16 cuCtxCreate_v4 context
probe 17 cuMemCreate alloc
probe 18 cudaHostRegister alloc
start 500s 1790000000s
process at=+0 pid=100 start=+0 tracked=1 name=trainer
thread at=+0 tid=101 pid=100 start=+0 name=worker
gpu at=+0 index=0 memory=80G name="NVIDIA \"H100\"" uuid=GPU-1234 pci=0000:01:00.0
kernel at=+1ms pid=100 start=+0 function=0x1000 name=_Z6vecAddPKfS0_Pfi
kernel at=+1ms pid=100 start=+0 function=0x2000 name="k;\"\x1b[2J"
kernel at=+1ms pid=100 start=5 function=0x3000 name=of_another_process
launch at=+2ms pid=100 tid=101 dur=5us function=0x1000 stack=1
launch at=+3ms pid=100 tid=101 dur=5us function=0x2000
launch at=+4ms pid=100 tid=101 dur=5us function=0x3000
frame at=+4ms stack=1 depth=0 address=0x5 symbol=_ZN1a1bEv+0x1b
health at=+5ms gpu=0 known=1534 busy_percent=50 memory_busy_percent=3 memory_used=1G power_mw=250123 temperature_c=61 sm_mhz=1980 memory_mhz=2619 throttle=4
switch at=+6ms cpu=1 prev_tid=101 prev_state=2 next_tid=0 prev_syscall=1 prev_flags=1
stream at=+7ms pid=100 tid=101 dur=5us stream=0xa
graph at=+8ms pid=100 tid=101 dur=5us graph=0xb exec=0xc
collective at=+9ms pid=100 tid=101 dur=1ms comm=0xd count=1024 datatype=7 bytes=4096 op=0 peer=3 rank=1 nranks=8
fault at=+10ms pid=100 tid=101 dur=300us addr=0x1000
map at=+11ms pid=100 tid=101 dur=5us addr=0x7000 bytes=2M handle=0xe
load at=+12ms pid=100 tid=101 dur=5us module=0xf
context at=+13ms pid=100 tid=101 dur=5us context=0x11 device=1
alloc at=+14ms pid=100 tid=101 probe=cuMemCreate dur=5us bytes=2M addr=0xe memory=5
alloc at=+15ms pid=100 tid=101 probe=cudaHostRegister dur=5us bytes=4K addr=0x8000 memory=6
cpu at=+16ms cpu=3 steal=5ms khz=2400000 irq=2ms softirq=4ms
cpu at=+16ms cpu=4 steal=1ms
reduction at=+17ms of_kind=1 counter=10 keep=10
reduction at=+18ms of_kind=0 counter=11 rate=1000
reduction at=+19ms of_kind=1 counter=10
xid at=+20ms code=79 pid=100 pci=0000:01:00 text="GPU has fallen off the bus\x1b[2J"
oom at=+21ms pid=100 rss=1G
epoch +1s
lost cudaLaunchKernel sampled_out 90
epoch +2s
end duration
END
"$BUILD/tests/mkcap" -o run.cap --pub run.pub run.script || exit 1
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" && cp run.pub "$GPUREC_HOME/trust/lab.pub" || exit 1
for suffix in perfetto-trace otlp.json folded; do
	"$replay" -q run.cap -o "run.$suffix" || exit 1
done

# Text and lines of JSON.
check_exit 0 "all of it is text" "$replay" -q run.cap
check_prints ' worker/101 +cudaLaunchKernel +kernel="vecAdd\(float const\*, float const\*, float\*, int\)" function=0x1000 .* stack=1 ' "a launch tells its kernel as people write it"
check_prints ' frame +stack=1 .* symbol="a::b\(\)\+0x1b"$' "so do frames"
check_prints ' kernel +.* name="vecAdd\(float const\*, float const\*, float\*, int\)"$' "and rows about kernels"
check_prints ' kernel +.* name="k;\\"\\x1b\[2J"$' "what is not mangled is as it was"
check_prints ' cudaLaunchKernel +kernel="k;\\"\\x1b\[2J" function=0x2000' "a hostile name of one is escaped"
check_prints ' cudaLaunchKernel +function=0x3000 ' "that of another process of the same number is not taken"
check_prints ' ncclAllReduce .* datatype=float32 bytes=4096 op=sum peer=2 rank=1 nranks=8 ' "a collective has words, and the peer's number"
check_prints ' cuCtxCreate_v4 .* device=0 ' "a device is told by its number"
check_prints ' cuMemCreate .* memory=physical ' "physical memory by its name"
check_prints ' switch +prev_state=uninterruptible next_tid=idle/0 prev_syscall=0 io cpu=1$' "a switch tells in what the thread sleeps"
check_prints ' fault +addr=0x1000 dur=300µs cpu=0$' "a page fault how long it took"
check_prints ' health +gpu=0 busy_percent=50 .* throttle=0x4 ecc_uncorrected=0$' "figures that are not known are not told"
check_prints ' cpu +cpu=3 steal=5\.00ms khz=2400000 irq=2\.00ms softirq=4\.00ms$' "a CPU's time that was taken"
check_prints ' reduction +of_kind=launch counter=sampled_out keep=10$' "what is left out, by name"
check_prints ' reduction +of_kind=all counter=over_rate rate=1000$' "of all kinds"
check_prints ' trainer/100 +xid +code=79 .* text="GPU has fallen off the bus\\x1b\[2J"$' "errors of the driver"
check_prints ' trainer/100 +oom +rss=1073741824$' "whom the kernel killed"
check_prints '^# left out: 90 cudaLaunchKernel .*: left out on purpose \(--sample\)$' "and what was left out on purpose is counted"
check "JSON has the kernel's name, too" grep -q '"function":"0x1000".*"kernel":"vecAdd(float const\*, float const\*, float\*, int)"}$' <("$replay" -q --json run.cap)

# Perfetto.
if command -v protoc >/dev/null; then
	protoc -I "$here/schemas" --decode=Trace perfetto.proto <run.perfetto-trace >run.words
	check "protoc knows every field of the Perfetto trace" sh -c '! grep -qE "^ *[0-9]+( \{|:)" run.words'
	awk -f "$here/tools/slices.awk" run.words >run.tracks
	counter() { # NAME VALUE [TIME]: a track of that name has that value, then
		awk -v name="\"$1\"" -v value="$2" -v then="${3:-}" '/^ *uuid:/ { u = $2 } index($0, "name: " name) { track = u }
			/^  timestamp:/ { at = $2 } /track_uuid:/ { t = $2 }
			/counter_value:/ && t == track && $2 == value && (then == "" || at == then) { found = 1 } END { exit !found }' run.words
	}
	check "a GPU's figures are counters" counter "GPU 0: power (mW)" 250123
	check "with the time of each" counter "GPU 0: busy (%)" 50 500005000000
	check "its memory, too" counter "GPU 0: memory used" 1073741824
	check "those that are not known are none" sh -c '! grep -q "GPU 0: corrected" run.words'
	check "so is the time that the hypervisor took of a CPU" counter "CPU 3: time taken by the hypervisor" 5000000
	check "a frequency that is not told is none" sh -c '! grep -q "CPU 4: freq" run.words'
	check "memory by handle is held" counter "physical memory held" 2097152
	check "an error of the driver is a mark with its text" grep -qF 'name: "xid 79: GPU has fallen off the bus\\x1b[2J"' run.words
	check "so is a process that was killed" grep -qF 'name: "oom: trainer (100) is killed"' run.words
	check "and what was left out on purpose" [ "$(grep -cE 'name: "(reduced: one in 10 of launch is recorded|reduced: at most 1000 a second of all events are recorded|no longer reduced: all of launch are recorded)"' run.words)" -eq 3 ]
	check "a frame is called as people write it" grep -qF 'name: "frame: a::b()+0x1b"' run.words
	check "and has its symbol as it was" grep -qF 'string_value: "_ZN1a1bEv+0x1b"' run.words
	check "a launch has its kernel" grep -qF 'string_value: "vecAdd(float const*, float const*, float*, int)"' run.words
	check "calls of all kinds and page faults are slices" [ "$(grep -c TYPE_SLICE_BEGIN run.words)" -eq 13 ]
	check "a collective lasts as long as it took" grep -qP '\t100/101\t500008000000\t500009000000\tcollective\tncclAllReduce$' run.tracks
	check "so does a page fault" grep -qP '\t100/101\t500009700000\t500010000000\tfault\tfault$' run.tracks
else
	skip "the Perfetto trace is decoded" "there is no protoc here"
fi

# OpenTelemetry.
metric() { # NAME UNIT ATTRIBUTES VALUE
	grep -qE "\"name\":\"$1\",\"unit\":\"$2\",.*\"attributes\":\[.*$3.*\],$4" run.otlp.json
}
gpu='"hw.id","value":\{"stringValue":"GPU-1234"\}\},\{"key":"hw.name","value":\{"stringValue":"NVIDIA \\"H100\\""\}\}'
check "a GPU's use is a metric of the hardware conventions" metric hw.gpu.utilization 1 "$gpu" '"asDouble":0\.50\}'
check "with memory" metric hw.gpu.memory.usage By "$gpu" '"asInt":"1073741824"'
check "power" metric hw.power W "$gpu" '"asDouble":250\.123\}'
check "temperature" metric hw.temperature Cel "$gpu" '"asInt":"61"'
check "clocks" metric gpurec.gpu.clock Hz '"gpurec.clock","value":\{"stringValue":"sm"\}' '"asInt":"1980000000"'
check "and errors" metric hw.errors '\{error\}' '"error.type","value":\{"stringValue":"ecc_uncorrected"\}' '"asInt":"0"'
check "but not those that are not known" sh -c '! grep -q ecc_corrected run.otlp.json'
check "time that the hypervisor took is one of systems" metric system.cpu.time s '"cpu.logical_number","value":\{"intValue":"3"\}\},\{"key":"cpu.mode","value":\{"stringValue":"steal"\}' '"asDouble":0\.005000000\}'
check "an error of the driver is a log record" grep -qE '"severityText":"ERROR","body":\{"stringValue":"xid 79: GPU has fallen off the bus\\\\x1b\[2J"\},"attributes":\[\{"key":"gpurec.event","value":\{"stringValue":"xid"\}\},\{"key":"gpurec.code","value":\{"intValue":"79"\}\}' run.otlp.json
check "a reduction is a warning" [ "$(grep -c '"severityText":"WARN","body":{"stringValue":"\(no longer \)\?reduced' run.otlp.json)" -eq 3 ]
{ echo '['; sed '$!s/$/,/' run.otlp.json; echo ']'; } >lines.json
check "each line has spans, metrics or log records, and no other thing" [ "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('lines.json') AS TEXT))
	WHERE (value -> 'resourceSpans' IS NOT NULL) + (value -> 'resourceMetrics' IS NOT NULL) + (value -> 'resourceLogs' IS NOT NULL) <> 1")" = 0 ]
check "a span has its kernel" grep -q '"gpurec.kernel","value":{"stringValue":"vecAdd(float' run.otlp.json

# Stacks.
"$replay" -q run.cap -o run.db || exit 1
check "the database has the stack of a launch, as people write it" [ "$(sqlite3 -readonly run.db "SELECT c.at_ns, s.shown
	FROM calls c JOIN stacks s USING (stack)")" = '500002000000|a::b()+0x1b' ]
check "folded stacks have collectives" grep -qE ';ncclAllReduce 1000000$' run.folded
finish
