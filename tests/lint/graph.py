"""What a folder's files use of each other: `layers.py --graph FOLDER [MAP]`, no lint.

A reference is a name that one file uses of another: a function that it calls or whose address it takes, of the file
that defines it; a header that it includes. A table (.def) is text of the .c that includes it: that file uses what the
rows name; a header that makes prototypes of the rows uses none of it. Between rooms a header counts only for who uses no function of x.c of that x.h.
A room is a sub-folder, or what MAP says: lines `file room` ("." is the folder itself), so that a move is judged before it is made.

Files, and then rooms, are put in the order in which the fewest references go up. What goes up all the same is printed,
name by name; a circle is a set in which each reaches each; a stratum is what uses only strata below it, upward
references left out. The order inside a circle is a good one, found by trying, not proven the best.

Not seen: what is used through a pointer or a macro's body, variables, types beyond their header."""
import os
import re
from collections import defaultdict
from pathlib import Path

from source import bare, files, text

HEAD = re.compile(r"(\w+)\s*\(")
PROTOTYPE = re.compile(r"^(?!static const|return\b)[a-z][\w \t*]*?[ *](\w+)\([^;{}]*\)[^;{}()]*"
                       r"(?:__attribute__\(\(.*?\)\))?;", re.M)
USE = re.compile(r"(?<![\w.])(?<!->)(?<!struct )(?<!enum )([a-z]\w*)(?=\s*(\(|[,;)}:\]]|$))", re.M)


def bodies(path):
    """-> name, is_static of each function; the house style has its braces at column 0."""
    lines = bare(text(path)).split("\n")
    for i, line in enumerate(lines):
        if line != "{":
            continue
        head = []
        for above in reversed(lines[max(0, i - 12):i]):
            if not above.strip() or above.startswith(("}", "#")) or above.rstrip().endswith(";"):
                break
            head.insert(0, above)
        names = [n for n in HEAD.findall(" ".join(head)) if n not in ("__attribute__", "format", "nonnull")]
        if names:
            yield names[0], bool(re.search(r"\bstatic\b", " ".join(head)))


class Folder:
    def __init__(self, folder, target_of, mapping=None):
        self.folder = folder.rstrip("/")
        paths = [p for p in files(".c", ".h", ".def") if p.startswith(self.folder + "/")]
        self.nodes = [self.name(p) for p in paths]
        self.home = {}  # function -> file
        for path in paths:
            for name, is_static in bodies(path) if not path.endswith(".def") else ():
                if not is_static or path.endswith(".h"):
                    self.home.setdefault(name, self.name(path))
        self.refs = defaultdict(set)  # (file, file) -> names
        for path in paths:
            self.read(path, target_of)
        self.room = {n: (mapping or {}).get(n, n.split("/")[0] if "/" in n else ".") for n in self.nodes}

    def name(self, path):
        return os.path.relpath(path, self.folder)

    def between_rooms(self):
        """Of the references those that leave a room: (file, file) -> names."""
        out = {}
        for (a, b), names in self.refs.items():
            if self.room[a] != self.room[b] and not (b.endswith(".h") and (a, b[:-1] + "c") in self.refs):
                out[a, b] = names
        return out

    def read(self, path, target_of):
        me, source = self.name(path), bare(text(path), keep_strings=True)
        tables = []
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', source, re.M):
            at = target_of(path, name)
            if at and at.startswith(self.folder + "/") and self.name(at) != me:
                self.refs[me, self.name(at)].add(os.path.basename(at))
                tables += [at] if at.endswith(".def") else []
        source = PROTOTYPE.sub("", bare(text(path)))
        if path.endswith(".h"):  # of a header only what inline functions do
            source = "\n".join(re.findall(r"^\{$.*?^\}", source, re.M | re.S))
        elif path.endswith(".def"):
            source = ""
        else:
            source += "".join("\n" + bare(text(at)) for at in sorted(set(tables)))
        own = {name for name, is_static in bodies(path) if is_static} if path.endswith(".c") else set()
        for name, after in USE.findall(source):
            to = self.home.get(name)
            if path.endswith(".h") and to == me[:-1] + "c":
                continue  # x.h and x.c are one noun: what an inline function takes of its own is no reference
            if to and to != me and name not in own and (after == "(" or "_" in name):
                self.refs[me, to].add(name)


def circles(nodes, edges):
    """Sets of nodes that reach each other (Tarjan), those of one node left out."""
    out, index, low, stack, found = defaultdict(list), {}, {}, [], []
    for a, b in edges:
        out[a].append(b)

    def visit(n):
        index[n] = low[n] = len(index)
        stack.append(n)
        for m in out[n]:
            if m not in index:
                visit(m)
            if m in stack:
                low[n] = min(low[n], low[m])
        if low[n] == index[n]:
            one = stack[stack.index(n):]
            del stack[stack.index(n):]
            if len(one) > 1:
                found.append(sorted(one))
    for n in nodes:
        if n not in index:
            visit(n)
    return sorted(found, key=len, reverse=True)


def upward(order, edges):
    at = {n: i for i, n in enumerate(order)}
    return sum(w for (a, b), w in edges.items() if at[a] < at[b])


def ordered(nodes, edges):
    """The nodes, lowest first: each moves to where fewest references go up, until none gains by it."""
    use = defaultdict(int)
    for (a, b), w in edges.items():
        use[a] += w
        use[b] -= w
    best = None
    for start in (sorted(nodes, key=lambda n: (use[n], n)), sorted(nodes), sorted(nodes, reverse=True)):
        order = list(start)
        moved = True
        while moved:
            moved = False
            for n in sorted(nodes):
                rest = [m for m in order if m != n]
                # Up when n is lowest: all that it uses. Passing m: no more what it uses of m, but what m uses of it.
                cost = at = sum(edges.get((n, m), 0) for m in rest)
                gain, place = {0: cost}, 0
                for i, m in enumerate(rest, 1):
                    cost += edges.get((m, n), 0) - edges.get((n, m), 0)
                    gain[i] = cost
                    if cost < at:
                        at, place = cost, i
                if at < gain[order.index(n)]:
                    order, moved = rest[:place] + [n] + rest[place:], True
        if best is None or upward(order, edges) < upward(best, edges):
            best = order
    return best


def layered(nodes, edges):
    """-> strata, circles, the edges that go up."""
    rings = circles(nodes, edges)
    up = set()
    for ring in rings:
        inside = {e: w for e, w in edges.items() if e[0] in ring and e[1] in ring}
        at = {n: i for i, n in enumerate(ordered(ring, inside))}
        up |= {e for e in inside if at[e[0]] < at[e[1]]}
    below = defaultdict(list)
    for a, b in edges:
        if (a, b) not in up:
            below[a].append(b)
    level = {}

    def height(n):
        if n not in level:
            level[n] = 1 + max((height(m) for m in below[n]), default=0)
        return level[n]
    strata = defaultdict(list)
    for n in nodes:
        strata[height(n)].append(n)
    return [sorted(strata[h]) for h in sorted(strata)], rings, up


def faults():
    """Of a graph whose answer is known: c on b on a, b and d in a circle that one reference closes."""
    strata, rings, up = layered("abcd", {("b", "a"): 1, ("c", "b"): 2, ("d", "b"): 3, ("b", "d"): 1})
    seen = (strata, rings, up)
    known = ([["a"], ["b"], ["c", "d"]], [["b", "d"]], {("b", "d")})
    return [] if seen == known else [f"graph.py: {seen} is not {known}"]


def climbing(folder, target_of):
    """References upward between the files of a folder: in words, and how many names they are."""
    f = Folder(folder, target_of)
    _, _, up = layered(f.nodes, {e: len(names) for e, names in f.refs.items()})
    return ([f"{folder}: {a} refers upward to {b}: {' '.join(sorted(f.refs[a, b]))}" for a, b in sorted(up)],
            sum(len(f.refs[e]) for e in up))


def told(what, strata, rings, up, n_up):
    print(f"{what}: {len(strata)} strata, {n_up} upward references in {len(up)} pairs, {len(rings)} circles")
    for h in range(len(strata), 0, -1):
        print(f"  {h:2} {' '.join(strata[h - 1])}")
    for ring in rings:
        print(f"  circle of {len(ring)}: {' '.join(ring)}")


def show(folder, target_of, map_path=None):
    mapping = dict(line.split("#")[0].split()[:2] for line in Path(map_path).read_text().splitlines()
                   if line.split("#")[0].strip()) if map_path else None
    f = Folder(folder, target_of, mapping)
    edges = {e: len(names) for e, names in f.refs.items()}
    strata, rings, up = layered(f.nodes, edges)
    told(f"{f.folder} by file ({len(f.nodes)}, {sum(edges.values())} references)", strata, rings, up,
         sum(edges[e] for e in up))
    for a, b in sorted(up):
        print(f"  up: {a} -> {b}: {' '.join(sorted(f.refs[a, b]))}")

    rooms = sorted(set(f.room.values()))
    crossing, between = f.between_rooms(), defaultdict(int)
    for (a, b), names in crossing.items():
        between[f.room[a], f.room[b]] += len(names)
    strata, rings, up = layered(rooms, between)
    told(f"{f.folder} by room ({len(rooms)}, {sum(between.values())} references between them)",
         strata, rings, up, sum(between[e] for e in up))
    for a, b in sorted(up):
        for (x, y), names in sorted(crossing.items()):
            if (f.room[x], f.room[y]) == (a, b):
                print(f"  up: {a} -> {b}: {x} -> {y}: {' '.join(sorted(names))}")
    return f, strata, up
