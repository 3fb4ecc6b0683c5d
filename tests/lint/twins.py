"""A page in two languages: what both must have alike, section by section. Words are the translator's;
places, commands, tables, links and `names` are not."""
import re
from dataclasses import dataclass, field

from source import text

PLACE = re.compile(r'<a id="([^"]+)"></a>')
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAME = re.compile(r"`([^`]+)`")
# Of a line of code the comment may be translated: from a blank and "# " to the end.
COMMENT = re.compile(r"(?:^|\s+)# .*$")


@dataclass
class Section:
    place: str
    title: str  # of its heading, as an anchor: the web makes one of it beside the place
    line: int
    depth: int
    code: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    lists: list = field(default_factory=list)
    links: list = field(default_factory=list)
    places: list = field(default_factory=list)
    names: set = field(default_factory=set)


def anchor(title):
    """As the web shows such files, and admin-console/web/src/domain/markdown.ts."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def head(line, number):
    depth = len(line) - len(line.lstrip("#"))
    own = PLACE.search(line)
    title = anchor(PLACE.sub("", line[depth:]))
    return Section(own.group(1) if own else title, title, number, depth)


def bare(line):
    """(code, is there a comment)"""
    cut = COMMENT.sub("", line)
    return cut, cut != line


BEGINS = {"head": r"#", "fence": r"```", "code": r" {4}\S", "table": r"\|", "list": r"[*-] |\d+\. ", "text": ""}
GOES = {"code": r"$| {4}", "table": r"\|", "list": r"(?!$|#|\||```)", "text": r"(?!$|#|\||```|[*-] )"}


def blocks(lines):
    """(kind, number of its first line, lines), as markdown.ts reads them."""
    i = 0
    while i < len(lines):
        if not lines[i]:
            i += 1
            continue
        kind = next(k for k, start in BEGINS.items() if re.match(start, lines[i]))
        j = i + 1
        if kind == "fence":
            while j < len(lines) and not lines[j].startswith("```"):
                j += 1
            j += 1
        elif kind != "head":
            while j < len(lines) and re.match(GOES[kind], lines[j]):
                j += 1
        yield kind, i + 1, lines[i:j]
        i = j


def sections(page):
    found = []
    for kind, number, lines in blocks(text(page).splitlines()):
        if kind == "head":
            found.append(head(lines[0], number))
            continue
        if not found:
            raise SystemExit(f"{page}:{number}: begins without a heading")
        s = found[-1]
        if kind in ("fence", "code"):
            s.code.append([bare(x) for x in "\n".join(lines).rstrip().split("\n")])
            continue
        words = "\n".join(lines)
        if kind == "table":
            s.tables.append((lines[0].count("|"), len(lines)))
        elif kind == "list":
            s.lists.append(sum(1 for x in lines if re.match(r"[*-] |\d+\. ", x)))
        s.links += LINK.findall(words)
        s.places += PLACE.findall(words)
        s.names |= {" ".join(x.split()) for x in NAME.findall(words)}
    return found


def code_differs(ours, theirs):
    """The first line that is not the same, or None. Comments may be: not where they are."""
    if len(ours) != len(theirs):
        return f"{len(theirs)} blocks of code, not {len(ours)}"
    for a, b in zip(ours, theirs):
        for x, y in zip(a + [("", False)] * (len(b) - len(a)), b + [("", False)] * (len(a) - len(b))):
            if x != y:
                return f"code is not the same: {x[0]!r}{' and a comment' * x[1]}, here {y[0]!r}" \
                       f"{' and a comment' * y[1]}"
    return None


def differs(a, b):
    """What section b lacks or has beyond section a."""
    if (wrong := code_differs(a.code, b.code)) is not None:
        yield wrong
    for what in ("tables", "lists"):
        x, y = getattr(a, what), getattr(b, what)
        if x != y:
            unit = "(columns, lines)" if what == "tables" else "items"
            yield f"{what} of {y} {unit}, not {x}"
    for what in ("links", "places"):
        x, y = getattr(a, what), getattr(b, what)
        if sorted(x) != sorted(y):
            yield f"{what} lack {sorted(set(x) - set(y))}, beyond {sorted(set(y) - set(x))}"
    if a.names != b.names:
        yield f"names lack {sorted(a.names - b.names)}, beyond {sorted(b.names - a.names)}"


def meet(found, page, twin):
    """Links of both pages in the same words: to each other, and to a section by its place."""
    there = {"#" + s.title: "#" + s.place for s in found} | {twin.split("/")[-1]: page.split("/")[-1]}
    for s in found:
        s.links = [there.get(x, re.sub(r"^\.\./(en|zh)/", "../", x)) for x in s.links]
    return found


def faults(page, twin):
    """Every way in which `twin` is not `page` in the other language."""
    ours, theirs = meet(sections(page), page, twin), meet(sections(twin), page, twin)
    here, there = [s.place for s in ours], [s.place for s in theirs]
    for place in here:
        if place not in there:
            yield f"{twin}: no section {place}, which is in {page}"
    for place in there:
        if place not in here:
            yield f"{twin}: section {place} is not in {page}"
    if set(here) == set(there) and here != there:
        first = next(i for i, (x, y) in enumerate(zip(here, there)) if x != y)
        yield f"{twin}: section {there[first]} stands where {page} has {here[first]}"
    theirs = {s.place: s for s in theirs}
    for s in ours:
        if s.place in theirs:
            t = theirs[s.place]
            if s.depth != t.depth:
                yield f"{twin}:{t.line}: section {s.place} is of level {t.depth}, not {s.depth}"
            for wrong in differs(s, t):
                yield f"{twin}:{t.line}: section {s.place} ({page}:{s.line}): {wrong}"


def borrowed(page, twin):
    """What a shorter `twin` shows of code is in `page` too."""
    there = [code for s in sections(page) for code in s.code]
    for s in sections(twin):
        for code in s.code:
            if code not in there:
                yield f"{twin}:{s.line}: section {s.place}: code that {page} does not have: {code[0][0]!r}"
