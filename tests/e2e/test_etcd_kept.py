#!/usr/bin/env python3
"""What etcd may not take away: ids of pipelines, and what came after a backup that it is put back to. TAP."""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TESTS, main, test, until  # noqa: E402
from test_etcd import PREFIX, EtcdSite, ects, ects_says, pipeline, pipeline_key, put_pipeline  # noqa: E402

TESTS.clear()  # those of test_etcd: only its site is wanted here


@test
def a_pipeline_keeps_its_id_whoever_changes_it(s):
    for name in ("pa", "pb"):
        ects(s, "POST", "/pipelines", {**pipeline(name, "true", spec="0 0 0 1 1 *"), "id": f"id-{name}"})
        until("it stands there", lambda name=name: pipeline_key(s, name))
    unnamed = pipeline("pa", "false", spec="0 0 0 1 1 *")
    del unnamed["id"]
    ects(s, "PUT", "/pipelines/id-pa", unnamed)
    assert ects(s, "GET", "/pipelines/id-pa")["name"] == "pa"
    until("the key follows", lambda: pipeline_key(s, "pa")["steps"][0]["task"]["content"] == "false")
    assert pipeline_key(s, "pa")["id"] == "id-pa"
    # What etcd may not take either: another's id, another id of its own, one that no path can hold.
    put_pipeline(s, {**pipeline("pc", "true", spec="0 0 0 1 1 *"), "id": "id-pb"})
    until("another's id is refused", lambda: "'pb'" in (s.problem("pc") or ""))
    assert s.workflow("pc") is None
    put_pipeline(s, {**pipeline_key(s, "pa"), "id": "id-new"})
    until("its own stays", lambda: "'id-pa'" in (s.problem("pa") or ""))
    for bad in ("../x", "a\x1b[31m", "a/b", ".."):
        put_pipeline(s, {**pipeline("pd", "true", spec="0 0 0 1 1 *"), "id": bad})
        until(f"{bad!r} is refused", lambda bad=bad: "id" in (s.problem("pd") or ""))
        assert s.workflow("pd") is None
        status, text = ects_says(s, "POST", "/pipelines", {**pipeline("pd", "true", spec="0 0 0 1 1 *"), "id": bad})
        assert status == 400, (bad, status, text)
        s.etcd.delete(f"{PREFIX}/pipelines/pd")
        until("nothing is said of it", lambda: s.problem("pd") is None)
    assert ects(s, "GET", "/pipelines/id-pb")["name"] == "pb"
    s.etcd.delete(f"{PREFIX}/pipelines/pc")
    put_pipeline(s, {**pipeline_key(s, "pa"), "id": "id-pa"})
    until("nothing is said of it", lambda: s.problem("pa") is None)
    for name in ("pa", "pb"):
        ects(s, "DELETE", f"/pipelines/id-{name}")
        until("its key goes", lambda name=name: pipeline_key(s, name) is None)


@test
def an_etcd_of_a_backup_takes_nothing_away_that_came_after_it(s):
    def job_key(name, word="jobs"):
        return s.etcd.keys(f"{PREFIX}/{word}/{name}").get(f"{PREFIX}/{word}/{name}")

    def ours(name):
        w = s.workflow(name)
        return None if w is None or w["retired"] else w

    for way in ("older", "overtaken", "overtaken, the server away"):
        n = {"older": "o", "overtaken": "t"}.get(way, "a")
        s.put_job("old" + n, "echo 1", "@yearly")
        until("it is taken", lambda: ours("old" + n))
        until("and marked", lambda: job_key("old" + n, "bridge"))
        s.etcd.kill()
        shutil.rmtree(s.etcd.dir / "kept", ignore_errors=True)
        shutil.copytree(s.etcd.dir / "data", s.etcd.dir / "kept")
        s.etcd.start()
        s.put_job("new" + n, "echo 1", "@yearly")
        s.put_job("ree" + n, "echo 1", "@yearly")
        until("both are taken", lambda: ours("new" + n) and ours("ree" + n))
        s.etcd.delete(f"{PREFIX}/jobs/ree{n}")
        until("one is retired", lambda: not ours("ree" + n))
        s.put_job("ree" + n, "echo 2", "@yearly")
        s.put_job("old" + n, "echo 2", "@yearly")
        until("all are taken", lambda: ours("ree" + n) and "echo 2" in ours("old" + n)["document"])
        for name in ("new", "ree", "old"):
            until("and marked", lambda name=name: job_key(name + n, "bridge"))
        if "away" in way:
            s.base.stop()
        s.etcd.kill()
        shutil.rmtree(s.etcd.dir / "data")
        shutil.copytree(s.etcd.dir / "kept", s.etcd.dir / "data")
        mark = len(s.base.text())
        s.etcd.start()
        if way != "older":
            for i in range(60):
                s.etcd.put(f"/other/{n}{i}", "x")
        if "away" in way:
            s.base.start()
            until("the server is back", s.up)
        until("it is watched again", lambda: s.base.has(r"etcd\.watched", mark), 120)
        for name in ("new", "ree"):
            until(f"{way}: {name} is written again", lambda name=name: job_key(name + n), 120)
        for name in ("new", "ree", "old"):
            assert ours(name + n), (way, name, s.workflow(name + n))
        until("what is newer here is written over what is older there", lambda: "echo 2" in job_key("old" + n), 120)
        for name in ("new", "ree", "old"):
            s.etcd.delete(f"{PREFIX}/jobs/{name}{n}")
            until("it is retired", lambda name=name: not ours(name + n))
    until("the server is back", s.up)
    until("all are online", lambda: s.status("b1") == "online" and s.status("cgi") == "online", 60)


if __name__ == "__main__":
    sys.exit(main(EtcdSite))
