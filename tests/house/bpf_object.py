# SPDX-License-Identifier: Apache-2.0
"""
The object of the kernel's side, taken apart: its functions, what they call, and its type information. What the tests
beside this file ask of it is answered by going through the instructions as the kernel's verifier does, with far less
knowledge: a register holds a constant, memory of a ring, or something.
"""
import struct

HELPER_MAP_LOOKUP, HELPER_MAP_UPDATE, HELPER_MAP_DELETE, HELPER_RING_RESERVE = 1, 2, 3, 131
RING = "memory of a ring"
STACK_MAX = 512
INT, PTR, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC = 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12
RELO_FIELD_OFFSET, RELO_FIELD_SIZE, RELO_FIELD_EXISTS = 0, 1, 2
RELO_TYPE_ID_LOCAL, RELO_TYPE_ID_TARGET, RELO_TYPE_EXISTS, RELO_TYPE_SIZE = 6, 7, 8, 9


def string_at(data, at):
    return data[at:data.index(b"\0", at)].decode()


class Btf:
    """types[id] is (kind, name, size or type, number of members, what follows)"""

    def __init__(self, data):
        _, _, _, header, type_at, type_len, str_at, _ = struct.unpack_from("<HBBIIIII", data)
        strings = data[header + str_at:]
        self.strings = strings
        self.types = [(0, "void", 0, 0, None)]
        at, end = header + type_at, header + type_at + type_len
        while at < end:
            name, info, size = struct.unpack_from("<III", data, at)
            kind, count = info >> 24 & 31, info & 0xffff
            at += 12
            more = None
            if kind == INT:
                more, = struct.unpack_from("<I", data, at)
                more = bool(more >> 24 & 1)  # signed
                at += 4
            elif kind == 14 or kind == 17:
                at += 4
            elif kind == ARRAY:
                more = struct.unpack_from("<III", data, at)
                at += 12
            elif kind in (STRUCT, UNION):
                more = [struct.unpack_from("<III", data, at + 12 * i) for i in range(count)]
                more = [(string_at(strings, n), t) for n, t, _ in more]
                at += 12 * count
            elif kind == ENUM or kind == 13:
                at += 8 * count
            elif kind == 15 or kind == 19:
                at += 12 * count
            self.types.append((kind, string_at(strings, name), size, count, more))
        self.by_name = {}
        for i, t in enumerate(self.types):
            self.by_name.setdefault(t[1].split("___")[0], []).append(i)

    def plain(self, i):
        """without typedefs and qualifiers"""
        while self.types[i][0] in (TYPEDEF, VOLATILE, CONST, RESTRICT, 18):
            i = self.types[i][2]
        return i

    def member(self, i, name):
        for field, kind in self.types[i][4]:
            inner = self.plain(kind)
            if field == name:
                return inner
            if not field and self.types[inner][0] in (STRUCT, UNION):
                found = self.member(inner, name)
                if found is not None:
                    return found
        return None

    def path(self, i, access):
        """
        struct and members of an access string, "0:3:1": a name for a member, a number in an array; kind of the last, and
        of an integer its size and whether it is signed
        """
        i = self.plain(i)
        root, steps = self.types[i], []
        for index in [int(n) for n in access.split(":")[1:]]:
            kind, _, _, _, more = self.types[i]
            if kind == ARRAY:
                steps.append(index)
                i = self.plain(more[0])
            else:
                name, inner = more[index]
                i = self.plain(inner)
                if name:
                    steps.append(name)
        return root, steps, self.types[i][0], self.integer(i)

    def integer(self, i):
        return (self.types[i][2], self.types[i][4]) if self.types[i][0] == INT else None

    def find(self, root, steps, last):
        """such members here, of the same kind of type"""
        for i in self.by_name.get(root[1].split("___")[0], []):
            if self.types[i][0] != root[0]:
                continue
            for step in steps:
                kind, _, _, _, more = self.types[i]
                if isinstance(step, int):
                    i = self.plain(more[0]) if kind == ARRAY and (step < more[2] or not more[2]) else None
                else:
                    i = self.member(i, step) if kind in (STRUCT, UNION) else None
                if i is None:
                    break
            composite = (STRUCT, UNION)
            if i is not None and (self.types[i][0] == last or self.types[i][0] in composite and last in composite):
                yield i


class Function:
    def __init__(self, name, code):
        self.name, self.code, self.section, self.at = name, code, "", 0
        self.calls, self.callbacks = {}, {}  # by instruction: the function
        self.relos = {}                      # by instruction: kind, and as Btf.path()

    def loop_by_falling(self):
        """
        As check_cfg() of kernels before 6.8 goes through it: an instruction that does not jump, whose next one is the
        beginning of a loop that it is in. The pair of them, or None.
        """
        begun, done, todo = set(), set(), [0]
        while todo:
            at = todo[-1]
            begun.add(at)
            for to, falls in edges(self.code, at):
                if to in done:
                    continue
                if to not in begun:
                    todo.append(to)
                    break
                if falls:
                    return at, to
            else:
                done.add(at)
                todo.pop()
        return None

    def stack_bytes(self):
        least = 0
        for i, (op, dst, src, off, imm) in enumerate(self.code):
            if op == 0xbf and src == 10:  # the address of something: dst = r10; dst += imm
                then = self.code[i + 1]
                least = min(least, then[4] if then[0] == 0x07 and then[1] == dst else 0)
            elif op & 7 == 1 and src == 10 or op & 7 in (2, 3) and dst == 10:
                least = min(least, off)
        return (-least + 31) // 32 * 32

    def called(self):
        return set(self.calls.values()) | set(self.callbacks.values())


def edges(code, at):
    """Where it goes on, as (instruction, whether without a jump), in the order of the kernel."""
    op, _, src, off, _ = code[at]
    if op == 0x95:
        return []
    if op & 7 not in (5, 6) or op == 0x85:
        return [(at + (2 if op == 0x18 else 1), True)]
    return [(at + 1 + off, False)] if op == 0x05 else [(at + 1, False), (at + 1 + off, False)]


ALU = {0: lambda a, b: a + b, 1: lambda a, b: a - b, 4: lambda a, b: a | b, 5: lambda a, b: a & b,
       6: lambda a, b: a << (b & 63), 7: lambda a, b: a >> (b & 63), 10: lambda a, b: a ^ b, 11: lambda a, b: b}
JUMPS = {1: lambda a, b: a == b, 5: lambda a, b: a != b, 2: lambda a, b: a > b, 10: lambda a, b: a < b,
         3: lambda a, b: a >= b, 11: lambda a, b: a <= b, 4: lambda a, b: a & b != 0}


class Walk:
    """All that may run of a function, and what its registers and stack may hold then."""

    def __init__(self, function, arguments, returns, exists):
        self.f, self.returns, self.exists = function, returns, exists
        self.result = None
        self.calls = []    # function, what it is given
        self.keys = set()  # instructions that hand memory of a ring to a map
        self.states = {0: arguments}
        todo = [0]
        while todo:
            at = todo.pop()
            for to, state in self.step(at, dict(self.states[at])):
                old = self.states.get(to)
                new = state if old is None else merged(old, state)
                if new != old:
                    self.states[to] = new
                    todo.append(to)

    def step(self, at, s):
        op, dst, src, off, imm = self.f.code[at]
        cls, value = op & 7, s.get(src) if op & 8 else imm
        if op == 0x95:
            self.result = either(self.result, s.get(0))
            return []
        if op == 0x85:
            self.call(at, s)
        elif op == 0x18:
            s[dst] = None
        elif cls in (4, 7):
            self.compute(op, s, dst, value)
            if at in self.f.relos and self.f.relos[at][0] in (RELO_FIELD_EXISTS, RELO_TYPE_EXISTS):
                s[dst] = self.exists(self.f.relos[at])
        elif cls == 1:
            s[dst] = s.get(("stack", off)) if src == 10 and op == 0x79 else None
        elif cls == 3 and dst == 10:
            s[("stack", off)] = s.get(src)
        elif cls in (5, 6) and op != 0x05:
            known, test = s.get(dst), JUMPS.get(op >> 4)
            if isinstance(known, int) and isinstance(value, int) and test and known >= 0 and value >= 0:
                return [(at + 1 + (off if test(known, value) else 0), s)]
        return [(to, s) for to, _ in edges(self.f.code, at)]

    @staticmethod
    def compute(op, s, dst, value):
        old, what = s.get(dst), op >> 4
        if what == 11:
            s[dst] = value
        elif isinstance(old, int) and isinstance(value, int) and what in ALU:
            s[dst] = ALU[what](old, value) & (1 << 64) - 1
        elif not (old == RING and what in (0, 1)):
            s[dst] = None

    def call(self, at, s):
        helper = self.f.code[at][4]
        if at in self.f.calls:
            self.calls.append((self.f.calls[at], {r: s.get(r) for r in range(1, 6) if s.get(r) == RING}))
            s[0] = self.returns(self.f.calls[at])
        else:
            if helper in (HELPER_MAP_LOOKUP, HELPER_MAP_UPDATE, HELPER_MAP_DELETE) and RING in (
                    s.get(2), s.get(3) if helper == HELPER_MAP_UPDATE else None):
                self.keys.add(at)
            s[0] = RING if helper == HELPER_RING_RESERVE else None
        for register in range(1, 6):
            s[register] = None


def either(a, b):
    return a if a == b else RING if RING in (a, b) else None


def merged(a, b):
    s = {k: either(a.get(k), b.get(k)) for k in a.keys() | b.keys()}
    return {k: v for k, v in s.items() if v is not None}


class Object:
    def __init__(self, path):
        data = open(path, "rb").read()
        section_at, = struct.unpack_from("<Q", data, 40)
        count, names = struct.unpack_from("<HH", data, 60)
        heads = [struct.unpack_from("<IIQQQQIIQQ", data, section_at + 64 * i) for i in range(count)]
        body = [data[h[4]:h[4] + h[5]] if h[1] != 8 else b"" for h in heads]
        self.sections = [string_at(body[names], h[0]) for h in heads]
        self.btf = Btf(body[self.sections.index(".BTF")])
        symtab = next(i for i, h in enumerate(heads) if h[1] == 2)
        symbols = [struct.unpack_from("<IBBHQQ", body[symtab], at) for at in range(0, len(body[symtab]), 24)]
        self.functions = {}
        for name, info, _, section, value, size in symbols:
            if info & 15 == 2 and section < count:
                f = Function(string_at(body[heads[symtab][6]], name), instructions(body[section][value:value + size]))
                f.section, f.at = self.sections[section], value
                self.functions[f.name] = f
        for i, h in enumerate(heads):
            if h[1] == 9 and heads[h[7]][2] & 4:
                self.link(self.sections[h[7]], body[i], symbols)
        self.read_relos(body[self.sections.index(".BTF.ext")])

    def at(self, section, offset):
        for f in self.functions.values():
            if f.section == section and f.at <= offset < f.at + 8 * len(f.code):
                return f, (offset - f.at) // 8
        raise ValueError("no function at %s+%d" % (section, offset))

    def link(self, section, relocations, symbols):
        """What is called, and what is handed on to be called"""
        for at in range(0, len(relocations), 16):
            offset, info = struct.unpack_from("<QQ", relocations, at)
            _, _, _, target, value, _ = symbols[info >> 32]
            f, index = self.at(section, offset)
            op, _, _, _, imm = f.code[index]
            if target >= len(self.sections) or self.sections[target] != ".text":
                continue
            if op == 0x85:
                f.calls[index] = self.at(".text", value + 8 * (imm + 1))[0]
            elif op == 0x18:
                f.callbacks[index] = self.at(".text", value + imm)[0]

    def read_relos(self, ext):
        header, = struct.unpack_from("<I", ext, 4)
        start, length = struct.unpack_from("<II", ext, 24)
        at, end = header + start + 4, header + start + length
        while at < end:
            section, count = struct.unpack_from("<II", ext, at)
            for i in range(count):
                offset, type_id, access, kind = struct.unpack_from("<IIII", ext, at + 8 + 16 * i)
                f, index = self.at(string_at(self.btf.strings, section), offset)
                f.relos[index] = (kind,) + self.btf.path(type_id, string_at(self.btf.strings, access))
            at += 8 + 16 * count

    def programs(self):
        return [f for f in self.functions.values() if f.section != ".text"]

    def walked(self, program, exists):
        """All functions that run for a program, gone through"""
        walks, arguments = {}, {program: {}}
        todo = [program]
        while todo:
            f = todo.pop()
            walk = Walk(f, arguments[f], lambda g: walks[g].result if g in walks else None, exists)
            changed = f not in walks or walks[f].result != walk.result
            walks[f] = walk
            for callee, given in walk.calls + [(c, {}) for i, c in f.callbacks.items() if i in walk.states]:
                known = arguments.get(callee)
                both = given if known is None else {r: RING for r in known.keys() | given.keys()}
                if both != known:
                    arguments[callee] = both
                    todo.append(callee)
            if changed:
                todo.extend(g for g in walks if f in g.calls.values() and g is not f)
        return walks


def instructions(data):
    code = []
    for at in range(0, len(data), 8):
        op, registers, off, imm = struct.unpack_from("<BBhi", data, at)
        code.append((op, registers & 15, registers >> 4, off, imm))
    return code


def stack_of(f, around=()):
    """The deepest of what it and what it calls have on the stack at once, and by which way."""
    if f in around:
        raise ValueError("%s calls itself" % f.name)
    deepest, way = 0, []
    for g in f.called():
        bytes_, names = stack_of(g, around + (f,))
        if bytes_ > deepest:
            deepest, way = bytes_, names
    return max(f.stack_bytes(), 32) + deepest, [f.name] + way
