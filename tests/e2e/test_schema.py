#!/usr/bin/env python3
"""The JSON Schema of documents against the reader: what `sirdar check` takes validates, and mistakes of shape that it
refuses do not. Documents are those of the examples, of the manual's recipes and of other tests; mistakes those of
test_fields.py, of every key, and some by hand. YAML is read here as editors read it (1.2, core schema). TAP."""
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import packaged

packaged.want("jsonschema", "yaml")
import jsonschema  # noqa: E402
import yaml  # noqa: E402

import recipes  # noqa: E402
import test_fields  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("B", "build/gcc")
SIRDAR = os.environ.get("SIRDAR_BIN") or str(BUILD / "bin" / "sirdar")
KINDS = ["workflow", "pipeline", "library", "target", "calendar", "global", "pool", "project"]
FILES_A_RUN = 100

number = failed = 0


def check(name, bad):
    global number, failed
    number += 1
    failed += bool(bad)
    print(f"{'not ok' if bad else 'ok'} {number} - {name}")
    for line in list(bad)[:40] if bad else []:
        print(f"# {line}")


class Core(yaml.SafeLoader):
    """YAML 1.2: no dates, no yes and no, no sixties."""


Core.yaml_implicit_resolvers = {}
for tag, regex, first in (("null", r"^(~|null|Null|NULL|)$", "~nN\0"), ("bool", r"^(true|True|TRUE|false|False|FALSE)$", "tTfF"),
                          ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
                          ("float", r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$", "-+.0123456789")):
    for letter in list(first) + ([""] if tag == "null" else []):
        Core.yaml_implicit_resolvers.setdefault(letter, []).append((f"tag:yaml.org,2002:{tag}", re.compile(regex)))
Core.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))  # 010 is ten
Core.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


def as_json(value):
    """Keys of maps are texts in JSON."""
    if isinstance(value, dict):
        return {k if isinstance(k, str) else json.dumps(k): as_json(v) for k, v in value.items()}
    return [as_json(v) for v in value] if isinstance(value, list) else value


def documents(text):
    return [as_json(d) for d in yaml.load_all(text, Core) if d is not None]


def sirdar(*args):
    return subprocess.run([SIRDAR, *args], capture_output=True, text=True, timeout=120)


def checked(texts):
    """What `sirdar check` says of each text alone: {its number: [diagnostic]}."""
    with tempfile.TemporaryDirectory() as scratch:
        said = {}
        for i, text in enumerate(texts):
            name = Path(scratch) / f"{i}.yaml"
            name.write_text(text)
            out = sirdar("check", "--json", str(name)).stdout
            said[i] = json.loads(out) if out else [{"code": "unreadable", "message": "no answer", "path": ""}]
        return said


def validator(kind, *options):
    schema = json.loads(sirdar("schema", kind, *options).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def kind_of(doc):
    return next((k for k in KINDS if isinstance(doc, dict) and k in doc), None)


def first_error(schema, doc):
    wrong = jsonschema.exceptions.best_match(schema.iter_errors(doc))
    return wrong and f"{'/'.join(map(str, wrong.absolute_path))}: {wrong.message[:200]}"


def literals(path):
    """Texts of a test that begin as documents do."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match(rf"\s*({'|'.join(KINDS)}): ", node.value):
            yield node.value


def sources():
    for path in sorted(ROOT.glob("docs/examples/*.yaml")) + sorted(ROOT.glob("docs/demo/*.yaml")):
        yield str(path.relative_to(ROOT)), path.read_text()
    for page in sorted(ROOT.glob("docs/book/*/*.md")):
        for recipe in recipes.recipes(page.read_text()):
            for kind, *step in recipe.steps:
                if kind == "file" and step[0].endswith((".yaml", ".yml")):
                    yield f"{page.name} {recipe.place} {step[0]}", step[1]
    for path in sorted(ROOT.glob("tests/e2e/test_*.py")):
        for text in literals(path):
            yield path.name, text


def readable(text):
    """Some pages and tests hold other programs' files, and templates."""
    try:
        docs = documents(text)
    except yaml.YAMLError:
        return None
    return docs if docs and all(kind_of(d) and d[kind_of(d)] is not None for d in docs) else None


def test_taken(any_kind, kinds):
    """What check takes validates, as any document and as its kind."""
    found = [(name, text, readable(text)) for name, text in sources()]
    found = [(name, text, docs) for name, text, docs in found if docs]
    # target servers are read by the command that sends them: `check` leaves them out
    said = checked([text for _, text, _ in found])
    good = [(name, docs) for i, (name, _, docs) in enumerate(found) if not said[i]]
    bad = []
    for name, docs in good:
        for doc in docs:
            for schema in (any_kind, kinds[kind_of(doc)]):
                wrong = first_error(schema, doc)
                if wrong:
                    bad.append(f"{name}, {kind_of(doc)} {doc.get(kind_of(doc))}: {wrong}")
    check(f"{len(good)} files that check takes validate", bad)
    seen = {kind_of(d) for _, docs in good for d in docs}
    check("among them is every kind of document", sorted(set(KINDS) - seen))
    check("and most of those there are", [] if len(good) > 100 else [f"{len(good)} of {len(found)}"])


# What only the reader can tell: bytes, scripts, what a text means, how long a duration is.
MEANT = {"mixed scripts", "two lines", "turned", "meaningless", "unknown name", "cut short", "no number"}
MEANT_ONE = {("name", "too long", "汇" * (test_fields.NAME_MAX // 3 + 1)), ("name", "not allowed", "a\u200bb"), ("title", "empty", " "),
             ("cycle", "out of range", "0 minute"), ("use", "not allowed", "two words/a")}


def only_meant(read, what, value):
    return (what in MEANT or (read, what, str(value)) in MEANT_ONE or (read in ("duration", "expire") and what == "out of range") or
            (read == "needs" and value == ["nobody"]))


def test_fields_refused(any_kind):
    """Each mistake of shape of each key. A good value of the same place must validate, or nothing is shown."""
    bad, n, left = [], 0, 0
    for kind, key, read, want, low, high in test_fields.rows():
        for what, value in test_fields.wrong_values(read, low, high):
            if only_meant(read, what, value):
                left += 1
                continue
            doc, path = test_fields.host(kind, key, value)
            n += 1
            if not first_error(any_kind, as_json(doc)):
                bad.append(f"{kind} {key}, {what} {str(value)[:60]}: it was accepted")
    check(f"{n} mistakes of shape are refused ({left} that only the reader can tell are left out)", bad)


FLOW = "workflow: w\ntasks:\n  a: {type: noop, cycle: day}\n"
MISTAKES = {
    "an unknown key of a workflow": FLOW + "cycle: day\n",
    "an unknown key of a task": "workflow: w\ntasks:\n  a: {type: noop, cycle: day, script: x}\n",
    "a slip of a key": "workflow: w\ntasks:\n  a: {type: noop, cycle: day, conccurency: 2}\n",
    "no tasks": "workflow: w\n",
    "tasks as a list": "workflow: w\ntasks: [{type: noop}]\n",
    "a task without a type": "workflow: w\ntasks:\n  a: {cycle: day}\n",
    "a task without a cycle": "workflow: w\ntasks:\n  a: {type: noop}\n",
    "a task with a type and a use": "workflow: w\ntasks:\n  a: {type: noop, use: l/a, cycle: day}\n",
    "a number as a text": "workflow: w\ntasks:\n  a: {type: noop, cycle: day, priority: '5'}\n",
    "a priority of 11": "workflow: w\ntasks:\n  a: {type: noop, cycle: day, priority: 11}\n",
    "a choice that is none": "workflow: w\ntasks:\n  a: {type: noop, cycle: day, overlap: never}\n",
    "a duration without a unit": "workflow: w\ntasks:\n  a: {type: noop, cycle: day, late_after: 15}\n",
    "units of a duration in rising order": "workflow: w\ntasks:\n  a: {type: noop, cycle: day, late_after: 5m2h}\n",
    "a need without a task": "workflow: w\ntasks:\n  a: {type: noop, cycle: day, needs: [{depend: 1}]}\n",
    "an event that is none": FLOW + "alerts: [{when: [fialed], to: [mail:a@example.org]}]\n",
    "nobody to tell": FLOW + "alerts: [{when: [failed], to: [carrier-pigeon]}]\n",
    "an alert without `to`": FLOW + "alerts: [{when: [failed]}]\n",
    "a promise at 25 o'clock": FLOW + "baselines: [{task: a, committed: '25:00'}]\n",
    "a parameter that the type does not have": "workflow: w\ntasks:\n  a: {type: sql, cycle: day, params: {sql: x, sevrer: y}}\n",
    "a choice of a parameter that is none": "workflow: w\ntasks:\n  a: {type: sql, cycle: day, params: {sql: x, tls: maybe}}\n",
    "a number of a parameter that is none": "workflow: w\ntasks:\n  a: {type: sql, cycle: day, params: {sql: x, port: high}}\n",
    "two of one_of": "workflow: w\ntasks:\n  a: {type: sql, cycle: day, params: {sql: x, statements: [y]}}\n",
    "a list as a text of a parameter": "workflow: w\ntasks:\n  a: {type: sql, cycle: day, params: {sql: x, host: [y]}}\n",
    "a parameter without a value": "workflow: w\ntasks:\n  a: {type: sql, cycle: day, params: {sql: }}\n",
    "a pipeline without steps": "pipeline: p\ncycle: day\n",
    "a pipeline without a cycle": "pipeline: p\nsteps: [{name: a, type: noop}]\n",
    "a step without a name": "pipeline: p\ncycle: day\nsteps: [{type: noop}]\n",
    "a step with a key of tasks": "pipeline: p\ncycle: day\nsteps: [{name: a, type: noop, needs: [b]}]\n",
    "a library's task without a type": "library: l\ntasks: {a: {params: {x: 1}}}\n",
    "a calendar without a week": "calendar: c\nholidays: [2026-01-01]\n",
    "a calendar with weekends and working": "calendar: c\nweekends: [sunday]\nworking: [monday]\n",
    "dates beside holidays": "calendar: c\ndates: [2026-01-01]\nholidays: [2026-01-02]\n",
    "a weekday that is none": "calendar: c\nweekends: [caturday]\n",
    "a date that is none": "calendar: c\nweekends: []\ndates: [tomorrow]\n",
    "an unknown key of a calendar": "calendar: c\nweekends: []\nholiday: []\n",
    "a pool without slots": "pool: p\n",
    "a project that says nothing": "project: p\n",
    "an unknown key of a project": "project: p\nparameters: {}\nowner: me\n",
    "a document of nothing": "tasks: {a: {type: noop, cycle: day}}\n",
}
TARGETS = {"a password": "target: t\npassword: x\n", "an unknown key": "target: t\nhots: x\n", "a port as a text": "target: t\nport: high\n",
           "extra as a list": "target: t\nextra: [x]\n"}


def test_mistakes(any_kind, kinds):
    said = checked(MISTAKES.values())
    bad = [f"{name}: check takes it" for i, name in enumerate(MISTAKES) if not said[i]]
    check(f"{len(MISTAKES)} mistakes by hand are refused by check", bad)
    bad = []
    for name, text in {**MISTAKES, **TARGETS}.items():
        doc = documents(text)[0]
        kind = kind_of(doc) or "workflow"
        bad += [f"{name}, as {what}: it was accepted" for what, schema in (("a document", any_kind), (kind, kinds[kind]))
                if not first_error(schema, doc)]
    check("and by the schema", bad)
    check("the schema says where", [] if "tasks/a/priority" in (first_error(any_kind, documents(MISTAKES["a priority of 11"])[0]) or "")
          else [first_error(any_kind, documents(MISTAKES["a priority of 11"])[0])])


GOOD = ["workflow: w\ndefaults: {type: noop, cycle: day}\ntasks: {a: {}, b: {cron: '0 6 * * *'}}\n",
        "workflow: w\ntasks:\n  a: {type: sql, cycle: day, params: {server: here, sql: x, port: '${port}', log_rows: '$[dd]'}}\nparameters: {port: 3306}\n",
        "workflow: 汇总\nproject: 零售\ntasks:\n  订单: {type: noop, cycle: 15 minute, retry: {delay: 0}, expire_after: end of local day}\n",
        "workflow: w\ndescription: 2026\ntasks:\n  a: {type: soon, state: draft, cycle: day, params: {whatever: {x: [1, null]}}}\n",
        "pipeline: p\ncycle: none\noverlap: true\nsteps: [{name: a, type: noop, timeout: 1h30m, environment: {A: 1}}]\n",
        "calendar: c\nyears: 2026..2027\nweekends: [sat, sunday]\nholidays: {2026: [{name: New Year, on: [01-01..01-03]}]}\n"]


def test_good(any_kind, kinds):
    said = checked(GOOD)
    check("good documents by hand are taken by check", [f"{GOOD[i]}: {said[i]}" for i in said if said[i]])
    check("and validate", [f"{text}: {wrong}" for text in GOOD for wrong in [first_error(any_kind, documents(text)[0])] if wrong])


def test_command():
    listed = sirdar("schema")
    check("`sirdar schema` lists the kinds", [] if set(listed.stdout.split()) == {"document", *KINDS} else [listed.stdout])
    wrong = sirdar("schema", "workfow")
    check("an unknown kind is refused with the one that is meant",
          [] if wrong.returncode == 4 and "workflow" in wrong.stderr and not wrong.stdout else [wrong])
    rows = list(test_fields.rows())
    schema = json.loads(sirdar("schema", "document").stdout)
    texts = json.dumps(schema["$defs"], ensure_ascii=False)
    bad = [f"{kind} {key}" for kind, key, *_ in rows
           if not any(key in d.get("properties", {}) and (d["properties"][key] or {}).get("description") for name, d in schema["$defs"].items() if name != "document")]
    check(f"all {len(rows)} keys of the table are described", bad)
    check("without types no params are judged", [] if "params-" in texts and "params-" not in sirdar("schema", "document", "-T", "").stdout else [1])


def main():
    any_kind = validator("document")
    kinds = {k: validator(k) for k in KINDS}
    test_taken(any_kind, kinds)
    test_fields_refused(any_kind)
    test_mistakes(any_kind, kinds)
    test_good(any_kind, kinds)
    test_command()
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
