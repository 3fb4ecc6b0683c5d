"""Prometheus' text format 0.0.4, read strictly: what promtool would say no to is an AssertionError."""
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)\Z")
TYPES = ("counter", "gauge", "histogram")


class Family:
    def __init__(self, name, text):
        self.name, self.help, self.type, self.samples = name, text, None, {}

    def of(self, suffix="", **labels):
        """The one sample with these labels (among others)."""
        found = [v for (name, have), v in self.samples.items()
                 if name == self.name + suffix and labels.items() <= dict(have).items()]
        assert len(found) == 1, f"{self.name}{suffix} {labels}: {len(found)} samples"
        return found[0]


def labels_of(text, line):
    pairs, at = [], 0
    while at < len(text):
        m = LABEL.match(text, at)
        assert m, f"labels of {line!r}"
        pairs.append((m[1], m[2]))
        at = m.end()
    assert len({k for k, _ in pairs}) == len(pairs), f"a label twice: {line!r}"
    return tuple(sorted(pairs))


def sample_of(family, line):
    m = SAMPLE.match(line)
    assert m, f"no sample: {line!r}"
    suffix = m[1][len(family.name):] if m[1].startswith(family.name) else None
    allowed = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("",)
    assert suffix in allowed, f"{line!r} under {family.name} ({family.type})"
    key = (m[1], labels_of(m[2] or "", line))
    assert key not in family.samples, f"twice: {line!r}"
    family.samples[key] = float(m[3])


def check_histogram(f):
    rows = {}
    for (name, labels), value in f.samples.items():
        own = tuple(p for p in labels if p[0] != "le")
        row = rows.setdefault(own, {"buckets": []})
        if name.endswith("_bucket"):
            row["buckets"].append((float(dict(labels)["le"].replace("+Inf", "inf")), value))
        else:
            row[name[len(f.name):]] = value
    for own, row in rows.items():
        limits = [le for le, _ in row["buckets"]]
        counts = [n for _, n in row["buckets"]]
        assert limits == sorted(set(limits)) and limits[-1] == float("inf"), f"{f.name}{own}: {limits}"
        assert counts == sorted(counts), f"{f.name}{own}: not cumulative"
        assert row["_count"] == counts[-1] and row["_sum"] >= 0, f"{f.name}{own}: {row}"


def check_family(f):
    assert f.type in TYPES, f"{f.name}: no TYPE"
    assert (f.type == "counter") == f.name.endswith("_total"), f"{f.name} is a {f.type}"
    assert f.help and not re.search(r"_(ms|us|millis|micro|kb|mb|percent)(_|$)", f.name), f"{f.name}: base units"
    assert f.type != "histogram" or f.name.endswith(("_seconds", "_bytes")), f.name
    assert f.type != "counter" or all(v >= 0 for v in f.samples.values()), f.name
    if f.type == "histogram":
        check_histogram(f)


def parse(text):
    """-> families by name."""
    assert text.endswith("\n") and "\r" not in text
    families, f = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            assert NAME.match(name) and name not in families, f"HELP twice or bad: {line!r}"
            assert not re.search(r"\\(?![\\n])", words), f"help of {name} has a bad escape"
            f = families[name] = Family(name, words)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert f is not None and name == f.name and f.type is None and not f.samples, line
            f.type = kind
        else:
            assert f is not None and f.type, f"before its TYPE: {line!r}"
            sample_of(f, line)
    for f in families.values():
        check_family(f)
    return families
