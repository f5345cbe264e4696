#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exam.py: how right the report is about programs of runtimes that we did not write.

    exam.py run N OUT.jsonl [RUNTIME[.WAY]...]    each way of each runtime N times: record, analyse, judge (as root)
    exam.py judge TRUTH DATABASE REPORT           one run's judgement
    exam.py table IN.jsonl...                     the tables of docs/ACCURACY.md
    exam.py show PERCENT IN.jsonl...              what was wrong, run by run, or less than so much of what was lost is right

BUILD is the folder with the programs; what is built for the exam lies in its folder exam. A subject (tests/exam) prints
who launches, for whom that one waited, what that one did, and for how long, by its own clock or the kernel's account.
Of that time the ledger is right in what it gives to that task and class; what anybody lacked a CPU for, by the ledger, is
left out of both. A finding of severity warning and above is right if it names whom the program names and what it did.
"""
import collections
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "exam")
DIR = BUILD + "/exam"
CUDA = DIR + "/libcuda.so.1"
CC = os.environ.get("CC", "cc")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

# What the rules call what the ledger calls otherwise.
CLASSES = {"waker-busy": "on-cpu", "waker-asleep": "asleep", "waker-without-cpu": "waiting-for-cpu",
           "preempted": "waiting-for-cpu", "woken-and-not-let-on": "waiting-for-cpu"}


def cc(out, *source):
    return [CC, "-O1", "-shared", "-fPIC", "-o", DIR + "/" + out, *source]


def java_home():
    return os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("javac") or "/usr/bin/javac")))


def java(collector):
    return ["java", collector, "-Xmx192m", "-cp", DIR, "Exam", DIR + "/libexam_java.so"]


LINKED = [CUDA, "-Wl,-rpath," + DIR]
# runtime: how it is built, how it is run (the way follows), how its version is asked for
RUNTIMES = {
    "python": ([], [PYTHON, "-B", HERE + "/exam_python.py", CUDA], [PYTHON, "--version"]),
    "waits": ([], [PYTHON, "-B", HERE + "/exam_waits.py", CUDA], [PYTHON, "--version"]),
    "torch": ([], [PYTHON, "-B", HERE + "/exam_torch.py", CUDA], [PYTHON, "-c", "import torch; print('torch', torch.__version__)"]),
    "ruby": ([], ["ruby", HERE + "/exam_ruby.rb", CUDA], ["ruby", "--version"]),
    "node": ([cc("exam.node", "-I/usr/include/node", HERE + "/exam_node.c", *LINKED)],
             ["node", HERE + "/exam_node.js", DIR + "/exam.node"], ["node", "-p", "'Node.js ' + process.version"]),
    "java": ([cc("libexam_java.so", "-I%s/include" % java_home(), "-I%s/include/linux" % java_home(), HERE + "/exam_java.c", *LINKED),
              ["javac", "-d", DIR, HERE + "/exam_java.java"]],
             java("-XX:+UseSerialGC"), ["java", "--version"]),
    "java-parallel": ([], java("-XX:+UseParallelGC"), ["java", "--version"]),
    "java-g1": ([], java("-XX:+UseG1GC"), ["java", "--version"]),
    "go": ([["env", "CGO_LDFLAGS=" + " ".join(LINKED), "CGO_LDFLAGS_ALLOW=.*", "GO111MODULE=off", "GOCACHE=%s/go" % DIR, "go", "build",
             "-o", DIR + "/exam_go", HERE + "/exam_go.go"]], [DIR + "/exam_go"], ["go", "version"]),
    "openmp": ([[CC, "-O1", "-fopenmp", "-o", DIR + "/exam_openmp", HERE + "/exam_openmp.c", *LINKED]],
               ["env", "OMP_WAIT_POLICY=passive", DIR + "/exam_openmp"], [CC, "--version"]),
}


def call(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise OSError("%s: %s" % (" ".join(command[:6]), done.stderr.decode(errors="replace").strip()[-500:]))
    return done.stdout.decode()


def build():
    """The runtimes that are here, with their versions; of the others why they are not."""
    os.makedirs(DIR, exist_ok=True)
    call(*cc("libcuda.so.1", "-Wl,-soname,libcuda.so.1", HERE + "/exam_cuda.c"))
    have, lack = {}, {}
    for name, (commands, _, version) in RUNTIMES.items():
        try:
            have[name] = call(*version).splitlines()[0]
            for command in commands:
                call(*command)
        except OSError as why:
            have.pop(name, None)
            lack[name] = str(why)
    return have, lack


def ways(runtime):
    return sorted(call(*RUNTIMES[runtime][1], "--ways").split())


# --- judging ---


def family(db, pid):
    """The threads of its children, and of theirs."""
    return {tid for tid, in db.execute("""
        WITH RECURSIVE below AS (SELECT pid FROM processes WHERE ppid = ? UNION
            SELECT p.pid FROM processes p JOIN below b ON p.ppid = b.pid)
        SELECT tid FROM threads JOIN processes USING (process) WHERE pid IN (SELECT pid FROM below)
        UNION SELECT pid FROM below""", (pid,))}


def with_threads(db, tids, own_pid):
    """And where it is another process: the other threads of that one."""
    pids = [tid for tid in tids if tid != own_pid]
    return set(tids) | {tid for tid, in db.execute("SELECT tid FROM threads JOIN processes USING (process) WHERE pid IN (%s)" % ",".join(map(str, pids or [0])))}


def judge_ledger(db, truth, to):
    """How much of what was lost the ledger gives to whom, and to what, it should; and how much there was to give."""
    parts = dict(db.execute("SELECT part, sum(ns) FROM ledger WHERE tid = ? AND fed > 0 GROUP BY part", (truth["feeder"],)))
    waited = db.execute("""SELECT for_tid, did, sum(ns) FROM ledger_did WHERE part = 'task' AND thread IN
        (SELECT thread FROM ledger WHERE tid = ? AND fed > 0) GROUP BY 1, 2""", (truth["feeder"],)).fetchall()
    if "part" in truth:
        return min(parts.get(truth["part"], 0), truth["lost_ns"]), truth["lost_ns"]
    no_cpu = sum(ns for tid, did, ns in waited if tid in to and did == "waiting-for-cpu")
    given = sum(ns for tid, did, ns in waited if tid in to and did in (truth["did"], truth.get("also")))
    lost = truth["lost_ns"] - truth.get("lost_cpu_ns", parts.get("cpu", 0) + parts.get("quota", 0))
    if "to_cpu_ns" in truth:  # that one knows it itself: the ledger is to know it, too
        worked = max(0, lost - truth["to_cpu_ns"])
        return min(worked, given) + min(lost - worked, no_cpu), lost
    lost = max(0, lost - sum(ns for _, did, ns in waited if did == "waiting-for-cpu"))
    return min(lost, given), lost


def names_only(f, tids):
    """Whom it names are these, but for a twentieth of the time."""
    named = [p for p in f.get("parties", []) if p["part"] != "waiter"]
    all_ns, others_ns = sum(p["ns"] for p in named), sum(p["ns"] for p in named if p["tid"] not in tids)
    return bool(named) and (others_ns * 20 <= all_ns if all_ns else all(p["tid"] in tids for p in named))


def judge_finding(f, truth, to):
    """right; wrong; or cpu: it speaks of a lack of CPUs that the kernel counts, too, so that nobody planted it."""
    named, what = set(truth.get("named", [])), CLASSES.get(f["class"], f["class"])
    if f["rule"] == "died":
        return "right" if names_only(f, named | set(truth.get("dead", []))) else "wrong"
    if what == "throttled":
        return "right" if "throttled" in (truth.get("did"), {"quota": "throttled"}.get(truth.get("part"))) else "wrong"
    if what == "waiting-for-cpu":
        mine = f.get("tid") in (None, truth["feeder"])
        claimed = f.get("total_ns", f["weight"]) if f["weight_unit"] == "ns" else 0
        if truth.get("beside") and names_only(f, to):
            return "right"
        return "cpu" if names_only(f, to) or (mine and claimed <= truth["cpu_wait_ns"] * 1.1 + 2e6) else "wrong"
    return "right" if names_only(f, to | named) and what in (truth.get("did"), "futex") else "wrong"


def judge(database, truth, report):
    db = sqlite3.connect(database)
    pid, = db.execute("SELECT pid FROM threads JOIN processes USING (process) WHERE tid = ?", (truth["feeder"],)).fetchone()
    to = family(db, pid) if truth.get("to") == "children" else with_threads(db, truth.get("to", []) + truth.get("dead", []), pid)
    inexact = db.execute("""SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY thread, begin_ns
        HAVING sum(ns) <> max(end_ns) - begin_ns)""").fetchone()[0]
    right_ns, lost_ns = judge_ledger(db, truth, to) if "lost_ns" in truth else (0, 0)
    return {"right_ns": right_ns, "lost_ns": lost_ns, "inexact": inexact,
            "findings": [{"rule": f["rule"], "class": f["class"], "confidence": f["confidence"],
                          "verdict": judge_finding(f, truth, to), "headline": f["headline"]}
                         for f in report["findings"] if f["severity"] != "info" and f["rule"] != "evidence"]}


def record(capture, command):
    """What it prints counts, not how it ends: who lost a worker may end badly."""
    done = subprocess.run([BUILD + "/gpurec", "-q", "--force", "-o", capture, "--", *command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise OSError("%s: %s" % (command, done.stderr.decode(errors="replace").strip()[-500:])) from None


def run_one(runtime, way, folder):
    capture, database = folder + "/run.cap", folder + "/run.db"
    truth = record(capture, [*RUNTIMES[runtime][1], way])
    call(BUILD + "/gpureplay", "-q", "--force", capture, "-o", database)
    report = json.loads(call(BUILD + "/gpuanalyze", "-q", "--json", capture))["reports"][0]
    return dict(judge(database, truth, report), runtime=runtime, way=way, truth=truth)


def run_all(n, out, only):
    have, lack = build()
    with tempfile.TemporaryDirectory() as folder, open(out, "w", encoding="utf-8") as lines:
        os.environ["GPUREC_HOME"] = folder + "/keys"
        lines.write(json.dumps({"have": have, "lack": lack}) + "\n")
        for runtime in have:
            for way in ways(runtime):
                if only and runtime not in only and runtime + "." + way not in only:
                    continue
                for _ in range(n):
                    try:
                        lines.write(json.dumps(run_one(runtime, way, folder)) + "\n")
                    except OSError as why:
                        lines.write(json.dumps({"have": {}, "lack": {runtime + "." + way: str(why)}}) + "\n")
                    lines.flush()


# --- printing ---


def load(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            rows += [json.loads(line) for line in f]
    return [r for r in rows if "way" in r], [r for r in rows if "have" in r]


def percent(part, whole):
    return "%.1f %%" % (100 * part / whole) if whole else ""


def title(way):
    """Those that differ in how much is lost are one row."""
    return re.sub(r"_\d0(_beside)?$", lambda at: ", at 10, 30 and 60 %" + (", beside busy programs" if at[1] else ""), way)


def is_decoy(run):
    return "lost_ns" not in run["truth"] and "dead" not in run["truth"]


def is_to_be_found(run):
    """Who waits for one that sleeps of its own accord is not starved by it: the ledger has it, and that is all. And rules
    have a least share and time."""
    truth = run["truth"]
    return not is_decoy(run) and truth.get("did") != "asleep" and truth.get("share", 100) > 22 and truth.get("lost_ns", 1e9) > 1.1e8


def table(paths):
    runs, heads = load(paths)
    have, lack = {v for h in heads for v in h["have"].values()}, {n for h in heads for n in h["lack"]}
    print(textwrap.fill("; ".join(sorted(have)) + "." + (" Not run: " + ", ".join(sorted(lack)) + "." if lack else ""),
                        100, break_on_hyphens=False) + "\n")
    print("| runtime | what it does | runs | lost time that the ledger gives to the right task and class | runs with a finding that is right, of those that are to have one | with one that is wrong |")
    print("| --- | --- | --- | --- | --- | --- |")
    groups = collections.OrderedDict()
    for r in runs:
        groups.setdefault((r["runtime"], title(r["way"])), []).append(r)
    for (runtime, way), some in groups.items():
        wanted = [r for r in some if is_to_be_found(r)]
        print("| %s | %s | %d | %s | %s | %d |" % (
            runtime, way + " (decoy)" if is_decoy(some[0]) else way, len(some), percent(sum(r["right_ns"] for r in some), sum(r["lost_ns"] for r in some)),
            "%d of %d" % (sum(has(r, "right") for r in wanted), len(wanted)) if wanted else "", sum(has(r, "wrong") for r in some)))
    print()
    print("| confidence | findings | right | of a lack of CPUs that nobody planted | wrong |")
    print("| --- | --- | --- | --- | --- |")
    for confidence in ("high", "medium", "low"):
        some = [f["verdict"] for r in runs for f in r["findings"] if f["confidence"] == confidence]
        print("| %s | %d | %d | %d | %d |" % (confidence, len(some), some.count("right"), some.count("cpu"), some.count("wrong")))
    print()
    print("%d runs, %d of them of decoys; in %d a thread's parts did not add up." % (
        len(runs), sum(map(is_decoy, runs)), sum(r["inexact"] > 0 for r in runs)))


def has(run, verdict):
    return any(f["verdict"] == verdict for f in run["findings"])


def show(least, paths):
    """Of a run in which they lacked a CPU for most of the time only what is wrong: that may hide what was planted. Where
    only the one did that was waited for, that is what it did."""
    for r in load(paths)[0]:
        half = r["truth"].get("lost_ns", 0) / 2
        busy = r["lost_ns"] < half
        found = has(r, "right") or (r["truth"].get("to_cpu_ns", 0) > half and has(r, "cpu"))
        lacks = is_to_be_found(r) and not busy and not found
        wrong = [f for f in r["findings"] if f["verdict"] == "wrong"]
        share = r["right_ns"] / r["lost_ns"] if r["lost_ns"] and not busy else 1
        if lacks or wrong or 100 * share < least or r["inexact"]:
            print("%s.%s: %s of %.0f ms%s %s" % (r["runtime"], r["way"], percent(r["right_ns"], r["lost_ns"]), r["lost_ns"] / 1e6,
                                                ", NOTHING RIGHT" if lacks else "", r["truth"]))
        for f in wrong:
            print("   WRONG %(confidence)s %(rule)s %(class)s: %(headline)s" % f)


def main():
    args = sys.argv[1:]
    if len(args) >= 3 and args[0] == "run":
        run_all(int(args[1]), args[2], args[3:])
    elif len(args) == 4 and args[0] == "judge":
        with open(args[1], encoding="utf-8") as truth, open(args[3], encoding="utf-8") as report:
            print(json.dumps(judge(args[2], json.load(truth), json.load(report)["reports"][0]), indent=1))
    elif len(args) >= 2 and args[0] == "table":
        table(args[1:])
    elif len(args) >= 3 and args[0] == "show":
        show(int(args[1]), args[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
