#!/usr/bin/env python3
"""What the cgi does for the console, without a browser: files and their caching, graph and runs. TAP."""
import gzip
import http.client
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Site, Skip, main, test  # noqa: E402

TEXT = """workflow: shop
project: pages
timezone: Asia/Shanghai
start_date: 2026-03-01
end_date: 2026-03-03
defaults: {type: noop, catchup: {mode: all, max: 1000}}
tasks:
  load: {cycle: day}
  hour: {cycle: hour, needs: [load]}
  sum: {cycle: day, needs: [{task: hour, depend: 2}]}
"""

BOARD = """workflow: board
project: pages
timezone: Asia/Shanghai
start_date: 2026-03-01
end_date: 2026-03-03
defaults: {type: noop, cycle: day, catchup: {mode: all, max: 1000}}
tasks:
  first: {needs: [pages/shop/sum]}
  last: {needs: [first, pages/shop/load]}
"""
MAIL = BOARD.replace("workflow: board", "workflow: mail").replace("[pages/shop/sum]", "[pages/board/last]").replace(", pages/shop/load", "")


def make_site():
    site = Site("pages")
    web = site.dir / "web"
    (web / "assets").mkdir(parents=True)
    (web / "index.html").write_text("<!doctype html><title>console</title>")
    (web / "assets" / "app-1.js").write_text("let a = 1;" * 100)
    (web / "assets" / "app-1.js.gz").write_bytes(gzip.compress(b"let a = 1;" * 100))
    site.cgi.argv += ["--set", f"web_dir={web}"]
    if shutil.which("cmark-gfm"):
        subprocess.run([sys.executable, ROOT / "docs/book/pages.py", site.dir / "book"], check=True, timeout=600)
        site.cgi.argv += ["--set", f"docs_dir={site.dir / 'book'}"]
    site.start()
    site.apply(TEXT, "shop.yaml", **{"from": "2026-03-01"})
    site.wait_all_over("pages/shop/sum", 3, 120)
    site.apply(BOARD, "board.yaml", **{"from": "2026-03-01"})
    site.apply(MAIL, "mail.yaml", **{"from": "2026-03-01"})
    site.wait_all_over("pages/mail/last", 3, 120)
    return site


def fetch(site, path, **headers):
    c = http.client.HTTPConnection("127.0.0.1", site.http, timeout=30)
    c.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = c.getresponse()
    body = answer.read()
    c.close()
    return answer, body


@test
def the_root_leads_to_the_console_and_every_path_below_it_is_the_one_page(s):
    answer, _ = fetch(s, "/")
    assert answer.status == 302 and answer.getheader("Location") == "/ui/", answer.status
    for path in ("/ui", "/ui/", "/ui/w/pages/shop", "/ui/ops/t?q=state:failed"):
        answer, body = fetch(s, path)
        assert answer.status == 200 and b"<title>console" in body, (path, answer.status)
        assert answer.getheader("Cache-Control") == "no-cache"
        assert "default-src 'self'" in answer.getheader("Content-Security-Policy")
        assert "unsafe" not in answer.getheader("Content-Security-Policy")
    answer, body = fetch(s, "/status")
    assert answer.status == 200 and b"status.js" in body


@test
def assets_are_kept_for_ever_packed_for_who_takes_it_and_304_for_who_has_them(s):
    plain, body = fetch(s, "/ui/assets/app-1.js")
    assert "immutable" in plain.getheader("Cache-Control") and plain.getheader("Content-Encoding") is None
    assert plain.getheader("Content-Type").startswith("text/javascript")
    packed, small = fetch(s, "/ui/assets/app-1.js", Accept_Encoding="br, gzip")
    assert packed.getheader("Content-Encoding") == "gzip" and gzip.decompress(small) == body
    assert packed.getheader("ETag") != plain.getheader("ETag") and packed.getheader("Vary") == "Accept-Encoding"
    again, nothing = fetch(s, "/ui/assets/app-1.js", If_None_Match=plain.getheader("ETag"))
    assert again.status == 304 and nothing == b""
    assert fetch(s, "/ui/assets/app-1.js", Accept_Encoding="gzip", If_None_Match=plain.getheader("ETag"))[0].status == 200


@test
def what_is_not_there_is_404_and_nothing_leads_out_of_the_folder(s):
    assert fetch(s, "/ui/assets/gone.js")[0].status == 404
    for path in ("/ui/assets/../../base", "/ui/assets/%2e%2e/index.html", "/ui/assets/..%2f..%2fcgi.key"):
        answer, body = fetch(s, path)
        assert answer.status in (200, 404) and b"cgi:" not in body, (path, answer.status)
        assert answer.status == 404 or b"<title>console" in body


@test
def a_graph_is_the_tasks_and_their_links(s):
    g = s.get("/api/v1/graph/pages/shop")
    assert sorted(t["task"] for t in g["tasks"]) == ["pages/shop/hour", "pages/shop/load", "pages/shop/sum"]
    assert sorted((x["parent"], x["child"]) for x in g["links"]) == [
        ("pages/shop/hour", "pages/shop/sum"), ("pages/shop/load", "pages/shop/hour")], g["links"]
    assert g["zone"] == "Asia/Shanghai" and g["cycle_s"] == 86400
    assert s.ask("GET", "/api/v1/graph/pages/none")[0] == 404


@test
def a_run_is_a_local_day_of_all_its_tasks_newest_first(s):
    runs = s.get("/api/v1/runs/pages/shop?limit=10")["items"]
    assert [r["label"] for r in runs] == [f"2026-03-0{d}T00:00:00Z" for d in (3, 2, 1)], runs
    assert runs[1]["from"] == "2026-03-01T16:00:00Z" and runs[1]["to"] == "2026-03-02T16:00:00Z"
    assert runs[1]["total"] == 26 and runs[1]["states"] == {"Succ": 26}, runs[1]
    assert [r["label"][:10] for r in s.get("/api/v1/runs/pages/shop?limit=1")["items"]] == ["2026-03-03"]
    older = s.get("/api/v1/runs/pages/shop?before=2026-03-01T16:00:00Z")["items"]
    assert [r["label"][:10] for r in older] == ["2026-03-01"], older
    assert s.ask("GET", "/api/v1/runs/pages/shop?limit=0")[0] == 400


@test
def a_run_of_a_longer_or_an_uneven_cycle_has_the_date_of_its_instances(s):
    for cycle, dates in (("week", ["2026-03-16", "2026-03-09", "2026-03-02"]), ("2 week", None),
                         ("month", ["2026-03-01"]), ("7 hour", None)):
        name = "of_" + cycle.replace(" ", "_")
        text = TEXT[:TEXT.index("tasks:")].replace("shop", name).replace("03-03", "03-20")
        s.apply(f"{text}tasks:\n  only: {{cycle: {cycle}}}\n", name + ".yaml", **{"from": "2026-03-01"})
        s.wait_all_over(f"pages/{name}/only", None, 60)
        known = s.get(f"/api/v1/instances?task=pages/{name}/only&limit=200&sort=run_date&order=desc")["items"]
        runs = s.get(f"/api/v1/runs/pages/{name}?limit=200")["items"]
        assert [r["total"] for r in runs] == [1] * len(known), (cycle, runs)
        for r, i in zip(runs, known):
            assert r["from"] == i["run_date"], (cycle, r, i["run_date"])
        if dates:
            assert [r["label"][:10] for r in runs] == dates, (cycle, runs)
        grid = s.get(f"/api/v1/grid/pages/{name}?limit=200")["items"]
        assert [r["label"] for r in grid] == [r["label"] for r in runs], (cycle, grid)


@test
def a_grid_has_a_letter_and_a_duration_for_every_task_of_every_run(s):
    g = s.get("/api/v1/grid/pages/shop")
    names = {t["task_id"]: t["task"].split("/")[-1] for t in s.get("/api/v1/graph/pages/shop")["tasks"]}
    order = [names[i] for i in g["task_ids"]]
    assert order == ["hour", "load", "sum"] and g["more"] is False, g
    assert [r["label"][:10] for r in g["items"]] == ["2026-03-03", "2026-03-02", "2026-03-01"]
    for r in g["items"]:
        assert r["cells"] == "sss" and r["many"] == [0, 24] and len(r["took_ms"]) == 3 and r["total"] == 26, r
    first = s.get("/api/v1/grid/pages/shop?limit=1")
    assert len(first["items"]) == 1 and first["more"] is True, first
    older = s.get("/api/v1/grid/pages/shop?limit=2&before=" + first["items"][0]["from"])
    assert [r["label"][:10] for r in older["items"]] == ["2026-03-02", "2026-03-01"] and older["more"] is False, older
    s.command("redo", selection={"tasks": ["pages/shop/hour"], "dates": ["2026-03-02 05:00"]})
    s.command("freeze", selection={"tasks": ["pages/shop/load"]})
    s.command("redo", selection={"tasks": ["pages/shop/load"], "dates": ["2026-03-02"]})
    cells = s.get("/api/v1/grid/pages/shop?limit=2")["items"][1]["cells"]
    assert cells[1] in "rzq" and cells[2] == "s", cells  # what waits stands before what is over
    s.command("unfreeze", selection={"tasks": ["pages/shop/load"]})
    assert s.ask("GET", "/api/v1/grid/pages/none")[0] == 404


@test
def lineage_goes_across_workflows_level_by_level_both_ways(s):
    def names(of, up, down):
        g = s.get(f"/api/v1/lineage/{of}?up={up}&down={down}")
        by_id = {n["id"]: n["name"] for n in g["nodes"]}
        levels = {n["name"].split("pages/")[1]: n["level"] for n in g["nodes"]}
        links = sorted((by_id[x["from"]].split("pages/")[1], by_id[x["to"]].split("pages/")[1], x["count"]) for x in g["links"])
        return g, levels, links
    g, levels, links = names("pages/board", 1, 1)
    assert g["by"] == "workflow" and levels == {"shop": -1, "board": 0, "mail": 1}, levels
    assert links == [("board", "mail", 1), ("shop", "board", 2)] and not g["cut"], links
    board = g["nodes"][0]
    assert board["tasks"] == 2 and board["states"] == {"Succ": 2} and board["due"] is None, board
    g, levels, links = names("pages/shop", 2, 1)
    assert levels == {"shop": 0, "board": 1} and [n["closed"] for n in g["nodes"]] == [False, True], g["nodes"]
    g, levels, links = names("pages/board/last", 1, 5)
    assert g["by"] == "task" and levels == {"board/last": 0, "board/first": -1, "shop/load": -1, "mail/first": 1, "mail/last": 2}, levels
    assert ("board/first", "board/last", 1) in links and ("mail/first", "mail/last", 1) in links, links
    assert s.ask("GET", "/api/v1/lineage/pages/none")[0] == 404 and s.ask("GET", "/api/v1/lineage/pages/shop?up=21")[0] == 400


def led_to(page, html):
    """Addresses of a page of the manual that it links to or asks for, without their places."""
    folder = page.rsplit("/", 1)[0]
    for to in re.findall(r'(?:href|src|data-index)="([^"#]+)', html):
        yield os.path.normpath(f"{folder}/{to}") if not re.match(r"[a-z]+:", to) else to


@test
def the_manual_is_served_below_docs_and_its_links_lead_to_pages(s):
    if not (s.dir / "book").exists():
        raise Skip("no cmark-gfm: packaging/deps.sh build")
    answer, _ = fetch(s, "/docs")
    assert answer.status == 302 and answer.getheader("Location") == "/docs/", answer.status
    left, seen, outside = ["/docs/"], {"/docs/"}, set()
    while left:
        page = left.pop()
        answer, body = fetch(s, page)
        assert answer.status == 200, (page, answer.status)
        policy = answer.getheader("Content-Security-Policy")
        assert "default-src 'self'" in policy and "unsafe" not in policy, policy
        if answer.getheader("Content-Type") != "text/html; charset=utf-8":
            continue
        html = body.decode()
        assert not re.search(r"<style|<script>|\son\w+=|\sstyle=", html), page
        for to in led_to("/docs/index.html" if page == "/docs/" else page, html):
            if not to.startswith("/docs/"):
                outside.add(to)
            elif to not in seen:
                seen.add(to)
                left.append(to)
    assert len([p for p in seen if p.startswith("/docs/zh/")]) == len([p for p in seen if p.startswith("/docs/en/")]) > 35, sorted(seen)
    assert not [to for to in outside if not to.startswith("http")], sorted(outside)
    pages = {p.name: p.read_text() for p in (s.dir / "book/en").glob("*.html")}
    for name, html in pages.items():
        assert not re.search(r'<(?:link|script|img)[^>]+(?:href|src)="(?:https?:)?//', html), name
        for file, place in re.findall(r'href="(?:\.\./en/)?([\w-]*\.html)?#([^"]+)"', html):
            assert f'id="{place}"' in pages[file or name], (name, file, place)
    for path in ("/docs/../cgi.key", "/docs/%2e%2e/cgi.key", "/docs/en/none.html"):
        assert fetch(s, path)[0].status == 404, path


@test
def the_schemas_of_documents_are_served_to_everybody_as_the_command_prints_them(s):
    for kind in s.sirdar("schema").stdout.split():
        answer, body = fetch(s, f"/api/v1/schema/{kind}")
        assert answer.status == 200 and answer.getheader("Content-Type").startswith("application/json"), (kind, answer.status)
        assert body.decode() == s.sirdar("schema", kind).stdout, kind
    tag = answer.getheader("ETag")
    assert fetch(s, f"/api/v1/schema/{kind}", If_None_Match=tag)[0].status == 304
    for path in ("workflow.json", "none", "..%2Ftypes%2Fshell"):
        assert fetch(s, f"/api/v1/schema/{path}")[0].status == 404, path
    assert fetch(s, "/api/v1/schema/workflow?zz=1")[0].status == 400


if __name__ == "__main__":
    sys.exit(main(make_site))
