#!/usr/bin/env python3
"""How answers are shown: --output table, wide, json, yaml and name of every verb that lists or shows, and colours of
states on terminals. TAP."""
import json
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packaged  # noqa: E402

packaged.want("yaml")
import yaml  # noqa: E402
from harness import BIN, Site, main, test  # noqa: E402
from terminal import on_terminal  # noqa: E402

TEXT = """workflow: shop
project: out
start_date: 2026-03-01
end_date: 2026-03-02
defaults: {type: shell, cycle: day}
tasks:
  good: {params: {script: "true"}}
  bad: {params: {script: "exit 3"}}
---
calendar: holidays
weekends: [sunday]
---
pool: slots
slots: 2
"""
# Verbs that list or show, and what of the site they are asked for.
SHOWN = (("status",), ("stats",), ("baselines",), ("workflow", "list"), ("task", "list"), ("task", "show", "out/shop/bad"),
         ("run", "list"), ("run", "list", "--all"), ("run", "show", "out/shop/bad", "2026-03-01"),
         ("run", "history", "out/shop/bad", "2026-03-01"), ("why", "out/shop/bad", "2026-03-01"), ("failures",),
         ("alert", "list"), ("silence", "list"), ("calendar", "list"), ("calendar", "show", "holidays"), ("command", "list"),
         ("broker", "list"), ("type", "list"), ("type", "show", "shell"), ("pool", "list"), ("param", "list"), ("project", "list"),
         ("user", "list"), ("group", "list"), ("app", "list"), ("token", "list"), ("session", "list"), ("peer", "list"),
         ("plugin", "list"), ("target", "list"), ("channel", "list"), ("rule", "list"), ("oncall", "list"), ("server", "status"))
CHANGES = re.compile(r"^(\d{4}-.*Z|\d+|\d+\.\d+)$")  # times, figures
COLOUR = re.compile(r"\x1b\[[0-9;]+m")


class Texts(yaml.SafeLoader):
    """What JSON has: no dates."""


Texts.yaml_implicit_resolvers = {k: [(t, r) for t, r in v if not t.endswith(("timestamp", "float"))]
                                 for k, v in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def shape(value):
    """The same but for what goes on while one looks."""
    if isinstance(value, dict):
        return {str(k): shape(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape(v) for v in value]
    return "#" if CHANGES.match(str(value)) else value


@test
def yaml_says_what_json_says_for_every_verb_that_lists_or_shows(s):
    for words in SHOWN:
        said = json.loads(s.sirdar(*words, "--output", "json").stdout)
        assert shape(said) == shape(json.loads(s.sirdar(*words, "--json").stdout)), words
        text = s.sirdar(*words, "--output", "yaml").stdout
        assert shape(yaml.load(text, Texts)) == shape(said), (words, text[:500])
        assert not text.startswith(("[{", "{")), (words, text[:100])


@test
def names_are_what_other_verbs_take_back(s):
    for words, again in ((("run", "list", "--all"), ("why",)), (("run", "show", "out/shop/bad", "2026-03-01"), ("why",)),
                         (("task", "list"), ("task", "show")), (("workflow", "list"), ("export",)), (("broker", "list"), ("broker", "drain")),
                         (("calendar", "list"), ("calendar", "show")), (("command", "list"), ("command", "show")),
                         (("type", "list"), ("type", "show")), (("failures",), ("failures",)), (("pool", "list"), ("pool", "remove"))):
        names = s.sirdar(*words, "--output", "name").stdout.splitlines()
        assert names, words
        for name in names[:5]:
            assert name == name.strip() and s.sirdar(*again, name).returncode == 0, (words, again, name)
    s.sirdar("broker", "undrain", "b1")
    assert len(s.sirdar("run", "list", "--all", "--output", "name").stdout.splitlines()) == 4
    none = s.sirdar("run", "list", "--state", "hanged", "--output", "name")
    assert none.stdout == "", none


@test
def wide_has_more_columns_and_table_is_what_there_was(s):
    plain, table, wide = (s.sirdar("run", "list", *more).stdout for more in ((), ("--output", "table"), ("--output", "wide")))
    assert plain == table and "Priority" not in plain, (plain, table)
    assert wide.splitlines()[0].startswith(plain.splitlines()[0].rstrip()) and "Priority" in wide and "Generation" in wide, wide
    assert len(wide.splitlines()) == len(plain.splitlines()) == 5, wide


@test
def a_word_that_is_none_is_wrong_use(s):
    for words, why in ((("run", "list", "--output", "xml"), "want table, wide, json, yaml or name"),
                       (("run", "list", "--color", "blue"), "want auto, always or never")):
        done = s.sirdar(*words, expect=2)
        assert why in done.stderr and done.stdout == "", done


@test
def states_have_colours_on_terminals_alone_unless_one_says_otherwise(s):
    env = {k: v for k, v in {**s.env, "SIRDAR_TOKEN_FILE": str(s.dir / "token"), "TERM": "xterm"}.items() if k != "NO_COLOR"}

    def seen(*more, **also):
        return on_terminal([BIN / "sirdar", "run", "list", *more], {**env, **also}, s.dir)
    shown = seen()
    assert "\x1b[31mfailed\x1b[0m" in shown.text and "\x1b[32msucceeded\x1b[0m" in shown.text, shown.raw
    assert not shown.obeyed(colours=True), shown.raw
    plain = s.sirdar("run", "list").stdout
    assert COLOUR.sub("", shown.text).replace("\r", "") == plain, (shown.text, plain)
    for done in (seen("--color", "never"), seen(NO_COLOR="1"), seen(TERM="dumb"), seen("--output", "json"), seen("--output", "name")):
        assert not COLOUR.search(done.text), done.raw
    assert COLOUR.search(seen("--color", "always", NO_COLOR="1").text)
    assert COLOUR.search(s.sirdar("run", "list", "--color", "always").stdout) and not COLOUR.search(plain)


@test
def one_run_has_its_state_in_colour_too(s):
    env = {k: v for k, v in {**s.env, "SIRDAR_TOKEN_FILE": str(s.dir / "token"), "TERM": "xterm"}.items() if k != "NO_COLOR"}
    for words, state in ((("run", "show", "out/shop/bad", "2026-03-01"), "state +\x1b\\[0m\x1b\\[31mfailed"),
                         (("why", "out/shop/bad", "2026-03-01"), "\x1b\\[31mfailed"), (("why", "out/shop/good", "2026-03-01"), "\x1b\\[32msucceeded")):
        shown = on_terminal([BIN / "sirdar", *words], env, s.dir)
        plain = s.sirdar(*words).stdout
        assert re.search(state, shown.text) and not shown.obeyed(colours=True), shown.raw
        assert COLOUR.sub("", shown.text).replace("\r", "") == plain and not COLOUR.search(plain), (shown.text, plain)


@test
def wide_has_more_of_every_list_that_has_more_to_say(s):
    for words in (("task", "list"), ("workflow", "list"), ("run", "history", "out/shop/bad", "2026-03-01"), ("failures",), ("calendar", "list"),
                  ("command", "list"), ("broker", "list"), ("user", "list"), ("group", "list"), ("channel", "list"), ("rule", "list"), ("oncall", "list")):
        plain, wide = (s.sirdar(*words, *more).stdout.splitlines()[0].rstrip() for more in ((), ("--output", "wide")))
        # A column is as wide as what stands in it: the titles alone are compared.
        assert re.sub(" +", " ", wide).startswith(re.sub(" +", " ", plain) + " "), (words, plain, wide)


@test
def the_shells_offer_the_words(s):
    for option, words in (("--output", ["json", "name", "table", "wide", "yaml"]), ("--color", ["always", "auto", "never"])):
        out = s.sirdar("__complete", "zsh", "run", "list", option, "").stdout
        assert sorted(line.split("\t")[0].strip() for line in out.splitlines()) == words, (option, out)


def make_site():
    s = Site("output").start()
    (Path(s.dir) / "shop.yaml").write_text(TEXT)
    s.sirdar("apply", "--yes", "shop.yaml")
    for task in ("good", "bad"):
        s.sirdar("backfill", f"out/shop/{task}", "--from", "2026-03-01", "--to", "2026-03-02", "--yes")
    s.wait_all_over(n=4)
    return s


if __name__ == "__main__":
    sys.exit(main(make_site))
