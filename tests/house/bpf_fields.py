# SPDX-License-Identifier: Apache-2.0
"""
bpf_fields.py OBJECT BTF...: what the object's programs read of a kernel that the kernel with this type information does
not have, and read without asking first whether it is there, or read as a number of another size; a line for each, and
the exit status is 1 if any.
"""
import sys

from bpf_object import (RELO_FIELD_EXISTS, RELO_FIELD_OFFSET, RELO_FIELD_SIZE, RELO_TYPE_EXISTS, RELO_TYPE_ID_LOCAL,
                        RELO_TYPE_ID_TARGET, RELO_TYPE_SIZE, Btf, Object)

# Programs that record/probe/attach.c loads only where this type is there.
GATED = {"on_call_multi": "bpf_uprobe_multi_run_ctx", "on_return_multi": "bpf_uprobe_multi_run_ctx"}


def resolves(kernel, relo):
    kind, root, steps, last, _ = relo
    if kind == RELO_TYPE_ID_LOCAL:
        return True
    if kind in (RELO_TYPE_ID_TARGET, RELO_TYPE_EXISTS, RELO_TYPE_SIZE):
        return any(kernel.types[i][0] == root[0] for i in kernel.by_name.get(root[1].split("___")[0], []))
    return any(kernel.find(root, steps, last))


def fits(kernel, f, at, relo):
    """
    An integer is as large here, or libbpf makes the instruction fit, which takes that both are unsigned; or the program
    asks how large it is.
    """
    kind, root, steps, last, here = relo
    if kind != RELO_FIELD_OFFSET or here is None or any(r[0] == RELO_FIELD_SIZE and r[1:] == relo[1:] for r in f.relos.values()):
        return True
    loads = f.code[at][0] & 7 in (1, 2, 3)
    there = [kernel.integer(i) for i in kernel.find(root, steps, last)]
    return any(t and (t[0] == here[0] or loads and not t[1] and not here[1]) for t in there)


def missing(o, kernel):
    for p in o.programs():
        if p.name in GATED and GATED[p.name] not in kernel.by_name:
            continue
        for f, walk in o.walked(p, lambda relo: int(resolves(kernel, relo))).items():
            for at, relo in f.relos.items():
                if at not in walk.states or relo[0] in (RELO_FIELD_EXISTS, RELO_TYPE_EXISTS):
                    continue
                what = "%s in %s" % (".".join([relo[1][1]] + [str(s) for s in relo[2]]), f.name)
                if not resolves(kernel, relo):
                    yield "%s reads %s" % (p.name, what)
                elif not fits(kernel, f, at, relo):
                    yield "%s reads %s, which has another size" % (p.name, what)


o = Object(sys.argv[1])
found = 0
for path in sys.argv[2:]:
    lines = sorted(set(missing(o, Btf(open(path, "rb").read()))))
    print("%s: %s" % (path, "; ".join(lines) or "has all that is read without asking"))
    found += len(lines)
sys.exit(1 if found else 0)
