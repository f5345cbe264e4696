# SPDX-License-Identifier: Apache-2.0
"""bpf_shapes.py OBJECT: shapes that verifiers of older kernels refuse, a line for each; the exit status is 1 if any."""
import sys

from bpf_object import STACK_MAX, Object, stack_of


def shapes(o):
    for f in o.functions.values():
        pair = f.loop_by_falling()
        if pair:
            yield "%s: instruction %d falls through to the loop that begins at %d (refused before 6.8)" % ((f.name,) + pair)
    for p in o.programs():
        size, way = stack_of(p)
        if size > STACK_MAX:
            yield "%s: %d bytes of stack, %d is the most: %s" % (p.name, size, STACK_MAX, " > ".join(way))
        for f, walk in o.walked(p, lambda relo: None).items():
            for at in walk.keys:
                yield "%s: %s hands memory of a ring to a map as key or value at %d (refused before 6.2)" % (
                    p.name, f.name, at)


o = Object(sys.argv[1])
found = list(shapes(o))
print("%d programs, %d functions" % (len(o.programs()), len(o.functions)))
print("\n".join(found))
sys.exit(1 if found else 0)
