#!/usr/bin/env python3
"""Rules are numbered once and in order in each README; a citation, `FOLDER rule N`, names a rule that exists.

FOLDER stands for its README.md; a page with numbered rules (docs/protocol-json.md) is cited by its path. Within a page of
its own (not a README) a bare `rule N` is fine; comments of C and READMEs always say whose rule it is."""
import re

from source import ROOT, TOKENS, Tap, files, text

CITED_IN = (".c", ".h", ".def", ".md", ".py", ".sh", ".ts", ".vue", ".mjs", ".txt", ".proto", ".sql", ".yaml")
NUMBER = re.compile(r"^(\d+)\. ")
# A citation may go on in the next line of a comment. Several numbers: `lib/store rules 3 and 4`.
RULE = re.compile(r"(?:(?<![\w./-])(?P<place>[\w.-]+(?:/[\w.-]+)*)/?`?,?\s+(?:[*#]\s+)?)?\brules?\s+(?:[*#]\s+)?"
                  r"(?P<numbers>\d+(?:(?:, | and )\d+)*)\b")


def numbers(page):
    """Numbers of the rules of a page, as they stand; what is fenced is no rule."""
    fenced = False
    for line in text(page).split("\n"):
        fenced ^= line.startswith("```")
        if not fenced and NUMBER.match(line):
            yield int(NUMBER.match(line).group(1))


def page_of(place):
    """The page that a citation's FOLDER stands for, or None: it is only a word of the sentence."""
    for page in (place, f"{place}/README.md"):
        if page.endswith(".md") and (ROOT / page).is_file():
            return page
    return None


def order():
    for page in files("README.md"):
        found = list(numbers(page))
        if found != list(range(1, len(found) + 1)):
            yield f"{page}: rules are numbered {', '.join(map(str, found))}: once and in order, from 1"


def citations():
    for path in files(*CITED_IN):
        whole = text(path)
        for m in RULE.finditer(whole):
            place = m.group("place") or ""
            page = page_of(place)
            at = f"{path}:{whole.count(chr(10), 0, m.start('numbers')) + 1}"
            if not page:
                if "/" in place:
                    yield f"{at}: {place} has no README.md with rules"
                continue
            known = set(numbers(page))
            for n in re.findall(r"\d+", m.group("numbers")):
                if int(n) not in known:
                    yield f"{at}: {page} has no rule {n}"


def bare():
    for path in files(".c", ".h", ".def", "README.md"):
        whole = text(path)
        pieces = [m.group(0) for m in TOKENS.finditer(whole) if m.group(0)[0] == "/"]
        for piece in [whole] if path.endswith(".md") else pieces:
            for m in RULE.finditer(piece):
                if not page_of(m.group("place") or ""):
                    yield f"{path}: say whose rule it is, FOLDER rule N: '{' '.join(m.group(0).split())}'"


tap = Tap()
tap.check("rules of each README are numbered once and in order", list(order()))
tap.check("every rule that is cited exists", list(citations()))
tap.check("every citation says whose rule it is", list(bare()))
tap.end()
