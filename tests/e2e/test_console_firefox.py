#!/usr/bin/env python3
"""The web console in Firefox, led by marionette.py: every page, the live stream, an act, the canvases, a log. Only with HEAVY=1
(make test-heavy): the journeys proper are Chromium's (test_console*.py). TAP; skipped, loudly, without firefox-esr."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import console  # noqa: E402
from harness import main, test  # noqa: E402
from marionette import Firefox  # noqa: E402

EXAMPLES = {"project": "retail", "workflow": "trade_daily", "id": "1", "type": "shell", "rest": "nowhere"}


def site():
    made, facts = console.warehouse("firefox")
    made.told, made.fox = facts, Firefox(made.dir / "firefox")
    closing = made.close

    def close():
        made.fox.close()
        closing()
    made.close = close
    fox = made.fox
    fox.go(facts["url"] + "/ui/")
    fox.fill("#user", "admin")
    fox.fill("#password", facts["password"])
    fox.click("button[type=submit]")
    fox.wait("signed in", ".app")
    fox.complaints()
    return made


def opened(s, path):
    s.fox.go(f"{s.told['url']}/ui{path}")
    s.fox.wait(f"{path} is there", lambda: s.fox.js(
        "return !document.querySelector('.skels') && !!document.querySelector('main h1')"))


def routes(s):
    text = (console.WEB / "src/router.ts").read_text()
    values = {**EXAMPLES, "label": s.told["last"]}
    for path in re.findall(r"path: '([^']+)'", text):
        yield re.sub(r"/:(\w+)(\([^)]*\))?[?*]?", lambda m: "/" + values[m[1]], path)


def painted(s, css):
    """Share of the dots of a canvas that are not its commonest colour's; it is one of ours, so it may be read."""
    return s.fox.js("""const c = document.querySelector(arguments[0]); if (!c || !c.width) return 0
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Map()
        for (let i = 0; i < d.length; i += 64) { const k = d[i] << 16 | d[i + 1] << 8 | d[i + 2]; seen.set(k, (seen.get(k) ?? 0) + 1) }
        return 1 - Math.max(...seen.values()) / (d.length / 64)""", css)


@test
def every_page_opens_and_the_browser_holds_nothing_against_it(s):
    paths = list(routes(s))
    assert len(paths) > 25, paths
    for path in paths:
        opened(s, path)
        said = s.fox.complaints()
        assert not said, (path, said)


@test
def what_a_policy_forbids_would_be_held_against_it(s):
    opened(s, "/settings")
    s.fox.js("const x = document.createElement('script'); x.textContent = 'window.x = 1'; document.head.append(x)")
    assert any("script-src" in said or "Content-Security-Policy" in said for said in s.fox.complaints())


@test
def graphs_are_painted(s):
    for path in (f"/r/retail/trade_daily/{s.told['last']}", "/w/retail/trade_daily/edit", "/w/retail/trade_daily/grid"):
        opened(s, path)
        s.fox.wait(f"{path} is painted", lambda: painted(s, "main canvas") > 0.01)


@test
def a_page_follows_what_happens(s):
    opened(s, f"/r/retail/trade_daily/{s.told['last']}?view=list")
    s.fox.wait("its rows", lambda: "dws_refund_sku_1d" in s.fox.js("return document.querySelector('main').innerText"))
    assert "Frozen" not in s.fox.js("return document.querySelector('main').innerText")
    s.sirdar("freeze", "retail/trade_daily/dws_refund_sku_1d", s.told["last"], "--yes")
    s.fox.wait("it says so", lambda: "Frozen" in s.fox.js("return document.querySelector('main').innerText"))


@test
def a_log_is_read(s):
    opened(s, "/r/retail/trade_daily/" + s.told["last"])
    s.fox.wait("the failure's log", lambda: "Duplicate key" in s.fox.js("return document.querySelector('main').innerText"))
    assert not s.fox.complaints()


@test
def an_act_asks_first_and_is_done(s):
    opened(s, "/ops/t?q=task:retail/trade_daily/dws_refund_sku_1d")
    s.fox.click(".vrow .ckb")
    s.fox.click("[data-act=unfreeze]")
    s.fox.click("[data-go]:not([disabled])")
    s.fox.wait("its outcome", lambda: "done" in (s.fox.js("return document.querySelector('[data-outcome]')?.innerText") or ""))


if __name__ == "__main__":
    why = "only with HEAVY=1" if not os.environ.get("HEAVY") else \
        "firefox-esr is not here (packaging/deps.sh firefox)" if not shutil.which("firefox-esr") else console.why_not()
    if why:
        print(f"1..1\nok 1 - the console in Firefox # SKIP {why}")
        sys.exit(0)
    wrong = console.build()
    if wrong:
        sys.exit(f"1..1\nnot ok 1 - the console is built\n{wrong}")
    sys.exit(main(site))
