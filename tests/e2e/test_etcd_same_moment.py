#!/usr/bin/env python3
"""One key changed in etcd and here in the same moment: both sides are equal soon after, etcd's change is
the one in force, and whoever made the other is told. The rest of etcd: test_etcd.py. TAP.

WAVES=n (default 3, HEAVY=1: 30) of each kind."""
import base64
import http.client
import json
import os
import re
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "etcd")]
import etcd  # noqa: E402
import test_etcd as one  # noqa: E402
from harness import BIN, TESTS, main, test, until  # noqa: E402

TESTS.clear()

WAVES = int(os.environ.get("WAVES") or (30 if os.environ.get("HEAVY") else 3))
KEYS = 8  # of each kind, in a wave
NEVER = "0 0 0 1 1 *"
KINDS = ("pipelines", "jobs")


class WiredSite(one.EtcdSite):
    """The server reaches etcd by a wire that can be cut; the test writes there by itself."""

    def __init__(self):
        super().__init__()
        self.wire = etcd.Wire(self.etcd.port)
        self.base.argv += ["--set", f"etcd={self.wire.url}"]
        self.base.restart()
        until("the server is back", self.up)

    def close(self):
        self.wire.close()
        super().close()


def gateway(s, path, ask):
    link = http.client.HTTPConnection("127.0.0.1", s.etcd.port, timeout=60)
    link.request("POST", "/v3/kv/" + path, json.dumps(ask))
    answer = link.getresponse()
    text = answer.read()
    link.close()
    assert answer.status == 200, (path, answer.status, text)


def coded(text):
    return base64.b64encode(text.encode()).decode()


def value(kind, name, word):
    if kind == "jobs":
        return {"name": name, "command": f"echo {word}", "cronExpr": "0 0 1 1 *"}
    return one.pipeline(name, f"echo {word}", spec=NEVER)


def put_there(s, kind, name, word):
    gateway(s, "put", {"key": coded(f"{one.PREFIX}/{kind}/{name}"), "value": coded(json.dumps(value(kind, name, word)))})


def drop_there(s, kind, name):
    gateway(s, "deleterange", {"key": coded(f"{one.PREFIX}/{kind}/{name}")})


def ask(s, method, path, body, form):
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    link.request(method, path, body, {"Authorization": f"Bearer {s.token}", "Content-Type": form})
    answer = link.getresponse()
    text = answer.read().decode()
    link.close()
    return answer.status, text


def put_here(s, kind, name, word, method="PUT"):
    """-> status: 409 when etcd's was there before"""
    if kind == "jobs":
        one.save(s, name, f"echo {word}", "0 0 1 1 *")
        return 200
    path = "/ects/pipelines" + ("" if method == "POST" else f"/b6e54dc3-{name}")
    status, text = ask(s, method, path, json.dumps(value(kind, name, word)), "application/json")
    assert status in (200, 404, 409), (status, text)
    return status


def drop_here(s, kind, name):
    if kind == "jobs":
        one.cron(s, "/job/delete", {"name": name})
    else:
        status, text = ask(s, "DELETE", f"/ects/pipelines/b6e54dc3-{name}", None, "application/json")
        assert status in (200, 404, 409), (status, text)


def words(texts):
    return {k: sorted(set(re.findall(r"echo (\w+)", t))) for k, t in texts.items()}


def there(s, kind):
    return words({k.rsplit("/", 1)[1]: v for k, v in s.etcd.keys(f"{one.PREFIX}/{kind}/").items()})


def here(s, kind):
    if kind == "jobs":
        return words({n: c for n, c in one.listed(s).items() if n != "task1"})  # of the pipelines
    status, text = ask(s, "GET", "/ects/pipelines", None, "application/json")
    assert status == 200, (status, text)
    return words({p["name"]: json.dumps(p) for p in json.loads(text) if p["status"] == 1 or p["steps"]})


def differing(s, names):
    """-> {(kind, name): (there, here)}"""
    return {(k, n): (a.get(n), b.get(n)) for k in KINDS for a, b in [(there(s, k), here(s, k))]
            for n in names if a.get(n) != b.get(n)}


def settle(s, what, names, old=None):
    """Both sides are equal, and no key says what it did before."""
    def equal():
        return not differing(s, names) and not any(there(s, k).get(n) == [old] for k in KINDS for n in names)
    try:
        until(what, equal, every=0.2)
    except AssertionError as e:
        raise AssertionError(f"{e}; (etcd, here): {differing(s, names)}") from None


def made(s, names):
    """-> [(kind, name)], each on both sides"""
    keys = [(kind, f"{n}{kind[0]}") for kind in KINDS for n in names]
    for kind, n in keys:
        put_here(s, kind, n, "before", "POST")
    until("all are on both sides", lambda: all(there(s, k).get(n) == ["before"] for k, n in keys), every=0.2)
    return keys


def at_once(s, keys, in_etcd, in_here):
    """Each key by two threads, one on each side; the later the key, the later the thread that is here."""
    both = threading.Barrier(2)
    bad = []

    def run(side, late):
        for n, (kind, name) in enumerate(keys):
            both.wait(60)
            time.sleep(late * n * 0.002)  # another order of the two for each: no synchronisation
            try:
                side(kind, name)
            except Exception as e:  # noqa: BLE001
                bad.append(e)
    threads = [threading.Thread(target=run, args=a) for a in ((in_etcd, 0), (in_here, 1))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if bad:
        raise bad[0]


def waves(s, tag, in_etcd, in_here, between=lambda: None):
    for wave in range(WAVES):
        keys = made(s, [f"{tag}{wave}x{n}" for n in range(KEYS)])
        at_once(s, keys, in_etcd, in_here)
        between()
        settle(s, f"{tag} {wave}: both sides are equal", [n for _, n in keys], "before")


@test
def what_two_put_in_the_same_moment_is_the_same_on_both_sides_soon_after(s):
    waves(s, "puts", lambda k, n: put_there(s, k, n, "there"), lambda k, n: put_here(s, k, n, "here"))


@test
def a_key_that_goes_there_while_it_is_put_here_is_the_same_on_both_sides(s):
    waves(s, "goes", lambda k, n: drop_there(s, k, n), lambda k, n: put_here(s, k, n, "here"))


@test
def a_key_that_is_put_there_while_it_goes_here_is_the_same_on_both_sides(s):
    waves(s, "comes", lambda k, n: put_there(s, k, n, "there"), lambda k, n: drop_here(s, k, n))


@test
def a_key_put_and_taken_back_there_while_it_is_put_here_is_the_same_on_both_sides(s):
    def brief(k, n):
        put_there(s, k, n, "there")
        drop_there(s, k, n)
    waves(s, "brief", brief, lambda k, n: put_here(s, k, n, "here"))


@test
def also_when_the_server_dies_right_after(s):
    def dies():
        s.base.restart(hard=True)
        until("the server is back", s.up)
    waves(s, "dies", lambda k, n: put_there(s, k, n, "there"), lambda k, n: put_here(s, k, n, "here"), dies)


def apart(s, do):
    """What is done while the server hears nothing of etcd."""
    mark = len(s.base.text())
    s.wire.cut()
    try:
        until("etcd is away", lambda: s.base.has(r"etcd\.away", mark))
        do()
    finally:
        s.wire.mend()


def versions(s, name):
    return [(v["version"], v["actor"], v["retired"]) for v in s.workflow(name)["versions"]]


def lost(s, name, version):
    """The line that says it, and what is listed."""
    line = re.search(rf"etcd\.lost what=\w+ name={name} version={version} by=\S+ .*", s.base.text())
    return line and "lost" in (s.problem(name) or "") and line.group()


@test
def of_two_changes_made_apart_etcds_is_in_force_and_who_made_the_other_is_told(s):
    names = dict(made(s, ["apart"]))

    def change():
        for kind, name in names.items():
            put_there(s, kind, name, "there")
            put_here(s, kind, name, "here")
            assert "echo here" in s.workflow(name)["document"]
    apart(s, change)
    settle(s, "both sides are equal", names.values(), "before")
    for kind, name in names.items():
        assert there(s, kind)[name] == ["there"], there(s, kind)
        said = until("it is said", lambda name=name: lost(s, name, 2))
        (_, etcds, _), (_, ours, _), _ = versions(s, name)
        assert etcds == "etcd" and f"by={ours} " in said, (versions(s, name), said)
        assert ours in s.problem(name) and "version 2" in s.problem(name), s.problem(name)
        # A change that nobody contests ends it.
        put_here(s, kind, name, "again")
        until("it is written", lambda kind=kind, name=name: there(s, kind)[name] == ["again"])
        until("nothing is wrong any more", lambda name=name: s.problem(name) is None)
        assert s.base.text().count(f"etcd.lost what={kind[:-1]} name={name} ") == 1


@test
def of_a_deletion_and_a_put_made_apart_etcds_is_in_force(s):
    gone_there, gone_here = (n for k, n in made(s, ["gone_there", "gone_here"]) if k == "pipelines")

    def change():
        drop_there(s, "pipelines", gone_there)
        put_here(s, "pipelines", gone_there, "here")
        put_there(s, "pipelines", gone_here, "there")
        drop_here(s, "pipelines", gone_here)
        until("it is retired here", lambda: s.workflow(gone_here)["retired"])
    apart(s, change)
    settle(s, "both sides are equal", [gone_there, gone_here], "before")
    assert s.workflow(gone_there)["retired"] and there(s, "pipelines")[gone_here] == ["there"]
    for name in (gone_there, gone_here):
        until(f"{name} is said", lambda name=name: lost(s, name, 2))


@test
def what_was_changed_on_both_sides_is_settled_by_the_next_server_too(s):
    keys = made(s, ["over"])
    until("both are marked", lambda: f"{one.PREFIX}/bridge/overj" in s.etcd.keys(one.PREFIX + "/bridge/") and
          one.pipeline_marked(s, "overp"))

    def change():
        for kind, name in keys:
            put_there(s, kind, name, "there")
            put_here(s, kind, name, "here")
        s.base.restart(hard=True)
        until("the server is back", s.up)
    apart(s, change)
    settle(s, "both sides are equal", ["overp", "overj"], "before")
    for kind, name in keys:
        assert there(s, kind)[name] == ["there"]
        until("it is said", lambda name=name: lost(s, name, 2))


@test
def a_change_here_over_one_of_etcds_that_was_refused_stands(s):
    """A value that cannot be in force contests nothing."""
    _, (_, name) = made(s, ["stands"])

    def change():
        gateway(s, "put", {"key": coded(f"{one.PREFIX}/jobs/{name}"), "value": coded("{")})
        put_here(s, "jobs", name, "here")
    apart(s, change)
    settle(s, "both sides are equal", [name], "before")
    assert there(s, "jobs")[name] == ["here"] and s.problem(name) is None
    assert f"etcd.lost what=job name={name}" not in s.base.text()


if __name__ == "__main__":
    assert BIN
    sys.exit(main(WiredSite))
