#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corpus.py: how often the rules are right, from many short runs of a program that plants faults.

    corpus.py run N OUT.jsonl [--seed S]    plan N runs from S on, record, analyse and score each (as root)
    corpus.py synthetic OUT.jsonl [N]       the same of captures that are made up: what cannot be planted on a live host
    corpus.py score TRUTH REPORT            one run's score; exit status 1 if anything is missed, wrong or false
    corpus.py table IN.jsonl...             the tables of docs/ACCURACY.md
    corpus.py show IN.jsonl...              what went wrong, run by run

BUILD is the folder with the programs. Half of the runs have faults, the others decoys or nothing at all. The plan
depends on the seeds alone. A finding counts as right if its rule, process and thread are, as attributed if its culprit,
lock or place are, and its magnitude is compared with what the planted threads measured themselves.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", "build")

FAULTS = ["stall-busy", "stall-asleep", "stall-preempted", "spike", "leak", "fail", "sync", "copy", "pageable", "churn",
          "gap", "runqueue", "straggler"]
DECOYS = ["caches", "warm-up", "contention", "checkpoints", "first-touch", "idle", "tidy", "peers"]
# What may not be had at once, because one would truly do to the other what it plants.
CLASHES = [{"gap", "runqueue", "stall-busy", "stall-asleep", "contention"},
           {"gap", "runqueue", "stall-preempted", "contention"},
           {"spike", "warm-up", "checkpoints", "first-touch"}, {"straggler", "peers"}]

# fault: rule, classes (None: any), tolerance of the magnitude, what else the rules may rightly say of it
EXPECT = {
    "stall-busy": ("futex-stall", {"waker-busy"}, 0.10, {("launch-latency", "futex")}),
    "stall-asleep": ("futex-stall", {"waker-asleep"}, 0.10, {("launch-latency", "futex")}),
    "stall-preempted": ("futex-stall", {"waker-without-cpu"}, 0.10, {("launch-latency", "futex")}),
    "spike": ("launch-latency", {"on-cpu"}, 0.10, set()),
    "leak": ("alloc-leak", None, 0, set()),
    "fail": ("failed-call", None, 0, set()),
    "sync": ("sync-stall", {"after-every-launch"}, 0.10, set()),
    "copy": ("memcpy-sync", None, 0.10, set()),
    "pageable": ("memcpy-pageable", None, 0, set()),
    "churn": ("alloc-churn", None, 0.10, set()),
    "gap": ("launch-gap", {"waiting-for-cpu"}, 0.10,
            {("runqueue", "woken-and-not-let-on"), ("runqueue", "preempted"), ("launch-latency", "waiting-for-cpu")}),
    "runqueue": ("runqueue", None, 0.15, {("launch-gap", "waiting-for-cpu"), ("launch-latency", "waiting-for-cpu")}),
    "straggler": ("straggler", {"slower-than-its-peers"}, None, set()),
}


def clash(chosen, one):
    return any(one in group and group & set(chosen) for group in CLASHES)


def choose(rng, pool, n, chosen):
    for one in rng.sample(pool, len(pool)):
        if n and one not in chosen and not clash(chosen, one):
            chosen.append(one)
            n -= 1
    return chosen


def plan(i, seed):
    """The i-th run: even ones have faults, each in its turn, every third of them several at once."""
    rng = random.Random(seed)
    run = {"seed": seed, "weak": i // 2 // len(FAULTS) % 2 == 1, "noise": rng.choice([0, 0, 8, 40, 200])}
    if i % 2 == 0:
        first = FAULTS[i // 2 % len(FAULTS)]
        more = rng.randint(1, 3) if i // 2 % 3 == 0 else 0
        run["plant"] = choose(rng, FAULTS, more, [first])
        run["plant"] = choose(rng, DECOYS, rng.randint(0, 2), run["plant"])
    else:
        run["plant"] = choose(rng, DECOYS, rng.randint(0, 4), [])
    run["faults"] = [f for f in run["plant"] if f in FAULTS]
    return run


def tids(finding):
    return {o["tid"] for o in finding["first"]}


def most(values):
    values = [v for v in values if v is not None]
    return max(set(values), key=values.count) if values else None


def is_about(fault, finding):
    """Whether this finding is the fault's: rule, process, and thread, futex or site."""
    rule, classes, _, _ = EXPECT[fault["fault"]]
    facts = finding["facts"]
    if finding["rule"] != rule or (finding["process"] or {}).get("pid") != fault["pid"]:
        return False
    if classes and finding["class"] not in classes:
        return False
    if rule == "futex-stall":
        return facts["futex"] == fault["futex"]
    if rule in ("alloc-leak", "alloc-churn"):
        return facts["site"] == fault["fault"] + "_site"
    return rule == "straggler" or fault["tid"] in tids(finding)


def attributed(fault, finding, truth):
    """Whether the culprit is named rightly: who woke, who had the CPU, which thread, which site."""
    facts = finding["facts"]
    finding = dict(finding, first=[o for o in finding["first"] if o["tid"] == fault["tid"] or not excused(truth, o)])
    if finding["rule"] == "futex-stall":
        return (facts.get("waiter_tid") == fault["tid"] and facts.get("waker_tid") == fault["waker"] and
                facts.get("keeper_tid") == fault.get("keeper"))
    if "keeper" in fault:
        return most([o["keeper_tid"] for o in finding["first"]]) == fault["keeper"] and tids(finding) == {fault["tid"]}
    if finding["rule"] == "alloc-leak":
        return facts["tid"] == fault["tid"] and facts["allocations"] == fault["count"]
    if finding["rule"] == "failed-call":
        return facts["function"] == "cudaFree" and facts["error"] == 1 and tids(finding) == {fault["tid"]}
    return finding["rule"] == "straggler" or tids(finding) == {fault["tid"]}


def overlaps(a, b):
    return a["begin_ns"] < b["end_ns"] and a["end_ns"] > b["begin_ns"]


def common_ns(a, b):
    return min(a["end_ns"], b["end_ns"]) - max(a["begin_ns"], b["begin_ns"])


def disturbed(fault, truth, tolerance):
    """Accidents of this thread, in the midst of what it planted, make up more of it than its magnitude may be off by."""
    return tolerance * fault["magnitude"] < sum(
        common_ns(a, m) for a in truth["accidents"] for m in fault.get("moments", []) if a["tid"] == fault["tid"] and overlaps(a, m))


def unplanted_ns(fault, truth, occurrences):
    """How much of these is what their threads wrote down as unplanned, at none of the moments that were planted."""
    return sum(common_ns(o, a) for o in occurrences if "moments" in fault and
               not (o["tid"] == fault["tid"] and any(overlaps(o, m) for m in fault["moments"]))
               for a in truth["accidents"] if a["tid"] == o["tid"] and overlaps(a, o))


def own_ns(fault, finding, otherwise):
    """What this thread lost of what several may have lost."""
    return next((p["ns"] for p in finding.get("parties", []) if p["part"] == "waiter" and p["tid"] == fault["tid"]), otherwise)


def magnitude(fault, truth, finding):
    facts, rule = finding["facts"], finding["rule"]
    if rule == "futex-stall":
        return facts["in_calls_ns"] + facts["between_calls_ns"]
    if rule in ("alloc-leak", "memcpy-pageable"):
        return facts["bytes"]
    if rule == "failed-call":
        return finding["count"]
    if rule == "alloc-churn":
        return facts["alloc_ns"] + facts["free_ns"]
    if rule == "launch-gap":
        own = [o for o in finding["first"] if o["tid"] == fault["tid"]]
        return own_ns(fault, finding, facts["lost_ns"]) - unplanted_ns(fault, truth, own)
    if rule == "launch-latency":
        return finding["total_ns"] - unplanted_ns(fault, truth, finding["first"])
    return own_ns(fault, finding, finding.get("total_ns")) if rule == "runqueue" else finding.get("total_ns")


def is_byproduct(faults, finding):
    for fault in faults:
        if (finding["rule"], finding["class"]) in EXPECT[fault["fault"]][3] and \
           (finding["process"] or {}).get("pid") == fault["pid"]:
            if finding["facts"].get("futex", fault.get("futex")) == fault.get("futex") and fault["tid"] in tids(finding):
                return True
    return False


def excused(truth, o):
    """This thread itself wrote down that something unplanned happened to it then."""
    return any(a["tid"] == o["tid"] and overlaps(a, o) for a in truth["accidents"])


def is_accident(truth, finding):
    """Everything that it speaks of, the program itself wrote down as unplanned."""
    return bool(finding["first"]) and all(excused(truth, o) for o in finding["first"])


def score(run, truth, findings):
    left = list(findings)
    found = []
    for fault in truth["faults"]:
        mine = [f for f in findings if is_about(fault, f)]
        entry = {"fault": fault["fault"], "rule": EXPECT[fault["fault"]][0], "weak": run["weak"], "found": bool(mine),
                 "attributed": bool(mine) and attributed(fault, mine[0], truth), "error": None, "truth": fault}
        tolerance = EXPECT[fault["fault"]][2]  # 0: of bytes and counts, to which an accident does nothing
        entry["disturbed"] = bool(mine and tolerance and disturbed(fault, truth, tolerance))
        if mine and tolerance is not None and not entry["disturbed"]:
            entry["error"] = abs(magnitude(fault, truth, mine[0]) - fault["magnitude"]) / max(fault["magnitude"], 1)
            entry["within"] = entry["error"] <= tolerance
        if mine and not entry["attributed"]:
            entry["finding"] = mine[0]
        found.append(entry)
        left = [f for f in left if f not in mine]
    left = [f for f in left if f["severity"] != "info" and not is_byproduct(truth["faults"], f)]
    evidence = [f for f in left if f["rule"] == "evidence"]
    left = [f for f in left if f["rule"] != "evidence"]
    accidents = [f for f in left if is_accident(truth, f)]
    return {"run": run, "faults": found, "evidence": [f["headline"] for f in evidence],
            "excused": [f["rule"] + " " + f["class"] + ": " + f["headline"] for f in accidents],
            "false": [f["rule"] + " " + f["class"] + ": " + f["headline"] for f in left if f not in accidents],
            "true": sum(1 for f in found if f["found"])}


def call(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit("corpus.py: %s: %s" % (" ".join(command[:3]), done.stderr.decode(errors="replace").strip()))
    return done.stdout


def analyse(capture, *more):
    return json.loads(call(BUILD + "/gpuanalyze", "-q", "--json", *more, capture))["reports"][0]["findings"]


def record(run, folder):
    capture, truth = folder + "/run.cap", folder + "/truth.json"
    call(BUILD + "/gpurec", "-q", "--force", "-o", capture, "--", BUILD + "/workload/plant", "--seed", str(run["seed"]),
         "--noise", str(run["noise"]), "--truth", truth, "--plant", ",".join(run["plant"]),
         *(["--weak"] if run["weak"] else []))
    with open(truth, encoding="utf-8") as f:
        return capture, json.load(f)


def run_all(n, out, seed):
    with tempfile.TemporaryDirectory() as folder, open(out, "w", encoding="utf-8") as lines:
        os.environ["GPUREC_HOME"] = folder + "/keys"
        for i in range(n):
            run = plan(i, seed + i)
            capture, truth = record(run, folder)
            lines.write(json.dumps(score(run, truth, analyse(capture))) + "\n")
            lines.flush()
            if sys.stderr.isatty():
                print("\r%d of %d" % (i + 1, n), end="", file=sys.stderr)


HEAD = """start 1000s 1800000000s
process at=+0s pid=200 start=999s ppid=1 tracked=1 name=driver
exec at=+0s pid=200 tid=200
thread at=+0s tid=201 pid=200 start=999s name=trainer
repeat 100 2ms launch at=+10ms pid=200 tid=201 cpu=0 dur=17us function=0x1000
"""


def make_xid(rng, faulty, weak):
    """Codes on GPUs, some more than once; without a fault, old memory errors that do not grow."""
    lines = ["repeat 10 1s health at=+0s gpu=0 known=0x400 ecc_uncorrected=%d" % rng.randint(0, 9)]
    want = {}
    for code in rng.sample([13, 31, 43, 48, 74, 79, 94, 95, 119], 1 if weak else 3) if faulty else []:
        pci, count = "0000:%02x:00" % rng.randint(1, 99), 1 if weak else rng.randint(1, 5)
        lines += ["xid at=+%dms code=%d pci=%s" % (rng.randint(10, 9000), code, pci) for _ in range(count)]
        want[("xid", "xid", code, pci)] = count
    return lines, want


def make_throttle(rng, faulty, weak):
    """Reasons that hold for 2 (weak) or 8 to 20 of 30 s; idle and chosen clocks, and one short dip, are none."""
    reasons = {0x8: "hardware-slowdown", 0x20: "thermal", 0x40: "hardware-thermal", 0x80: "power-brake"}
    lines, want = [], {}
    for gpu in range(rng.randint(1, 4)):
        bit = rng.choice(sorted(reasons))
        begin, length = rng.randint(2, 8), 2 if weak else rng.randint(8, 20)
        guilty = faulty and (gpu == 0 or rng.random() < 0.5)
        for at in range(31):
            on = guilty and begin <= at < begin + length
            lines.append("health at=+%ds gpu=%d known=0x9e0 temperature_c=70 sm_mhz=%d sm_mhz_max=1980 throttle=%d" % (
                at, gpu, 1200 if on else 1980, bit if on else rng.choice([0, 1, 2])))
        if not guilty:
            lines += ["health at=+12.2s gpu=%d known=0x9e0 throttle=%d" % (gpu, bit), "health at=+12.7s gpu=%d known=0x9e0" % gpu]
        else:
            want[("throttle", reasons[bit], gpu, None)] = length * 10 ** 9
    return lines, want


def make_oom(rng, faulty, weak):
    """Refusals of which nothing comes, and a kill; without a fault a cache that gives back and gets as much."""
    lines, want = [], {}
    if faulty:
        n = 1 if weak else rng.randint(2, 9)
        lines = ["alloc at=+%dms pid=200 tid=201 cpu=0 dur=300us bytes=%dM memory=1 ret=2" % (300 + 50 * k, 100 + k)
                 for k in range(n)]
        want[("oom", "gpu-memory", 200, None)] = n
        if not weak:
            lines.append("oom at=+2s pid=200 rss=4G")
            want[("oom", "killed", 200, None)] = 1
    else:
        for k in range(rng.randint(1, 4)):
            at = 300 + 200 * k
            lines += ["alloc at=+%dms pid=200 tid=201 cpu=0 dur=300us bytes=8M memory=1 ret=2" % at,
                      "alloc at=+%dms pid=200 tid=201 cpu=0 dur=300us bytes=8M addr=0x%x0000000 memory=1" % (at + 50, k + 1)]
    return lines, want


def make_ranks(rng, faulty, weak):
    """Ranks of a communicator: one comes last, by 1.5 (weak) or 4 to 9 of 20 ms; or each in its turn."""
    n, guilty, lines, lag = rng.randint(2, 8), rng.randint(0, 1), [], 1500 if weak else rng.randint(4000, 9000)
    lost, rounds = 0, 50
    begins = [[20000 * (k + 1) + rng.randint(0, 300) for k in range(rounds)] for _ in range(n)]
    for k in range(rounds):
        who = guilty if faulty else k % n
        begins[who][k] += lag
        others = [b[k] for r, b in enumerate(begins) if r != guilty]
        lost += max(0, begins[guilty][k] - max(others))
    for r in range(n):
        pid = 300 + r
        lines += ["process at=+0s pid=%d start=99%ds ppid=1 tracked=1 name=rank" % (pid, r),
                  "collective at=+1ms pid=%d tid=%d dur=9us comm=%d rank=%d nranks=%d probe=ncclCommInitRank" % (
                      pid, pid, r + 1, r, n)]
        lines += ["collective at=+%dus pid=%d tid=%d dur=50us comm=%d count=4 probe=ncclAllReduce" % (b + 50, pid, pid, r + 1)
                  for b in begins[r]]
    return lines, {("straggler", "last-to-collectives", guilty, None): lost * 1000} if faulty else {}


MAKERS = {"xid": make_xid, "throttle": make_throttle, "oom": make_oom, "straggler": make_ranks}


def told(finding):
    """What a finding of a synthetic capture says: its subject and its magnitude."""
    facts, rule = finding["facts"], finding["rule"]
    if rule == "xid":
        return (rule, finding["class"], facts.get("code"), facts.get("pci")), finding["count"]
    if rule == "throttle":
        return (rule, finding["class"], facts["gpu"], None), facts["ns"]
    if rule == "straggler":
        return (rule, finding["class"], facts.get("rank"), None), facts.get("lag_ns")
    return (rule, finding["class"], (finding["process"] or {}).get("pid"), None), finding["count"]


def synthetic(out, n=40):
    """What cannot be planted on a host without a GPU: n captures for each such rule, half of them without a fault."""
    with tempfile.TemporaryDirectory() as folder, open(out, "w", encoding="utf-8") as lines:
        os.environ["GPUREC_HOME"] = folder + "/keys"
        for rule, make in sorted(MAKERS.items()):
            for seed in range(n):
                weak = seed % 4 >= 2
                rows, want = make(random.Random(500000 + seed), seed % 2 == 0, weak)
                with open(folder + "/script", "w", encoding="utf-8") as f:
                    f.write(HEAD + "\n".join(rows) + "\nend command 0\n")
                call(BUILD + "/tests/mkcap", "-o", folder + "/run.cap", "--pub", folder + "/pub", folder + "/script")
                have = dict(told(f) for f in analyse(folder + "/run.cap", "--trust", folder + "/pub") if f["severity"] != "info")
                lines.write(json.dumps({
                    "synthetic": rule, "seed": seed, "weak": weak, "planted": len(want),
                    "missed": [k for k in want if k not in have], "false": [k for k in have if k not in want],
                    "wrong": [k for k in want if k in have and have[k] != want[k]]}) + "\n")


def load(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            rows += [json.loads(line) for line in f]
    return [r for r in rows if "run" in r], [r for r in rows if "synthetic" in r]


def ratio(part, whole):
    return "%.3f (%d of %d)" % (part / whole, part, whole) if whole else "none"


def table(paths):
    runs, scripts = load(paths)
    clean = [r for r in runs if not r["run"]["faults"]]
    print("| fault | rule | strength | planted | recall | attribution | magnitude: median error | at most | within its bound | not compared: accident |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for fault in FAULTS:
        for weak in (False, True):
            all_of = [f for r in runs for f in r["faults"] if f["fault"] == fault and f["weak"] == weak]
            hits = [f for f in all_of if f["found"]]
            errors = sorted(f["error"] for f in hits if f["error"] is not None)
            print("| %s | %s | %s | %d | %s | %s | %s | %s | %s | %s |" % (
                fault, EXPECT[fault][0], "weak" if weak else "strong", len(all_of), ratio(len(hits), len(all_of)),
                ratio(sum(f["attributed"] for f in hits), len(hits)),
                "%.2f %%" % (100 * errors[len(errors) // 2]) if errors else "not compared",
                "%.2f %%" % (100 * errors[-1]) if errors else "",
                ratio(sum(f["within"] for f in hits if f["error"] is not None), len(errors)) if errors else "",
                sum(f["disturbed"] for f in hits) if EXPECT[fault][2] is not None else ""))
    print()
    print("| runs | how many | findings that were planted | false findings | precision | runs with a false finding | excused |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, some in (("with faults", [r for r in runs if r["run"]["faults"]]), ("clean or decoys only", clean)):
        true, false = sum(r["true"] for r in some), sum(len(r["false"]) for r in some)
        print("| %s | %d | %d | %d | %s | %d | %d |" % (
            name, len(some), true, false, "%.3f" % (true / (true + false)) if true else
            "%d of %d runs without" % (sum(not r["false"] for r in some), len(some)), sum(bool(r["false"]) for r in some), sum(len(r["excused"]) for r in some)))
    if scripts:
        print()
        print("| rule, synthetic captures | strength | captures | without a fault | planted | recall | magnitude exact | false findings |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for rule in sorted({s["synthetic"] for s in scripts}):
            for weak in (False, True):
                some = [s for s in scripts if s["synthetic"] == rule and s["weak"] == weak]
                planted, missed = sum(s["planted"] for s in some), sum(len(s["missed"]) for s in some)
                print("| %s | %s | %d | %d | %d | %s | %s | %d |" % (
                    rule, "weak" if weak else "strong", len(some), sum(s["planted"] == 0 for s in some), planted,
                    ratio(planted - missed, planted),
                    ratio(planted - missed - sum(len(s["wrong"]) for s in some), planted - missed),
                    sum(len(s["false"]) for s in some)))


def show(paths):
    runs, scripts = load(paths)
    for s in scripts:
        if s["missed"] or s["false"] or s["wrong"]:
            print("synthetic %s seed %d: missed %s false %s wrong %s" % (s["synthetic"], s["seed"], s["missed"], s["false"],
                                                                        s["wrong"]))
    for r in runs:
        bad = [f for f in r["faults"] if not f["found"] or not f["attributed"] or f.get("within") is False]
        if bad or r["false"] or r["evidence"]:
            print("seed %d%s noise %d: %s" % (r["run"]["seed"], " weak" if r["run"]["weak"] else "", r["run"]["noise"],
                                              ",".join(r["run"]["plant"])))
        for f in bad:
            print("   %s %s %s" % ("MISSED" if not f["found"] else "WRONG CULPRIT" if not f["attributed"] else
                                   "MAGNITUDE off by %.1f %%" % (100 * f["error"]), f["fault"], f["truth"]))
        for text in r["false"]:
            print("   FALSE " + text)
        for text in r["evidence"]:
            print("   evidence " + text)


def main():
    args = sys.argv[1:]
    if len(args) >= 3 and args[0] == "run":
        run_all(int(args[1]), args[2], int(args[4]) if len(args) == 5 and args[3] == "--seed" else 1000)
    elif len(args) in (2, 3) and args[0] == "synthetic":
        synthetic(args[1], *map(int, args[2:]))
    elif len(args) == 3 and args[0] == "score":
        with open(args[1], encoding="utf-8") as truth, open(args[2], encoding="utf-8") as report:
            result = score({"weak": False}, json.load(truth), json.load(report)["reports"][0]["findings"])
        for f in result["faults"]:
            print(f["fault"], "found" if f["found"] else "MISSED", "attributed" if f["attributed"] else "NOT ATTRIBUTED",
                  "not compared: accident" if f["disturbed"] else "within" if f.get("within", True) else "OFF BY %.0f %%" % (100 * f["error"]))
        for text in result["false"]:
            print("FALSE", text)
        sys.exit(bool(result["false"]) or not all(f["found"] and f["attributed"] and f.get("within", True) for f in result["faults"]))
    elif len(args) >= 2 and args[0] in ("table", "show"):
        {"table": table, "show": show}[args[0]](args[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
