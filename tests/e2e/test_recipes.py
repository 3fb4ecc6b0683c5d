#!/usr/bin/env python3
"""The manual's recipes and its guide for operators, each run as it stands there (recipes.py), in one installation with a
server, a cgi, a notifier with a receiver of mail, and three machines; `systemctl` is the harness's own. TAP."""
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import FAST, AlertSite  # noqa: E402
from harness import BIN, B, ROOT, RUNNERS, TESTS, Daemon, main, test, until  # noqa: E402
from recipes import Session, lacks, recipes  # noqa: E402

TESTS.clear()
BOOK = ROOT / "docs/book/en"
PAGES = ("first", "how-run", "how-plan", "how-fail", "how-code", "how-machines", "how-people", "operate",
         "from-cron", "from-airflow", "from-dolphinscheduler", "from-xxl-job", "from-azkaban")
SETTINGS = {"sirdar-baseserver": "baseserver", "sirdar-cgi": "cgi", "sirdar-notifier": "notifier", "sirdar-taskbroker": "taskbroker"}


class Installation(AlertSite):
    """Settings in /etc/sirdar of the manual are files of `etc` here; etl-1 and etl-2 work, etl-3 is the machine that joins."""

    def __init__(self):
        super().__init__("recipes")
        for folder in ("etc", "backup", "plugins", "etl-3"):
            (self.dir / folder).mkdir(0o700)
        self.base_sets |= {"types_dir": self.types(), "baseline_every_ms": 1000}
        self.base = self.daemon("baseserver", self.base_sets, r"baseserver\.up", "baseserver")
        self.cgi = self.daemon("sirdar-cgi", self.sets_of(self.cgi), r"cgi\.ready", "cgi")
        self.notifier = self.daemon("sirdar-notifier", {**self.sets_of(self.make(**FAST))}, r"notifier\.ready", "notifier")
        self.plugins()
        self.etl_3 = self.daemon("taskbroker", {**self.broker_sets("etl-3", ("shell:8",), groups="etl", runners_dir=self.dir / "plugins"), "key_file": self.dir / "etl-3/own.key"},
                                 r"broker\.keeper_up", "taskbroker")

    @staticmethod
    def sets_of(daemon):
        return dict(word.split("=", 1) for word in daemon.argv if "=" in word)

    def daemon(self, program, sets, ready, name):
        """A daemon that reads its settings from a file, as the packaged ones do."""
        path = self.dir / "etc" / (name + ".yaml")
        path.write_text("".join(f"{k}: {json.dumps(v.split(',') if k == 'types' else str(v))}\n" for k, v in sets.items()))
        path.chmod(0o600)
        return Daemon(self, program if name != "taskbroker" else "etl-3", [BIN / program, "-c", path], ready)

    def types(self):
        folder = self.dir / "types"
        folder.mkdir()
        for manifest in (B / "types").glob("*.yaml"):
            (folder / manifest.name).write_bytes(manifest.read_bytes())
        return folder

    def plugins(self):
        """Where etl-1 has its plugins: those of the build, and what a recipe puts there."""
        for so in RUNNERS.glob("*.so"):
            (self.dir / "plugins" / so.name).symlink_to(so)
        installed = self.dir / "pkgconfig"
        installed.mkdir()
        pc = (ROOT / "packaging/sirdar-sdk.pc.in").read_text().replace("@version@", "1")
        (installed / "sirdar-sdk.pc").write_text(pc.replace("${prefix}/include", str(ROOT / "plugins-sdk/include"))
                                                 .replace("${prefix}/lib/sirdar/runners", str(self.dir / "plugins")))
        self.env["PKG_CONFIG_PATH"] = str(installed)

    def begin(self):
        self.base.start()
        self.start_cgi()
        self.add_broker("etl-1", ("shell:8", "sql:2", "http:2", "python:2", "sensor:2"), groups="etl", runners_dir=self.dir / "plugins")
        self.add_broker("etl-2", ("shell:8",), groups="big")
        self.notifier.start()
        return self.believe()

    # --- what a recipe finds

    def places(self):
        return [("/etc/sirdar", self.dir / "etc"), ("/var/lib/sirdar/baseserver", self.dir / "base"), ("/var/lib/sirdar/joblogs", self.dir / "joblogs"), ("/var/lib/sirdar/taskbroker", self.dir / "etl-3"), ("/var/backups/sirdar", self.dir / "backup"),
                ("/usr/local/lib/sirdar/runners", self.dir / "plugins"), ("/usr/local/share/sirdar/types", self.dir / "types"),
                ("/usr/local/share/sirdar/sdk", ROOT / "plugins-sdk"), ("/usr/local/include", ROOT / "plugins-sdk/include"),
                ("http://127.0.0.1:7480", f"http://127.0.0.1:{self.http}")]

    def units(self):
        return {"sirdar-baseserver": self.base, "sirdar-cgi": self.cgi, "sirdar-notifier": self.notifier, "sirdar-taskbroker": self.etl_3}

    def systemctl(self, verb, *names):
        for name in names:
            unit = self.units()[name]
            if verb in ("stop", "restart"):
                assert unit.stop() == 0, f"{name}: {unit.tail()}"
            if verb in ("start", "restart"):
                unit.start()
            if verb == "reload":
                unit.proc.send_signal(1)
        if "sirdar-cgi" in names and verb != "stop":
            until("the cgi is up", self.up)
        return ""

    def instead(self, command):
        words = shlex.split(command) if command.startswith("systemctl ") else []
        return self.systemctl(*[w for w in words[1:] if not w.startswith("-")]) if words else None

    def session(self, page):
        folder = self.dir / "work-of" / page
        folder.mkdir(parents=True)
        env = dict(self.env, SIRDAR_TOKEN_FILE=str(self.dir / "token"), PATH=f"{BIN}:{os.environ['PATH']}")
        return Session(folder, env, self.places(), self.instead)


def steps(lang, page):
    """What a page of one language has its readers type and save."""
    text = (ROOT / "docs/book" / lang / f"{page}.md").read_text("utf-8")
    return [(r.place, [(kind, *(w if kind == "file" else (w[0].command, w[0].prints))) for kind, *w in r.steps]) for r in recipes(text)]


@test
def both_languages_have_the_same_commands_files_and_answers(_):
    told = 0
    for page in PAGES:
        assert steps("en", page) == steps("zh", page), page
        told += len(steps("en", page))
    assert told >= 45, told


@test
def an_answer_without_a_stated_line_or_in_another_order_is_a_fault(_):
    printed = ["Task   State", "a/b/c  Succ  12 s", "instances: 1: 1 Succ"]
    assert lacks(["a/b/c Succ ...", "instances: 1: 1 Succ"], printed) is None
    assert lacks(["a/b/c Failed ..."], printed) == "a/b/c Failed ..."
    assert lacks(["instances: 1: 1 Succ", "a/b/c Succ ..."], printed) == "a/b/c Succ ..."
    assert lacks(["a/b/c Succ"], printed) == "a/b/c Succ"
    [recipe] = recipes("## <a id=\"x\"></a>X\n\n```yaml f.yaml\na: 1\n```\n\n```console\n$ one \\\n  two\nsaid\n$ three\nCODE\n```\n")
    (_, name, text), (_, one), (_, three) = recipe.steps
    assert (name, text, one.command, one.prints, three.prints) == ("f.yaml", "a: 1\n", "one \\\n  two", ["said"], ["CODE"])


@test
def what_a_recipe_wants_of_others_it_links_to(_):
    """A file, or a workflow, that it neither makes nor is made by one that it links to."""
    faults = []
    for page, recipe in RECIPES.values():
        own = [r for _, r in (RECIPES[p] for p in wanted(recipe))]
        made = {w[0] for r in own for kind, *w in r.steps if kind == "file"}
        foreign = [w for p, (_, r) in RECIPES.items() if p not in wanted(recipe) for w in workflows(r) if w not in {x for r in own for x in workflows(r)}]
        said = "\n".join(w[0].command for r in own for kind, *w in r.steps if kind == "run")
        for kind, *what in recipe.steps:
            for name in foreign if kind == "run" else ():
                if re.search(r"(?<![\w/-])" + re.escape(name) + r"(?![\w-])", what[0].command):
                    faults.append(f"{recipe.place}, line {what[0].line}: {name}")
            for name in re.findall(r"[\w-]+\.(?:yaml|txt)\b", what[0].command) if kind == "run" and "/etc/" not in what[0].command else ():
                if name not in made and not re.search(r"(> ?|-o |>> )\S*" + re.escape(name), said):
                    faults.append(f"{recipe.place}, line {what[0].line}: {name}")
    assert not faults, "of which recipes?\n" + "\n".join(faults)


def workflows(recipe):
    """PROJECT/WORKFLOW of its files."""
    texts = [t for kind, *w in recipe.steps if kind == "file" for t in w[1].split("\n---\n")]
    heads = [dict(re.findall(r"^(workflow|project): (\S+)", t, re.M)) for t in texts]
    return [f"{h['project']}/{h['workflow']}" for h in heads if len(h) == 2]


def wanted(recipe):
    """It, and before it those that it links to, and theirs."""
    found = []
    for place in recipe.after:
        found += [p for p in (wanted(RECIPES[place][1]) if place in RECIPES else ()) if p not in found]
    return [*found, recipe.place]


DONE = {}


def do(s, place):
    """Once in an installation; a folder has the files of a recipe and of those that it links to."""
    page, recipe = RECIPES[place]
    before = wanted(recipe)[:-1]
    for p in before:
        if p not in DONE:
            do(s, p)
    DONE[place] = session = s.session(place)
    for p in before:
        shutil.copytree(DONE[p].folder, session.folder, dirs_exist_ok=True)
        session.said |= DONE[p].said
    for kind, *what in recipe.steps:
        if kind == "file":
            session.write(*what)
        else:
            session.take(what[0])


def as_it_stands(page, recipe):
    def run(s):
        if recipe.place not in DONE:
            do(s, recipe.place)
    run.__name__ = f"{page}: {recipe.place}"
    return run


RECIPES = {r.place: (page, r) for page in PAGES for r in recipes(Path(BOOK / f"{page}.md").read_text("utf-8"))}
TESTS.extend(as_it_stands(page, r) for page, r in RECIPES.values())

if __name__ == "__main__":
    sys.exit(main(lambda: Installation().begin()))
