"""The web console in a real browser against the real programs. The journeys are admin-console/web/tests/journeys/FOLDER/*.mjs;
a test_console*.py makes the site of one folder with what is here. TAP; skipped, loudly, without chromium or node;
a console that is not built is a failure.

    test_console_ops.py [WORD...]     journeys whose name holds a word; SERVE=1: only start, print where, and wait for Enter
    SHOTS=folder                      where to leave screenshots (some are in docs/screenshots)
    KEEP=folder                       a picture of each journey that failed

What a journey does to the servers themselves is a function marked @act here or in the test: journeys call it by name,
`await server('name', {...})`, and get what it returns.
"""
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, Site, rfc3339, until  # noqa: E402

WEB = ROOT / "admin-console/web"
BUILT = ROOT / "build/console"
DAY = 86400
DAYS = 11

ODS = ("trade_order_hi", "trade_item_hi", "pay_flow_hi", "refund_apply_hi", "user_profile_di", "goods_sku_di", "log_click_hi")
TASKS = {**{f"ods_{n}": () for n in ODS},
         "dwd_trade_order_di": ("ods_trade_order_hi", "ods_trade_item_hi"), "dwd_pay_detail_di": ("ods_pay_flow_hi",),
         "dwd_pay_refund_di": ("ods_refund_apply_hi", "ods_pay_flow_hi"), "dim_user_di": ("ods_user_profile_di",),
         "dim_sku_di": ("ods_goods_sku_di",), "dwd_log_click_di": ("ods_log_click_hi",),
         "dwd_order_wide_di": ("dwd_trade_order_di", "dim_user_di", "dim_sku_di"),
         "dwd_refund_wide_di": ("dwd_pay_refund_di", "dwd_trade_order_di"),
         "dws_trade_sku_1d": ("dwd_order_wide_di",), "dws_trade_user_1d": ("dwd_order_wide_di", "dwd_pay_detail_di"),
         "dws_refund_sku_1d": ("dwd_refund_wide_di",), "dws_traffic_page_1d": ("dwd_log_click_di",),
         "ads_gmv_board": ("dws_trade_sku_1d", "dws_refund_sku_1d"), "ads_user_growth": ("dws_trade_user_1d",),
         "ads_traffic_funnel": ("dws_traffic_page_1d",), "exp_gmv_mysql": ("ads_gmv_board",)}

REFUND = r"""
i=0; while [ $i -lt 400 ]; do echo "INFO  spark.TaskSetManager: finished task $i.0 in stage 7"; i=$((i+1)); done
printf '\033[33mWARN\033[0m  lost task 311.0 in stage 7: fetch failed, retrying\n'
if [ "$day" = "{bad}" ]; then
  printf '\033[31mERROR\033[0m constraint: Duplicate key refund_id=9048213377102 in dt=%s (2 rows)\n' "$day"
  echo 'INFO  <script>alert(1)</script> & "quotes" stay text'
  exit 3
fi
echo "INFO  wrote 18204 rows"
"""


def day_of(now, back):
    return rfc3339((now // DAY - back) * DAY)[:10]


PICTURES = bool(os.environ.get("SHOTS"))  # then the site is dressed for them: a test needs none of it


def document(now, folder):
    """A retail warehouse: some days of it are over, one has a failure that holds what follows."""
    text = ("workflow: trade_daily\nproject: retail\ntimezone: UTC\n"
            f"start_date: {day_of(now, DAYS)}\n" + ("" if PICTURES else f"end_date: {day_of(now, 1)}\n") +
            f"defaults: {{type: noop, cycle: day, {'fire: end, ' if PICTURES else ''}owner: lin.yue, catchup: {{mode: all, max: 1000}}, retry: {{attempts: 1}}}}\ntasks:\n")
    for n, (name, needs) in enumerate(TASKS.items()):
        text += f"  {name}:\n    needs: [{', '.join(needs)}]\n"
        if PICTURES and name not in ("dwd_pay_refund_di", "dwd_log_click_di"):
            text += (f"    type: shell\n    params: {{day: '$[yyyy-MM-dd]', script: 'echo \"partition dt=$day of {name}\"; "
                     f"[ \"$day\" != \"{day_of(now, 1)}\" ] || sleep {0.4 + n * 7 % 10 / 4}; echo \"{1000 + n * 7919} rows\"'}}\n")
        if name == "dwd_pay_refund_di":
            text += "    type: shell\n    owner: wang.hao\n    retry: {attempts: 2, delay: 0s}\n    params:\n      day: $[yyyy-MM-dd]\n      script: |\n"
            text += "".join(f"        {line}\n" for line in REFUND.replace("{bad}", day_of(now, 1)).strip().splitlines())
        if name == "dwd_log_click_di":
            text += ("    type: shell\n    params:\n      day: $[yyyy-MM-dd]\n      script: |\n        echo \"reading clicks of $day\"\n"
                     f"        if [ \"$day\" = \"{day_of(now, 1)}\" ]; then while [ ! -e {folder}/go ]; do echo \"INFO  still reading\"; sleep 0.5; done; fi\n")
    return text


def dress(site, now):
    """What a picture wants and no test needs: more workflows, parameters, servers, calendars, people."""
    flows = (("finance", "settle_daily", "zhao.lei", ("bank_flow", "ledger", "settle", "report")),
             ("member", "profile_daily", "chen.rui", ("visits", "orders", "labels", "profile", "export")),
             ("risk", "score_daily", "wang.hao", ("events", "features", "score")))
    for project, name, owner, tasks in flows:
        text = (f"workflow: {name}\nproject: {project}\ntimezone: Asia/Shanghai\nstart_date: {day_of(now, 9)}\n"
                f"defaults: {{type: noop, cycle: day, owner: {owner}, catchup: {{mode: all, max: 100}}}}\ntasks:\n")
        for n, task in enumerate(tasks):
            text += f"  {task}: {{needs: [{tasks[n - 1] if n else ''}]}}\n"
        site.apply(text, name + ".yaml", **{"from": day_of(now, 9)})
    site.apply("calendar: china_workdays\ndescription: State Council, 2026\nweekends: [saturday, sunday]\n"
               "holidays: [2026-10-01, 2026-10-02, 2026-10-05, 2026-10-06, 2026-10-07, 2027-01-01]\nworkdays: [2026-10-10]\n", "calendar.yaml")
    for words in (("param", "set", "warehouse=/data/dw"), ("param", "set", "keep_days=400"), ("param", "set", "--project", "retail", "currency=CNY"),
                  ("param", "set", "--project", "retail", "late_hours=3")):
        site.sirdar(*words)


HOURLY = """workflow: log_hourly
project: retail
timezone: UTC
start_date: {start}
end_date: {end}
defaults: {{type: noop, cycle: hour, owner: chen.rui, catchup: {{mode: all, max: 1000}}}}
tasks:
  collect: {{}}
  sessions: {{needs: [collect]}}
  report: {{needs: [sessions], pool: {{nobody: 1}}}}
"""


def make_warehouse(name):
    """-> a site with some days of a warehouse behind it, and its clock."""
    site = Site(name, types_dir=BIN.parent / "types")
    site.cgi.argv += ["--set", f"web_dir={BUILT}"]
    site.start(types=("shell:8", "noop:64"))
    now = int(time.time())
    folder = site.dir / "data"
    from_ = day_of(now, DAYS)
    site.apply(document(now, folder), "trade.yaml", **{"from": from_})
    site.command("pool-set", pool="dw_slots", size=8)
    if PICTURES:
        dress(site, now)
    site.apply(HOURLY.format(start=day_of(now, 2), end=day_of(now, 1)).replace(", pool: {nobody: 1}", ""), "hourly.yaml", **{"from": day_of(now, 2)})
    site.wait_state("retail/trade_daily/dwd_pay_refund_di", f"{day_of(now, 1)}T00:00:00Z", "StopSchedule", 120)
    until("earlier days are over", lambda: len([i for i in site.instances("retail/trade_daily/exp_gmv_mysql") if i["state"] == "Succ"]) == DAYS - 1, 180)
    until("what does not wait is over", lambda: not [i for i in site.instances(states="DependenceFinish")], 120)
    return site, now


ACTS = {}


def act(function):
    """A journey may call it: function(site, **what it gives) -> what JSON can say, or None."""
    ACTS[function.__name__] = function
    return function


def serve_acts(site):
    """-> where a journey posts {"name", "args"}. One at a time."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                with lock:
                    code, answer = 200, ACTS[asked["name"]](site, **asked["args"])
            except Exception as e:  # noqa: BLE001 the journey fails with it
                code, answer = 500, {"error": repr(e)}
            body = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{made.server_port}/"


def facts(site, now, port=None):
    return {"url": f"http://127.0.0.1:{port or site.http}", "password": site.first_password(), "folder": str(site.dir / "data"), "acts": serve_acts(site),
            "last": day_of(now, 1), "days": [day_of(now, b) for b in range(DAYS, 0, -1)], "profile": str(site.dir / "browser")}


def why_not():
    """-> what this machine lacks, or ''."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are not here"
    if not shutil.which(os.environ.get("CHROMIUM", "chromium")):
        return "chromium is not here (packaging/deps.sh browser)"
    return ""


def build():
    """-> what keeps the console from being built, or ''."""
    done = subprocess.run([str(WEB / "build.sh")], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit status {done.returncode}"


def main(folder, make):
    """Walks through journeys/FOLDER on the site that make() gives, with its facts."""
    reason = why_not()
    if reason:
        print(f"1..1\nok 1 - the console in a browser # SKIP {reason}")
        print(f"console: SKIPPED, {reason}", file=sys.stderr)
        return 0
    wrong = build()
    if wrong:
        print("1..1\n" + "\n".join("# " + line for line in wrong.splitlines()) + "\nnot ok 1 - the console is built")
        return 1
    began = time.monotonic()
    site, told = make()
    try:
        print(f"# the site was made in {time.monotonic() - began:.1f} s", flush=True)
        if os.environ.get("SERVE"):
            print(json.dumps(told), flush=True)
            sys.stdin.readline()
            return 0
        env = dict(site.env, FACTS=json.dumps(told), CHROMIUM=shutil.which(os.environ.get("CHROMIUM", "chromium")))
        code = subprocess.run(["node", str(WEB / "tests/journeys.mjs"), folder, *sys.argv[1:]], env=env, stdin=subprocess.DEVNULL).returncode
        if code:
            print("\n".join("# " + line for line in site.logs().splitlines()))
        return code
    finally:
        site.close()


def warehouse(folder):
    site, now = make_warehouse("console-" + folder)
    return site, facts(site, now)
