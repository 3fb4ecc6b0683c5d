#!/usr/bin/env python3
"""Secrets that jobs print: in sixteen ways, by a process, a runner and an interpreter; seen nowhere, neither in an answer nor on a
disk. TAP."""
import base64
import json
import os
import secrets
import shutil
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite, alert, came, told, workflow  # noqa: E402
from harness import B, BIN, RUNNERS, main, test, until  # noqa: E402

WORD = "hunter2?>~/é w'\"x"
DAY = "2026-03-01T00:00:00Z"
ODD = "type: odd\nothers: true\nparams:\n  - {name: key, secret: true, help: A secret}\n"
# A guest process of the runner `foreign`: what it prints, what it says, how it fails.
GUEST = """
import json, os
to = os.fdopen(4, "w")
def say(**m): print(json.dumps(m), file=to, flush=True)
for line in os.fdopen(3):
    m = json.loads(line)
    if m["op"] == "hello":
        say(op="hello", protocol=1, concurrency=1)
    elif m["op"] == "ping":
        say(op="pong", n=m["n"])
    elif m["op"] == "run":
        word = m["secrets"]["warehouse"]
        print("printed <" + word + ">", flush=True)
        say(op="log", job=m["job"], stream="err", text="said <" + word[:6])
        say(op="log", job=m["job"], stream="err", text=word[6:] + ">\\n")
        say(op="done", job=m["job"], exit_code=3, text="no way in with " + word)
"""
# Each prints it once, between < and >, as $V.
WAYS = (
    'printf "<%s>" "$V"',
    'printf "<%s>" "$V" >&2',
    'printf "<https://user:%s@host>" "$V"',
    'printf "<%s>" "$(printf %s "$V" | base64 -w0)"',
    'printf "<%s>" "$(printf "u%s" "$V" | base64 -w0)"',
    'printf "<%s>" "$(printf "u:%s" "$V" | base64 -w0)"',
    'printf "<%s>" "$(printf "u:%s" "$V" | base64 -w0 | tr +/ -_)"',
    'printf "<%s>" "$(python3 -c "import sys, urllib.parse as u; print(u.quote(sys.argv[1]))" "$V")"',
    'printf "<%s>" "$(python3 -c "import sys, urllib.parse as u; print(u.quote_plus(sys.argv[1]).lower())" "$V" | tr A-Z a-z)"',
    'printf "<%s>" "$(python3 -c "import sys, json; print(json.dumps(sys.argv[1], ensure_ascii=False))" "$V")"',
    'printf "<%s>" "$(python3 -c "import sys, json; print(json.dumps(sys.argv[1]))" "$V")"',
    'printf "<%s>" "$(python3 -c "import sys, json; print(json.dumps(sys.argv[1]).replace(chr(47), chr(92) + chr(47)))" "$V")"',
    'printf "<%s>" "$(python3 -c "import sys, json; print(json.dumps(sys.argv[1], ensure_ascii=False)'
    '.replace(chr(62), chr(92) + \'u003e\'))" "$V")"',
    'printf "<%s>" "$(python3 -c "import sys; print(repr(sys.argv[1]))" "$V")"',
    'printf "<"; printf "%.4s" "$V"; sleep 0.3; printf "%s>" "$${V#????}"',
    'set -x; : "<$V>"; set +x',
)


def writings():
    """All that may not be seen: made here, by other means."""
    raw = WORD.encode()
    for before in range(3):
        text = base64.b64encode(b"x" * before + raw).decode()
        inner = text[(8 * before + 5) // 6:8 * (before + len(raw)) // 6]
        yield from (inner[:12], inner[-12:], inner.translate(str.maketrans("+/", "-_"))[-12:])
    yield from (WORD, WORD[:9], urllib.parse.quote(WORD), urllib.parse.quote(WORD, "")[:14], urllib.parse.quote_plus(WORD).lower()[:14],
                json.dumps(WORD)[1:-1], json.dumps(WORD).replace("/", "\\/")[1:-1], WORD.replace(">", "\\u003e")[:14], repr(WORD)[1:-1])


def none_in(what, text):
    text = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    for w in writings():
        assert w not in text, f"{what} shows {w}: {text[:2000]}"


def ended(s, task, state="Fail"):
    return s.wait_state(task, DAY, [state, "StopSchedule"], 60)


def log_with(s, i, *words, **args):
    """Its log once all of that is there: it comes after the end is told."""
    return until(f"{words} in the log", lambda: (lambda t: t if all(w in t for w in words) else None)(
        (lambda t: t.decode(errors="replace") if isinstance(t, bytes) else t)(s.log_of(i["id"], **args))))


@test
def what_a_process_prints_shows_no_secret_in_any_way(s):
    script = "V=$(cat $SIRDAR_FILES/warehouse)\n" + "\n".join(f"echo {n}; {way}; echo" for n, way in enumerate(WAYS)) + \
        "\necho \"sirdar:progress 50 at $V\"\necho \"fatal: no way in with $V\" >&2\nexit 3"
    workflow(s, "ways", {"params": {"secrets": "warehouse", "script": script}}, ["webhook:hook"])
    i = ended(s, "al/ways/t")
    out = log_with(s, i, "progress 50 at ******", stream="stdout")
    err = log_with(s, i, "no way in with ******", stream="stderr")
    assert out.count("******") >= 11 and "<******>" in out and "https://user:******@host" in out, out
    assert "<******>" in err, err
    for what, text in (("stdout", out), ("stderr", err),
                       ("a download", s.log_of(i["id"], stream="stdout", download="true")),
                       ("a download", s.log_of(i["id"], stream="stderr", download="true")),
                       ("sirdar logs", s.sirdar("logs", "al/ways/t", "2026-03-01").stdout),
                       ("sirdar logs -e", s.sirdar("logs", "-e", "al/ways/t", "2026-03-01").stdout),
                       ("the instance", json.dumps(s.get(f"/api/v1/instances/{i['id']}"), ensure_ascii=False)),
                       ("its history", json.dumps(s.history(i["id"]), ensure_ascii=False)),
                       ("why", json.dumps(s.get(f"/api/v1/instances/{i['id']}/why"), ensure_ascii=False))):
        none_in(what, text)


@test
def an_output_shows_none(s):
    script = "echo \"sirdar:output told=<$(cat $SIRDAR_FILES/warehouse)>\""
    for name, task in (("says", {"params": {"secrets": "warehouse", "script": script}, "outputs": ["told"]}),
                       ("gives", {"type": "odd", "params": {"do": "give", "key": "warehouse"}, "outputs": ["told"]})):
        workflow(s, name, task, ["webhook:hook"])
        i = ended(s, f"al/{name}/t", "Succ")
        assert s.get(f"/api/v1/instances/{i['id']}")["outputs"] == {"told": "<******>"}


@test
def an_alert_about_it_shows_none(s):
    a = alert(s, "al/ways", lambda a: told(a, "webhook:hook")["state"] == "sent")
    none_in("the alert", json.dumps(a, ensure_ascii=False))
    none_in("the webhook", json.dumps(came(s, "/hook", "al/ways/t"), ensure_ascii=False))


@test
def what_a_runner_says_shows_none(s):
    """In the loader: log in pieces, output, progress, failure."""
    workflow(s, "runner", {"type": "odd", "params": {"do": "tell", "key": "warehouse"}}, ["webhook:hook"])
    i = ended(s, "al/runner/t")
    none_in("stdout", log_with(s, i, "in two <******>", stream="stdout"))
    none_in("stderr", log_with(s, i, "****** and so begins " + WORD[:3], stream="stderr"))
    told_all = json.dumps([s.get(f"/api/v1/instances/{i['id']}"), s.history(i["id"])], ensure_ascii=False)
    none_in("the instance", told_all)
    assert "refused with <******>" in told_all, told_all
    none_in("the webhook", json.dumps(came(s, "/hook", "al/runner/t"), ensure_ascii=False))


@test
def what_an_interpreter_prints_shows_none(s):
    script = "import os\nv = open(os.environ['SIRDAR_FILES'] + '/warehouse').read()\nprint('<' + v + '>', flush=True)\nraise SystemExit(v)"
    workflow(s, "python", {"type": "python", "params": {"secrets": "warehouse", "script": script}}, ["webhook:hook"])
    i = ended(s, "al/python/t")
    none_in("stdout", log_with(s, i, "<******>", stream="stdout"))
    none_in("stderr", log_with(s, i, "******", stream="stderr"))


@test
def what_a_guest_prints_and_says_shows_none(s):
    workflow(s, "guest", {"type": "guest", "params": {"key": "warehouse"}}, ["webhook:hook"])
    i = ended(s, "al/guest/t")
    none_in("stdout", log_with(s, i, "printed <******>", stream="stdout"))
    none_in("stderr", log_with(s, i, "said <******>\n", stream="stderr"))
    told_all = json.dumps(s.history(i["id"]), ensure_ascii=False)
    assert "no way in with ******" in told_all, told_all
    none_in("the instance", told_all)


@test
def other_jobs_are_not_touched(s):
    """The value is hidden where the job was given it, and nowhere else."""
    workflow(s, "other", {"params": {"script": f"printf '%s' {json.dumps('plain ' + WORD[:8])}; exit 3"}}, ["webhook:hook"])
    i = ended(s, "al/other/t")
    assert log_with(s, i, "plain", stream="stdout") == "plain " + WORD[:8]


@test
def nothing_of_it_is_on_a_disk(s):
    seen = 0
    for file in s.dir.rglob("*"):
        if not file.is_file() or file.is_symlink() or file.name in ("word", "secrets.keys") or ".so" in file.suffix:
            continue
        try:
            none_in(file, file.read_bytes())
        except OSError:
            continue
        seen += 1
    assert seen > 10
    # Logs are packed on the disk: what they say is looked at, too.
    listed = s.run([BIN / "sirdar-db", "logs", s.dir / "joblogs"])
    names = [line.split()[1] for line in listed.stdout.splitlines()[1:-1] if not line.endswith("granted")]
    assert listed.returncode == 0 and names, listed.stderr
    for name in names:
        none_in(name, s.run([BIN / "sirdar-db", "log", s.dir / "joblogs", name]).stdout.encode())


class Masked(AlertSite):
    def __init__(self):
        super().__init__("masked")
        shutil.copytree(BIN.parent / "types", self.dir / "types")
        (self.dir / "types/odd.yaml").write_text(ODD)
        keys = self.dir / "secrets.keys"
        keys.touch(0o600)
        keys.write_text(f"one:{secrets.token_hex(32)}\n")
        self.base_sets.update(types_dir=self.dir / "types", secrets_key_file=keys)
        self.base.argv = self.argv("baseserver", self.base_sets)

    def start(self):
        super().start()
        plugins = self.dir / "plugins"
        plugins.mkdir()
        for so in (RUNNERS / "python.so", RUNNERS / "foreign.so", B / "test/plugins/odd.so"):
            shutil.copy(so, plugins)
        for folder in (plugins, self.dir / "types"):
            (folder / "guest.yaml").write_text("type: guest\nothers: true\nrunner: foreign\nguest: {command: [python3, guest.py]}\n"
                                               "params:\n  - {name: key, type: text, secret: true}\n")
        (plugins / "guest.py").write_text(GUEST)
        self.add_broker("b-odd", types=("odd:2", "python:2", "guest:2"), runners_dir=plugins)
        word = self.dir / "word"
        word.touch(0o600)
        word.write_text(WORD + "\n")
        self.sirdar("target", "set", "warehouse", "--host", "h", "--password-file", str(word))
        until("it is listed", lambda: self.get("/api/v1/servers")["servers"])
        return self


if __name__ == "__main__":
    main(lambda: Masked().start())
