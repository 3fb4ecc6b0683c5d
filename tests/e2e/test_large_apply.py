#!/usr/bin/env python3
"""Very many documents in one apply: 64,000 tasks of 100 files, or many frames of bytes, are one transaction, with
other clients served meanwhile, followed by who waits; refused as a whole, killed in the middle as a whole, repeated
without a second effect. TAP."""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, SLOW, Site, anonymous_kb, main, stand_still, test, until  # noqa: E402

FILES, TASKS = 100, (640 if SLOW == 1 else 64)
HEAD = "start_date: 2026-03-01\nend_date: 2026-03-01\ndefaults: {type: noop, cycle: day}\n"


def text(project, n, tasks=TASKS):
    """Chains of eight, as published workflows have them."""
    lines = "".join(f"  step_number_{i}: {{needs: [{f'step_number_{i - 1}' if i % 8 else ''}]}}\n" for i in range(tasks))
    return f"project: {project}\nworkflow: w{n}\n{HEAD}tasks:\n{lines}"


def documents(project, files=FILES, tasks=TASKS):
    return [{"name": f"w{n}.yaml", "text": text(project, n, tasks)} for n in range(files)]


def send(s, request_id=None, dry_run=False, **args):
    body = {**args, "dry_run": dry_run}
    if not dry_run:
        body["request_id"] = request_id or os.urandom(16).hex()
    return s.ask("POST", "/api/v1/workflows", body, seconds=300)


def saved(s, project):
    """How many of its workflows are in force."""
    return sum(s.ask("GET", f"/api/v1/workflows/{project}/w{n}")[0] == 200 for n in range(FILES))


class Others:
    """Another client, which asks the server itself again and again."""
    def __init__(self, s):
        self.s, self.took, self.over = s, [], threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        link = http.client.HTTPConnection("127.0.0.1", self.s.http, timeout=120)
        body = json.dumps({"kind": "log-level", "dry_run": True, "args": {"level": "info"}})
        while not self.over.is_set():
            began = time.monotonic()
            link.request("POST", "/api/v1/commands", body, {"Authorization": f"Bearer {self.s.token}",
                                                            "Content-Type": "application/json"})
            answer = link.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            self.took.append(time.monotonic() - began)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(120)


@test
def a_directory_of_a_hundred_files_is_one_apply_and_others_are_served_meanwhile(s):
    where = s.dir / "flows"
    (where / "below").mkdir(parents=True)
    for d in documents("dir"):
        (where / ("below" if d["name"] > "w5" else ".") / d["name"]).write_text(d["text"])
    (where / "notes.txt").write_text("no document")
    with Others(s) as others:
        until("the other client is served", lambda: len(others.took) > 20)
        before = len(others.took)
        done = s.sirdar("apply", "--yes", str(where)).stdout
        meanwhile = len(others.took) - before
        until("and afterwards", lambda: len(others.took) > before + meanwhile + 20)
    assert f"{FILES * (TASKS + 1)} changed, 0 as before" in done, done[-300:]
    assert saved(s, "dir") == FILES
    assert meanwhile > 10, meanwhile  # of a server that stood still until it had judged: two or three
    assert "0 changed" in s.sirdar("diff", str(where)).stdout
    s.sirdar("check", str(where))


@test
def several_frames_of_arguments_are_one_apply(s):
    docs = documents("pieces", FILES, 20)
    for d in docs:
        d["text"] = f"# {'x' * 100}\n" * 1000 + d["text"]
    assert sum(len(d["text"]) for d in docs) > 10000000
    status, answer = send(s, documents=docs)
    assert status == 202 and answer["state"] == "done", (status, str(answer)[:300])
    assert saved(s, "pieces") == FILES
    docs[-1]["text"] += "  more: {needs: [nobody]}\n"
    status, answer = send(s, documents=docs)
    assert status == 400 and f"w{FILES - 1}.yaml" in str(answer), (status, str(answer)[:300])


@test
def a_face_that_ends_in_the_middle_leaves_nothing_half_and_no_memory(s):
    docs = documents("hangs", FILES, 20)
    for d in docs:
        d["text"] = f"# {'x' * 100}\n" * 1500 + d["text"]
    body = json.dumps({"documents": docs, "request_id": "hangs-up-in-the-middle"})
    kept = []
    for n in range(4):
        link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=120)
        head = {"Authorization": f"Bearer {s.token}", "Content-Type": "application/json"}
        seen = s.base.log.stat().st_size
        link.request("POST", "/api/v1/workflows", body, head)
        threading.Event().wait(0.03 * n)  # anywhere in it
        s.cgi.restart(hard=True)
        link.close()
        until("the server lost the face", lambda: "session.end" in s.base.text(seen), 60)
        until("the face is up", s.up, 60)
        kept.append(anonymous_kb(s.base.pid))
    status, answer = send(s, "hangs-up-in-the-middle", documents=docs)
    assert status == 202 and answer["state"] == "done", (status, str(answer)[:300])
    assert saved(s, "hangs") == FILES
    assert kept[-1] < kept[0] + 60000, kept  # each was 16 MB


class Background:
    """An apply that somebody else waits for."""
    def __init__(self, s, **args):
        self.answer = None
        self.thread = threading.Thread(target=self.run, args=(s, args), daemon=True)

    def run(self, s, args):
        link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=300)
        link.request("POST", "/api/v1/workflows", json.dumps(args), {"Authorization": f"Bearer {s.token}",
                                                                     "Content-Type": "application/json"})
        answer = link.getresponse()
        self.answer = answer.status, json.loads(answer.read())
        link.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(300)


def open_one(s, request):
    return next((c for c in s.get("/api/v1/commands?open=true")["items"] if c["request_id"] == request), None)


@test
def what_is_under_way_can_be_followed_and_is_a_failed_command_where_it_is_wrong(s):
    good, bad = os.urandom(16).hex(), os.urandom(16).hex()
    docs = documents("follow")
    with Background(s, request_id=good, documents=docs) as b:
        one = until("it is shown while it is judged", lambda: open_one(s, good) or b.answer, 120, every=0)
    assert one is not b.answer and (one["state"], one["total"]) == ("running", FILES), one
    assert one["done"] < FILES, one
    status, answer = b.answer
    assert status == 202 and (answer["total"], answer["done"]) == (FILES, FILES), (status, str(answer)[:300])
    docs[-1]["text"] += "  more: {needs: [nobody]}\n"
    with Background(s, request_id=bad, documents=docs) as b:
        one = until("it is shown while it is judged", lambda: open_one(s, bad) or b.answer, 120, every=0)
    assert one is not b.answer, one
    status, answer = b.answer
    assert status == 400 and answer["error"]["details"]["errors"], (status, str(answer)[:300])
    kept = until("how it ended is kept", lambda: (c := s.get(f"/api/v1/commands/{one['command']}"))["state"] == "failed" and c)
    assert f"w{FILES - 1}.yaml" in kept["error"], kept


@test
def one_that_is_cancelled_while_it_is_judged_leaves_nothing_and_others_go_on(s):
    request = os.urandom(16).hex()
    with Background(s, request_id=request, documents=documents("cancel")) as b:
        one = until("it is shown while it is judged", lambda: open_one(s, request) or b.answer, 120, every=0)
        assert one is not b.answer, one
        s.command("command-cancel", command=one["command"], expect=(202, 409))  # 409: it was too late
    status, answer = b.answer
    assert status == 202 and answer["state"] in ("cancelled", "done"), (status, str(answer)[:300])
    print(f"# {answer['state']}")
    assert saved(s, "cancel") == (FILES if answer["state"] == "done" else 0)
    assert send(s, documents=documents("after", 1, 5))[1]["state"] == "done"


@test
def who_sees_a_terminal_sees_how_far_it_is(s):
    where = s.dir / "seen"
    where.mkdir()
    for d in documents("seen"):
        (where / d["name"]).write_text(d["text"])
    ours, theirs = os.openpty()
    stand_still(s.base.pid)  # so that it is seen before the answer, however fast the machine is
    with subprocess.Popen([str(BIN / "sirdar"), "apply", "--yes", str(where)], stdin=subprocess.DEVNULL, stderr=theirs,
                          stdout=subprocess.DEVNULL, env={**s.env, "SIRDAR_TOKEN_FILE": str(s.dir / "token")}) as p:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 4096):
                seen += piece
                if b"of 100 files" in seen:
                    os.kill(s.base.pid, signal.SIGCONT)
        except OSError:
            pass  # nobody has the other end any more
    os.close(ours)
    os.kill(s.base.pid, signal.SIGCONT)
    assert p.returncode == 0, seen
    assert b"\r\x1b[K" in seen and b"of 100 files" in seen, seen


@test
def an_edit_of_more_tasks_than_the_ring_has_records_is_one_transaction(s):
    s.base.stop()
    usual, s.base.argv = s.base.argv, s.argv("baseserver", {**s.base_sets, "ring_slots": 1024})
    s.base.start()
    until("it leads again", s.up, 60)
    try:
        status, answer = send(s, documents=documents("ring"))
        assert status == 202 and answer["state"] == "done", (status, str(answer)[:300])
        assert saved(s, "ring") == FILES
        pools = [{"name": f"p{n}.yaml", "text": f"pool: p{n}\nslots: 3\n"} for n in range(800)]
        for dry_run in (True, False):
            status, answer = send(s, dry_run=dry_run, documents=pools)
            assert status == 400 and "800 records of the ring" in str(answer), (status, str(answer)[:300])
        assert send(s, documents=pools[:700])[0] == 202
    finally:
        s.base.stop()
        s.base.argv = usual
        s.base.start()
        until("it leads again", s.up, 60)


@test
def what_is_kept_of_it_is_a_hash_and_its_counts_and_the_answer_has_totals(s):
    status, answer = send(s, documents=documents("kept", FILES, 100), message="all of them")
    assert status == 202 and answer["state"] == "done", str(answer)[:300]
    assert answer["totals"] == {"create": FILES * 101, "update": 0, "same": 0, "retire": 0}, answer["totals"]
    assert len(answer["changes"]) + answer.get("changes_more", 0) == FILES * 101
    kept = s.get(f"/api/v1/commands/{answer['command']}")
    brief = json.loads(kept["args"])
    assert brief["documents"] == FILES and brief["message"] == "all of them" and len(kept["args"]) < 300, kept["args"][:400]


@test
def an_error_in_the_last_file_refuses_all_of_them_and_names_it(s):
    docs = documents("bad", FILES, 100)
    docs[-1]["text"] += "  more: {needs: [nobody]}\n"
    docs[3]["text"] += "  odd: {colour: red}\n"
    status, answer = send(s, documents=docs)
    assert status == 400, (status, str(answer)[:300])
    status, answer = send(s, documents=[d for i, d in enumerate(docs) if i != 3])
    assert status == 400 and f"w{FILES - 1}.yaml" in str(answer), (status, str(answer)[:300])
    assert saved(s, "bad") == 0


@test
def killed_in_the_middle_all_of_it_is_in_force_or_nothing_and_it_is_said_which(s):
    for n, when in enumerate(("at once", "soon", "when it is recorded", "when it is recorded")):
        project, request = f"kill{n}", os.urandom(16).hex()
        docs = documents(project, FILES, TASKS // 4)
        ended = []

        def ask():
            link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=120)
            try:
                link.request("POST", "/api/v1/workflows", json.dumps({"documents": docs, "request_id": request}),
                             {"Authorization": f"Bearer {s.token}", "Content-Type": "application/json"})
                ended.append(link.getresponse().status)
            except OSError as e:
                ended.append(e)
        client = threading.Thread(target=ask, daemon=True)
        client.start()
        if n == 1:
            client.join(0.2)  # anywhere in it
        if n > 1:
            until("it is under way, or over", lambda: s.get("/api/v1/commands?open=true")["items"] or ended, 120, every=0)
        s.base.restart(hard=True)
        client.join(120)
        until("it leads again", s.up, 120)
        status, answer = send(s, request, documents=docs)
        assert status == 202, (status, str(answer)[:300])
        there = saved(s, project)
        print(f"# killed {when}: {answer['state']}, {there} workflows")
        assert there == (FILES if answer["state"] == "done" else 0), (answer["state"], there)
        assert answer["state"] == "done" or "nothing of it is in force" in answer["error"], answer["error"]


@test
def the_same_request_again_has_no_second_effect_and_with_other_documents_it_is_refused(s):
    request, docs = os.urandom(16).hex(), documents("again", 20, 100)
    first = send(s, request, documents=docs)[1]
    second = send(s, request, documents=docs)[1]
    assert first["command"] == second["command"] and second["state"] == "done", (first["command"], second["command"])
    s.base.restart(hard=True)
    until("it leads again", s.up, 120)
    assert send(s, request, documents=docs)[1]["command"] == first["command"]
    status, answer = send(s, request, documents=documents("again", 19, 100))
    assert status == 409, (status, str(answer)[:300])
    assert s.get("/api/v1/workflows/again/w0")["version"] == 1


@test
def memory_returns_after_each_of_them(s):
    docs = documents("memory", FILES, TASKS // 4)
    send(s, dry_run=True, documents=docs)
    send(s, dry_run=True, documents=docs)
    first = [anonymous_kb(p.pid) for p in (s.base, s.cgi)]
    for _ in range(6):
        assert send(s, dry_run=True, documents=docs)[0] == 200
    last = [anonymous_kb(p.pid) for p in (s.base, s.cgi)]
    for was, now in zip(first, last):
        assert now < was * 1.5 + 20000, (first, last)


def head_only(s, length, path="/api/v1/workflows", who=None):
    """A request that says how much is to come, and what is answered before any of it does."""
    link = socket.create_connection(("127.0.0.1", s.http), timeout=60)
    link.sendall((f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{s.http}\r\nAuthorization: Bearer {who or s.token}\r\n"
                  f"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n").encode())
    return link, link.recv(200).decode()


@test
def a_body_of_an_apply_may_have_apply_bytes_max_and_applies_max_come_at_once(s):
    s.ask("POST", "/api/v1/users", {"user": "ann", "password": "a long enough word", "role": "developer"})
    ann = s.ask("POST", "/api/v1/login", {"user": "ann", "password": "a long enough word", "name": "t"})[1]["token"]
    link, answer = head_only(s, 3000000)
    assert " 100 " in answer, answer
    second, answer = head_only(s, 3000000)  # half of them is one person's
    assert " 429 " in answer, answer
    third, answer = head_only(s, 3000000, who=ann)
    assert " 100 " in answer, answer
    fourth, answer = head_only(s, 3000000, who=ann)
    assert " 503 " in answer, answer
    small, answer = head_only(s, 1000)
    assert " 100 " in answer, answer
    for one in (link, second, third, fourth, small):
        one.close()

    def has_room():
        link, answer = head_only(s, 3000000)
        link.close()
        return " 100 " in answer
    until("there is room again", has_room, 60)
    for length, path in ((30000001, "/api/v1/workflows"), (3000000, "/api/v1/commands")):
        link, answer = head_only(s, length, path)
        assert " 413 " in answer, answer
        link.close()


@test
def who_may_not_save_is_refused_before_the_body_is_read(s):
    link = socket.create_connection(("127.0.0.1", s.http), timeout=60)
    link.sendall((f"POST /api/v1/workflows HTTP/1.1\r\nHost: 127.0.0.1:{s.http}\r\nAuthorization: Bearer no\r\n"
                  "Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n").encode())
    answer = link.recv(200).decode()
    link.close()
    assert " 401 " in answer, answer


def site():
    s = Site("large", ring_slots=131072)
    s.cgi.argv += ["--set", "request_ms=300000", "--set", "apply_bytes_max=30000000", "--set", "applies_max=2"]
    s.base.start()
    s.start_cgi()
    return s


if __name__ == "__main__":
    sys.exit(main(site))
