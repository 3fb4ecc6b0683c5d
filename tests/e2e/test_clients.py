#!/usr/bin/env python3
"""What a program under a key of kind client may read: where its document names projects, nothing of others, whichever frame or
question it asks by. It speaks the wire itself. Also the notifier and a broker, which may not ask at all. TAP."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Site, main, test, until  # noqa: E402
from keeper_client import field, fixed, read  # noqa: E402
from peer import BROKER, CLIENT, Gone, Peer, code_of, text  # noqa: E402

DAY = "2026-01-01T00:00:00Z"
FLOW = ("workflow: w\nproject: %s\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-02\n"
        "defaults: {type: shell, cycle: day}\ntasks: {t: {params: {script: 'echo said by %s'}}%s}\n")
NOT_FOUND, FORBIDDEN = -5, -15


class Program(Peer):
    def __init__(self, s, name):
        self.number = 0
        until("its key is read", lambda: self.opens(s, name))
        assert self.hello(CLIENT)[0] == "welcome"

    def opens(self, s, name):
        try:
            super().__init__(s, name)
        except (Gone, OSError):
            return False
        return True

    def ask(self, frame, what, **args):
        """-> code, all that it was answered, as text."""
        self.number += 1
        body = field(1, self.number) + field(2, what) + field(3, json.dumps(args))
        if frame == "command":
            body = field(1, self.number) + field(2, os.urandom(8).hex()) + field(4, what) + field(5, json.dumps(args)) + field(6, True)
        self.send(frame, body)
        m = self.wait("answer", lambda m: m[1][0] == self.number)
        return code_of(m, 2), text(m, 3) + text(m, 4)

    def query(self, what, **args):
        return self.ask("query", what, **args)

    def log(self, task, run_date, follow=False):
        """-> code, text, data."""
        self.number += 1
        body = field(1, self.number) + field(2, field(1, task) + field(2, run_date)) + field(5, 3) + field(8, follow)
        self.send("log_read", body)
        m = self.wait("log_data", lambda m: m[1][0] == self.number)
        return code_of(m, 2), text(m, 3), m.get(5, [b""])[0]

    def events(self, fits):
        """(task, run date) of the events until one fits."""
        seen = []

        def more(m):
            seen.extend((e[3][0], e.get(4, [0])[0]) for e in map(read, m.get(1, [])))
            return any(fits(*one) for one in seen)
        self.wait("events", more, 60)
        return seen


def opened(s, name):
    """A session under that key, once the server has read it."""
    def look():
        try:
            return Peer(s, name)
        except (Gone, OSError):
            return None
    return until("its key is read", look)


def ids(s, *projects):
    """Task and run date of each project's one instance, which is over."""
    found = {}
    for p in projects:
        i = s.wait_state(f"{p}/w/t", DAY, {"Succ", "StopSchedule"}, 60)
        found[p] = tuple(int(n) for n in i["id"].split("."))
    return found


def prepare(s):
    for p in ("zulu", "retail"):
        s.apply(FLOW % (p, p, ", u: {type: shell, params: {script: 'true'}, needs: [zulu/w/t]}" if p == "retail" else ""), p + ".yaml")
        s.command("online", selection={"workflow": f"{p}/w"}, **{"from": "2026-01-01"})
    s.add_key("narrow", "client")
    s.sirdar("peer", "set", "narrow", "--kind", "client", "--project", "retail")
    s.add_key("wide", "client")
    s.keys = ids(s, "retail", "zulu")


def id_of(key):
    return f"{key[0]}.{key[1]}"


# How each question is asked about a project; what no peer that keeps to some may ask is None.
ABOUT = {
    "server": lambda s, p: {}, "health": lambda s, p: {}, "types": lambda s, p: {}, "quotas": lambda s, p: {},
    "why": lambda s, p: {"instance": {"task": f"{p}/w/t", "run_date": "2026-01-01"}},
    "instance": lambda s, p: {"instance": {"id": id_of(s.keys[p])}},
    "causes": lambda s, p: {"workflow": f"{p}/w"},
    "progress": lambda s, p: {"ids": id_of(s.keys[p])},
    "command": lambda s, p: {"command": "1"},
    **dict.fromkeys(("metrics", "brokers", "queues", "pools", "forecast", "baselines", "nodes", "logs", "channels", "rules", "channel-test",
                     "push", "push-check", "push-test", "peers", "exposed", "projects"))}


@test
def every_question_that_there_is_tells_a_client_of_its_projects_nothing_of_another(s):
    prepare(s)
    rows = re.findall(r'^QUERY\(\w+,\s*"([\w-]+)"', (ROOT / "schema/tbl/query.def").read_text(), re.M)
    assert set(rows) == set(ABOUT), set(rows) ^ set(ABOUT)
    with Program(s, "narrow") as narrow, Program(s, "wide") as wide:
        for kind in rows:
            if ABOUT[kind] is None:
                for args in ({}, {"name": "zulu/w"}, {"workflow": "zulu/w"}):
                    code, said = narrow.query(kind, **args)
                    assert code == FORBIDDEN and "zulu" not in said, (kind, args, code, said)
                continue
            code, said = narrow.query(kind, **ABOUT[kind](s, "zulu"))
            assert "zulu" not in said and "said by" not in said, (kind, code, said)
            code, said = narrow.query(kind, **ABOUT[kind](s, "retail"))
            assert code == (NOT_FOUND if kind == "command" else 0), (kind, code, said)
        assert "zulu/w/t" in wide.query("instance", **ABOUT["instance"](s, "zulu"))[1]
        assert narrow.query("channel-test")[0] == wide.query("channel-test")[0] == wide.query("push")[0] == FORBIDDEN


@test
def what_is_anothers_is_answered_as_what_never_was(s):
    with Program(s, "narrow") as narrow:
        never = narrow.query("instance", instance={"task": "nope/w/t", "run_date": "2026-01-01"})
        assert never[0] == NOT_FOUND, never
        for named in ({"id": id_of(s.keys["zulu"])}, {"id": "4711.1772323200"}, {"task": "zulu/w/t", "run_date": "2026-01-01"},
                      {"task": "zulu/w/t", "run_date": "no date"}, {"task": "zulu/w/tt", "run_date": "2026-01-01"},
                      {"task": "retail/w/tt", "run_date": "2026-01-01"}):
            for kind in ("instance", "why"):
                assert narrow.query(kind, instance=named) == never, (kind, named)
        gone = narrow.query("causes", workflow="nope/w")
        assert narrow.query("causes", workflow="zulu/w") == gone and '"members":0' in gone[1], gone
        assert narrow.query("progress", ids=id_of(s.keys["zulu"])) == narrow.query("progress", ids="4711.1772323200")
        none = narrow.log(4711, s.keys["zulu"][1])
        assert none[0] == NOT_FOUND
        for follow in (False, True):
            assert narrow.log(*s.keys["zulu"], follow=follow) == none, follow
        assert b"said by retail" in narrow.log(*s.keys["retail"])[2]


@test
def why_and_causes_name_no_parent_of_another_project(s):
    s.wait_state("retail/w/u", "2026-01-02T00:00:00Z", {"Succ"}, 60)
    s.command("freeze", selection={"tasks": ["zulu/w/t"]})
    for task in ("zulu/w/t", "retail/w/u"):
        s.command_over(s.command("redo", selection={"tasks": [task], "dates": ["2026-01-02"]}))
    named = {"task": "retail/w/u", "run_date": "2026-01-02"}
    with Program(s, "narrow") as narrow, Program(s, "wide") as wide:
        until("it waits for its parent", lambda: "zulu/w/t" in wide.query("why", instance=named)[1])
        code, said = narrow.query("why", instance=named)
        assert code == 0 and "another project" in said and "zulu" not in said, said
        assert '"waits_for":[]' in said, said
        assert "zulu/w/t" in wide.query("causes", workflow="retail/w")[1]
        code, said = narrow.query("causes", workflow="retail/w")
        assert code == 0 and "zulu" not in said, said
    s.command("unfreeze", selection={"tasks": ["zulu/w/t"]})


@test
def events_reach_a_client_of_its_own_projects_only_and_no_news_of_commands(s):
    with Program(s, "narrow") as narrow, Program(s, "wide") as wide:
        for p in (narrow, wide):
            p.send("subscribe", field(1, 0))
            p.send("ping", fixed(1, 1))
            p.wait("pong")
        for project in ("zulu", "retail"):
            s.command("redo", selection={"tasks": [f"{project}/w/t"], "dates": [DAY]})
            s.wait_state(f"{project}/w/t", DAY, {"Succ"}, 60)
        mine = s.keys["retail"]
        assert {task for task, _ in wide.events(lambda task, _: task == mine[0])} >= {s.keys["zulu"][0]}
        assert s.keys["zulu"][0] not in {task for task, _ in narrow.events(lambda task, _: task == mine[0])}
        assert not [m for what, m in narrow.news if what == "events" and 3 in m]


@test
def a_command_that_is_only_tried_tells_a_client_nothing_of_others_either(s):
    with Program(s, "narrow") as narrow:
        asked = {"within": ["retail"], "dates": ["2026-01-01"]}

        def tried(**selection):
            return narrow.ask("command", "redo", within=["retail"], selection={"dates": asked["dates"], **selection})
        never = tried(tasks=["nope/w/t"])
        assert never[0] == NOT_FOUND, never
        for selection in ({"tasks": ["zulu/w/t"]}, {"tasks": ["zulu/w/tt"]}, {"tasks": ["retail/w/tt"]}, {"workflow": "zulu/w"},
                          {"tasks": ["retail/w/t", "zulu/w/t"]}, {"tasks": ["zulu/w/t"], "dates": ["no date"]}):
            assert tried(**selection) == never, selection
        by_id = narrow.ask("command", "redo", within=["retail"], selection={"instances": [{"id": id_of(s.keys["zulu"])}]})
        assert by_id == never, by_id
        assert tried(tasks=["retail/w/t"])[0] == 0


@test
def a_document_that_narrows_binds_a_session_that_is_open_and_its_follow(s):
    with Program(s, "wide") as wide:
        assert b"said by zulu" in wide.log(*s.keys["zulu"])[2]
        wide.send("subscribe", field(1, 0))
        s.sirdar("peer", "set", "wide", "--kind", "client", "--project", "retail")
        code, said = wide.query("pools")
        assert code == FORBIDDEN and "peer show wide" in said, (code, said)
        assert wide.log(*s.keys["zulu"])[0] == NOT_FOUND
        assert wide.query("instance", instance={"id": id_of(s.keys["zulu"])})[0] == NOT_FOUND


@test
def a_broker_sends_no_frame_of_a_reader_and_the_notifier_asks_what_it_needs(s):
    asks = field(1, 1) + field(2, "server") + field(3, "{}")
    frames = {"query": asks, "subscribe": field(1, 0), "log_read": field(1, 1) + field(2, field(1, 1) + field(2, 1)),
              "command": field(1, 1) + field(2, "r") + field(4, "pool-set") + field(5, "{}"), "alerts": asks, "reply": field(1, 1),
              "told": b"", "sign_in": field(1, 1) + field(2, "{}"), "piece": field(1, 1) + field(2, 4)}
    s.add_key("spare", "broker")
    for frame, body in frames.items():
        with opened(s, "spare") as p:
            assert p.hello(BROKER)[0] == "welcome", frame
            p.send(frame, body)
            p.wait_gone()
    s.add_key("teller", "notifier")
    with Program(s, "teller") as teller:
        for kind, code in (("server", 0), ("health", 0), ("brokers", 0), ("metrics", FORBIDDEN), ("instance", FORBIDDEN),
                           ("peers", FORBIDDEN), ("push", FORBIDDEN)):
            got = teller.query(kind)
            assert got[0] == code, (kind, got)
        teller.send("log_read", frames["log_read"])
        teller.wait_gone()
    for frame in ("sign_in", "alerts", "told", "reply"):
        with Program(s, "narrow") as narrow:
            narrow.send(frame, frames[frame])
            narrow.wait_gone()


if __name__ == "__main__":
    sys.exit(main(lambda: Site().start()))
