#!/usr/bin/env python3
"""Every key of every document, with every kind of wrong value: the error stands in its place, says
what was found and what is allowed. The keys come from lib/sched/workflow_keys.def. TAP."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("B", "build/gcc")
SIRDAR = os.environ.get("SIRDAR_BIN") or str(BUILD / "bin" / "sirdar")
NAME_MAX = 64
DAY_US = 86400000000
FILES_A_RUN = 100

ROW = re.compile(r'^([A-Z]+)_KEY\("(\w+)", [\w.]+, (\w+), "((?:[^"\\]|\\.)*)", ([^,]+), ([^,]+), "[^"]+"\)$')


def value_of(text):
    text = text.replace("WORKFLOW_NAME_MAX", "64").replace("WORKFLOW_NEEDS_MAX", "100000").replace("ONE_DAY", str(DAY_US)).replace("EXPR_BYTES_MAX", "500").replace("WORKFLOW_TITLE_MAX", "200").replace("WORKFLOW_TESTS_MAX", "999")
    return eval(text, {"__builtins__": {}})  # numbers and products of the table


def rows():
    for line in (ROOT / "lib/sched/workflow_keys.def").read_text().splitlines():
        m = ROW.match(line)
        if m:
            kind, key, read, want, low, high = m.groups()
            yield kind, key, read, want, value_of(low), value_of(high)


def host(kind, key, value):
    """A good document with one value in it, and the path of that."""
    task = {"type": "noop", "cycle": "day"}
    flow = {"workflow": "w", "tasks": {"a": task, "b": {"type": "noop", "cycle": "day"}}}
    pipe = {"pipeline": "p", "cycle": "day", "steps": [{"name": "s", "type": "noop"}]}
    inner = {"NEED": ("needs", [{"task": "b"}]), "RETRY": ("retry", {}), "CATCHUP": ("catchup", {}),
             "DISPATCH": ("dispatch", {})}
    if kind == "WORKFLOW":
        flow[key] = value
        return flow, key
    if kind == "TASK":
        task[key] = value
        if key == "cron":
            del task["cycle"]
        return flow, f"tasks.a.{key}"
    if kind in inner:
        name, there = inner[kind]
        task[name] = there
        (there[0] if kind == "NEED" else there)[key] = value
        return flow, f"tasks.a.{name}{'[0]' if kind == 'NEED' else ''}.{key}"
    if kind == "QUOTA":
        flow["quota"] = {key: value}
        return flow, f"quota.{key}"
    if kind == "ALERT":
        flow["alerts"] = [{"when": ["failed"], "to": ["mail:me@example.org"], key: value}]
        return flow, f"alerts[0].{key}"
    if kind == "BASELINE":
        flow["baselines"] = [{"task": "a", "committed": "08:00", key: value}]
        return flow, f"baselines[0].{key}"
    if kind == "SILENCE":
        one = {"until": "2026-03-01T00:00:00Z", "reason": "x", key: value}
        return {"project": "p", "silences": [one]}, f"silences[0].{key}"
    if kind == "PIPELINE":
        pipe[key] = value
        if key == "cron":
            del pipe["cycle"]
        return pipe, key
    if kind == "STEP":
        pipe["steps"][0][key] = value
        return pipe, f"steps[0].{key}"
    if kind == "HOOK":
        pipe["finished"] = {"type": "noop", key: value}
        return pipe, f"finished.{key}"
    if kind == "LIBRARY":
        return {"library": "l", "tasks": {"a": {"type": "noop"}}, key: value}, key
    if kind == "SHARED":
        return {"library": "l", "tasks": {"a": {"type": "noop", key: value}}}, f"tasks.a.{key}"
    if kind == "PROJECT":
        return {"project": "p", "parameters": {}, key: value}, key
    if kind == "POOL":
        return {"pool": "p", "slots": 1, key: value}, key
    if kind == "GLOBAL":
        return {"global": {}, key: value}, key
    raise AssertionError(f"a table this test does not know: {kind}")


SCALARS = [("wrong type", [["x"]]), ("wrong type", {"x": 1}), ("empty", None)]
NOT_LISTS = [("wrong type", "word"), ("wrong type", {"x": 1}), ("empty", None)]
NOT_MAPS = [("wrong type", "word"), ("wrong type", ["x"]), ("empty", None)]


def wrong_values(read, low, high):
    if read == "name":
        return SCALARS + [("empty", ""), ("not allowed", "two words"), ("too long", "x" * (NAME_MAX + 1)),
                          ("too long", "汇" * (NAME_MAX // 3 + 1)), ("mixed scripts", "pаy"), ("not allowed", "a\u200bb")]
    if read == "word":
        return SCALARS + [("empty", ""), ("not allowed", "two words"), ("too long", "x" * (NAME_MAX + 1)), ("not ASCII", "汇总")]
    if read == "text":
        return SCALARS + ([("empty", "")] if low > 0 else []) + [("too long", "x" * (high + 1))]
    if read == "title":
        return SCALARS + [("empty", ""), ("empty", " "), ("two lines", "a\nb"), ("turned", "a\u202eb"), ("too long", "x" * (high + 1))]
    if read in ("choice", "shift", "overlap"):
        return SCALARS + [("unknown choice", "nonsense"), ("empty", ""), ("wrong type", 7)]
    if read == "truth":
        return SCALARS + [("unknown choice", "maybe"), ("wrong type", 1)]
    if read == "int32":
        return SCALARS + [("wrong type", "many"), ("out of range", low - 1), ("out of range", high + 1),
                          ("wrong type", 1.5), ("empty", ""), ("out of range", 10 ** 30)]
    if read in ("duration", "expire"):
        return SCALARS + [("wrong type", "soon"), ("out of range", "9999999w"), ("out of range", f"{high // 1000 + 1}ms"),
                          ("empty", ""), ("wrong type", -5)] + ([("out of range", "0")] if low > 0 else [])
    if read == "clock":
        return SCALARS + [("out of range", "24:00"), ("out of range", "08:60"), ("wrong type", "8"), ("empty", "")]
    if read == "cycle":
        return SCALARS + [("unknown choice", "fortnight"), ("out of range", "0 minute"), ("out of range", "999999 day"),
                          ("empty", "")]
    if read == "params":
        return NOT_MAPS + [("not allowed", {"two words": 1}), ("empty", {"x": None}),
                           ("too long", {f"k{i}": 1 for i in range(1001)}), ("too long", {"x" * 65: 1})]
    if read == "pools":
        return NOT_MAPS + [("out of range", {"p": 0}), ("wrong type", {"p": "all"}), ("out of range", {"p": high + 1}),
                           ("not allowed", {"two words": 1})]
    if read in ("events", "recipients"):
        return wrong_values("names", low, high) + [("unknown choice", ["nonsense"])]
    if read in ("names", "texts"):
        return NOT_LISTS + ([("empty", [])] if low > 0 else []) + [("wrong type", [["x"]]), ("empty", [None]),
                                                                  ("too long", ["x"] * (high + 1)),
                                                                  ("too long", ["x" * 501])]
    if read == "needs":
        return NOT_LISTS + [("wrong type", [["b"]]), ("empty", [None]), ("empty", [""]), ("too long", ["b"] * (high + 1)),
                            ("not allowed", ["a/b/c/d"]), ("not allowed", ["nobody"])]
    if read == "join":
        return SCALARS + [("unknown choice", "some"), ("out of range", 0), ("out of range", high + 1), ("empty", "")]
    if read == "depend":
        return SCALARS + [("out of range", 0), ("out of range", 4), ("wrong type", "two"), ("empty", "")]
    if read == "strategy":
        return SCALARS + [("unknown choice", "most"), ("out of range", "first 0"), ("wrong type", "last many"), ("empty", "")]
    if read == "dispatch":
        return [v for v in SCALARS if not isinstance(v[1], dict)] + [
            ("unknown choice", "nonsense"), ("empty", ""), ("wrong type", 7), ("unknown key", {"nonsense": 1})]
    if read == "least":
        return SCALARS + [("empty", ""), ("unknown name", "nonsense / slots"), ("cut short", "running /"), ("too long", "1" * (high + 1)),
                          ("no number", "cpu < 0.5")]
    if read in ("retry", "catchup", "quota"):
        return NOT_MAPS + [("unknown key", {"nonsense": 1})]
    if read in ("alerts", "baselines", "silences"):
        return NOT_LISTS + [("wrong type", ["x"]), ("too long", [{}] * (high + 1)), ("missing", [{}])]
    if read == "use":
        return SCALARS + [("empty", ""), ("not allowed", "task"), ("not allowed", "a/b/c/d"), ("not allowed", "two words/a")]
    if read == "used":
        return NOT_LISTS
    if read in ("defaults", "tasks", "shared_tasks", "steps", "hook"):
        return SCALARS[2:] + [("wrong type", "word")]
    raise AssertionError(f"a reader this test does not know: {read}")


def found_words(value):
    """How the message may say what it found."""
    if isinstance(value, list) and {} in value:
        return ["says", "a list"]
    if value is None:
        return ["nothing", "empty", "no value"]
    if isinstance(value, list):
        return ["a list", "items", "'", "needs", "list of"] + found_words(value[0] if value else None)
    if isinstance(value, dict):
        return ["a map", "names", "'", "key"] + (found_words(next(iter(value.values()))) if value else ["empty"])
    return [f"'{str(value)[:40]}", f'"{str(value)[:40]}', str(value)] if str(value) else ["''"]


def run(files):
    p = subprocess.run([SIRDAR, "check", "-T", "", "--json", *files], capture_output=True, text=True, timeout=120)
    return json.loads(p.stdout) if p.stdout else [{"file": "?", "path": "", "message": p.stderr, "code": "", "line": 0, "column": 0}]


def judge(case, said):
    """None, or what is wrong with what was said."""
    kind, key, what, value, path = case
    mine = [d for d in said if d["path"] == path or d["path"].startswith((path + ".", path + "["))]
    if not said:
        return "it was accepted"
    if not mine:
        return f"no error stands at {path}: {[(d['path'], d['message']) for d in said][:2]}"
    d = mine[0]
    if not (d["line"] and d["column"]):
        return "the error has no place"
    if not any(w in d["message"] for w in found_words(value)):
        return f"does not say what was found: {d['message']}"
    allowed = ("want " in d["message"] or d["hint"] or "letters, digits" in d["message"] or
               d["code"] in ("unknown_task", "missing_key") or "it is " in d["message"] or "such as" in d["message"] or
               "expected" in d["message"])
    return None if allowed else f"does not say what is allowed: {d['message']}"


# What is well-formed and means nothing.
MEANINGLESS = {"timezone": "Mars/Phobos", "start_date": "soon", "end_date": "2026-02-30", "cron": "61 * * * *",
               "offset": "by lunch", "window": "[@dya, @day)", "task": "nobody"}


def cases():
    for kind, key, read, want, low, high in rows():
        for what, value in wrong_values(read, low, high):
            yield kind, key, what, value
        if key in MEANINGLESS:
            yield kind, key, "meaningless", MEANINGLESS[key]


def duplicates(folder):
    """A key that comes twice, in every table."""
    bad = []
    names = []
    for i, (kind, key, read, want, low, high) in enumerate(rows()):
        doc, path = host(kind, key, "MARK")
        text = json.dumps(doc, indent=1).replace('"MARK"', '"x"', 1)
        at = f'"{key}": "x"'
        text = text.replace(at, f'{at}, {at}', 1)
        name = folder / f"twice{i}.yaml"
        name.write_text(text)
        names.append((str(name), kind, key))
    said = {}
    for i in range(0, len(names), FILES_A_RUN):
        for d in run([n for n, _, _ in names[i:i + FILES_A_RUN]]):
            said.setdefault(d["file"], []).append(d)
    for name, kind, key in names:
        if not any("twice" in d["message"] or "second time" in d["message"] or "duplicate" in d["code"]
                   for d in said.get(name, []) if key in d["message"]):
            bad.append(f"{kind} {key} twice: {[d['message'] for d in said.get(name, [])][:2]}")
    return bad


def main():
    bad = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        todo = []
        for i, (kind, key, what, value) in enumerate(cases()):
            doc, path = host(kind, key, value)
            name = folder / f"case{i}.yaml"
            name.write_text(json.dumps(doc))
            todo.append((str(name), (kind, key, what, value, path)))
        said = {}
        for i in range(0, len(todo), FILES_A_RUN):
            for d in run([n for n, _ in todo[i:i + FILES_A_RUN]]):
                said.setdefault(d["file"], []).append(d)
        for name, case in todo:
            # hidden by what is wrong in others, or by another of that name
            if not said.get(name) or case[2] == "meaningless" or any(d["code"] == "duplicate_name" for d in said[name]):
                said[name] = run([name])
            wrong = judge(case, said.get(name, []))
            if wrong:
                bad.append(f"{case[0]} {case[1]}, {case[2]} {str(case[3])[:40]}: {wrong}")
        twice = duplicates(folder)
    print("1..3")
    n = len(todo)
    print(f"{'not ok' if bad else 'ok'} 1 - {n} wrong values are refused in their place, with what was found and what is allowed")
    for line in bad[:60]:
        print("# " + line)
    print(f"{'not ok' if twice else 'ok'} 2 - a key that comes twice is refused by name")
    for line in twice[:20]:
        print("# " + line)
    keys = len(list(rows()))
    table = len(re.findall(r'^[A-Z]+_KEY\("', (ROOT / "lib/sched/workflow_keys.def").read_text(), re.M))
    print(f"{'ok' if keys == table else 'not ok'} 3 - all {table} keys were tried")
    return 1 if bad or twice or keys != table else 0


if __name__ == "__main__":
    sys.exit(main())
