"""Ask the C core (oracle_driver) and the model (model.py) the same random questions.

    oracle.py DRIVER [--n CASES] [--seed S] [--seconds LIMIT]

Prints TAP: one line per family of questions. A difference prints what would repeat it.
"""
import argparse
import random
import subprocess
import sys
import time
import zoneinfo
from datetime import datetime, timezone

import model
from model import DAY, Plan, Zone

NAMES = sorted(z for z in zoneinfo.available_timezones()
               if "/" in z and not z.startswith(("posix", "right", "Etc", "SystemV", "US/")))
LIVELY = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Europe/Dublin",
          "Pacific/Apia", "America/Sao_Paulo", "Asia/Beirut", "America/St_Johns", "Asia/Tehran",
          "America/Havana", "Pacific/Kwajalein", "Asia/Shanghai", "Antarctica/Troll", "Asia/Kathmandu"]
ALL = sorted(z for z in zoneinfo.available_timezones()
             if z not in ("Factory", "localtime") and not z.startswith(("posix", "right")))
YEARS = (int(datetime(1971, 1, 1, tzinfo=timezone.utc).timestamp()),
         int(datetime(2070, 1, 1, tzinfo=timezone.utc).timestamp()))
CRONS = """
0 * * * *|*/15 * * * *|30 2 * * *|0 2,3 * * *|15 1-3 * * *|*/20 0-4 * * *|0 22-2 * * *|0 0 * * 1|30 1 * * 7
0 0 1,15 * 1|0 0 */2 * 1|0 12 13 * FRI|0 0 L * *|30 2 15W * *|0 0 1W * *|0 0 LW * *|0 6 * * FRI#2|0 6 * * 5L
0 0 29 2 *|5 4 * JAN-MAR,NOV SUN|0 0 * * FRI-MON|45 23 31 * *|0 0 * * 5-7|0 0 L-3 * *|10 3 L-2W * *
0 0 2 * * ?|*/30 * * * * *|0 0/10 * * * ?|0 30 1 ? * SUN|0 30 2 ? * 1#5|0 0 6 1 * ?|0 15 2 ? * 6L|30 59 1 * * ?
0 0 3 LW * ?|0 0 0 ? * 2-6|0 0 0 1 1 ? 2000-2060/4|0 0 12 ? * L|0 0 0 31W * ?|15,45 30 2-3 L * ?|0 0 * 1 * ?
0 0 0 ? NOV-FEB SAT-SUN|0 5 4 ? 3,10 SUN#1,SUN#2|0 */7 1-2 * * *
""".replace("\n", "|").split("|")
CRONS = [c.strip() for c in CRONS if c.strip()]
NEAR = [c for c in CRONS if c in (
    "0 * * * *", "*/15 * * * *", "30 2 * * *", "0 2,3 * * *", "15 1-3 * * *", "*/20 0-4 * * *", "0 22-2 * * *",
    "0 0 2 * * ?", "*/30 * * * * *", "0 0/10 * * * ?", "0 30 1 ? * SUN", "0 30 2 ? * 1#5", "0 30 59 1 * * ?",
    "0 */7 1-2 * * *", "15,45 30 2-3 L * ?")] + ["0 0 * * *", "59 23 * * *", "30 0-1 * * *", "0 */2 * * *",
                                                 "0,30 */3 * * *"]
WINDOWS = ["[@day-1d,@day)", "(t-24h,t]", "{@week-3d}", "[@month-1M,@month)", "{@month-1d}", "{latest}", "[t-24h,t)",
           "[@week-1w,@week)", "[@hour,t]", "{@week+4d,@month-1d}", "[@day-1d,@day]", "(@month-1M+1d,t]",
           "[@year-1y,@year)", "[@day,@day+1d)", "{@month,@month-1M,@month-2M}", "[t-1d,t]", "(@day-90m,@day+2h]"]


class Difference(Exception):
    pass


class Asker:
    def __init__(self, driver, seed):
        self.p = subprocess.Popen([driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.rnd = random.Random(seed)
        self.said = []

    def ask(self, line):
        self.said.append(line)
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().split()

    def same(self, line, want):
        got = self.ask(line)
        want = [str(w) for w in want]
        if got != want:
            raise Difference("\n".join(self.said + [f"core  {got[:12]}", f"model {want[:12]}"]))

    # --- where to look ---------------------------------------------------------------------

    def place(self):
        """A zone and an instant, most often at a change of its clock."""
        zone = self.rnd.choice(LIVELY if self.rnd.random() < 0.7 else NAMES)
        t = self.rnd.randrange(*YEARS)
        if self.rnd.random() < 0.8:
            row = model.pieces(zone, t // DAY * DAY, t // DAY * DAY + 400 * DAY)
            if len(row) > 1 and row[0][1] < YEARS[1]:
                t = row[0][1]
        return zone, t

    # --- families -----------------------------------------------------------------------------

    def zones(self):
        zone, t = self.place()
        z = Zone(zone, t - 4 * DAY, t + 4 * DAY)
        for _ in range(8):
            u = t + self.rnd.choice((-1, 0, 1, self.rnd.randrange(-DAY, DAY)))
            self.same(f"offset {zone} {u}", [z.local(u) - u])
            label = z.local(t) + self.rnd.randrange(-2 * DAY, 2 * DAY)
            self.same(f"first {zone} {label}", [z.first(label)])
        return 16

    def random_offset(self, unit):
        kinds = [(1, self.rnd.randrange(DAY), self.rnd.choice((0, 0, 1, 3)))]
        if unit in ("month", "year"):
            kinds += [(2, 9000, self.rnd.randrange(1, 32)), (3, 9000, 0)]
        if unit == "week":
            kinds.append((4, 7200, self.rnd.randrange(1, 8)))
        return self.rnd.choice(kinds)

    def random_calendar(self, args, near):
        if self.rnd.random() < 0.6:
            return ""
        listed = {near // DAY + self.rnd.randrange(-40, 40): self.rnd.random() < 0.3 for _ in range(20)}
        mask = self.rnd.choice((31, 127, 0b1010101, 31))
        args.update(cal=(mask, listed), on=self.rnd.choice(("run_date", "due")), shift=self.rnd.choice((0, 1, 2, 3)))
        days = "".join(f",{d}:{int(v)}" for d, v in listed.items())
        return f" cal={mask}{days} on={args['on']} shift={args['shift']}"

    def define(self, slot, zone, span, near, units, crons=True, extras=True):
        """The same plan on both sides."""
        args, said = {}, ""
        if crons and self.rnd.random() < 0.3:
            args["cron"] = self.rnd.choice(CRONS)
            said += " cron=" + args["cron"].replace(" ", "_")
        else:
            unit = self.rnd.choice(units)
            steps = {"minute": (5, 15, 30, 7, 90, 50), "hour": (1, 1, 2, 6, 5, 12), "day": (1, 1, 2, 3),
                     "week": (1, 1, 2), "month": (1, 1, 3), "year": (1, 2)}[unit]
            args.update(unit=unit, step=self.rnd.choice(steps), anchor=near - self.rnd.randrange(8 * DAY))
            said += f" unit={unit} step={args['step']} anchor={args['anchor']}"
        if extras:
            args["fire"] = self.rnd.choice(("start", "end"))
            off = self.random_offset(args.get("unit"))
            args.update(off=off[0], sec=off[1], days=off[2])
            said += f" fire={args['fire']} off={off[0]} sec={off[1]} days={off[2]}"
            said += self.random_calendar(args, near)
            if self.rnd.random() < 0.2:
                args["start"] = near - self.rnd.randrange(5 * DAY)
                said += f" start={args['start']}"
        plan = Plan(zone, near - span, near + span, **args)
        self.same(f"plan {slot} tz={zone}{said}", ["ok"])
        return plan

    def compare_plan(self, plan, near, inner):
        want = [t for t in plan.plan if near - inner <= t <= near + inner]
        n = 0
        if want:
            self.same(f"next 0 {want[0] - 1} {len(want)}", want)
            self.same(f"prev 0 {want[-1] + 1} {len(want)}", want[::-1])
            at = self.rnd.randrange(near - inner, near + inner)
            after = [t for t in want if t > at][:1]
            if after:
                self.same(f"next 0 {at} 1", after)
            n += 2
        for t in self.rnd.sample(want, min(6, len(want))):
            self.same(f"end 0 {t}", [plan.period_end(t)])
            self.same(f"due 0 {t}", [plan.due(t)])
            n += 2
        return n

    def cycles(self):
        zone, t = self.place()
        units, span, inner = self.rnd.choice(((("minute", "hour"), 12, 2), (("day", "week"), 120, 50),
                                              (("month", "year"), 2400, 1000)))
        plan = self.define(0, zone, span * DAY, t, units, crons=False)
        return self.compare_plan(plan, t, inner * DAY)

    def floors(self):
        zone, t = self.place()
        n = 0
        for unit, span in (("minute", 6), ("hour", 6), ("day", 6), ("week", 20), ("month", 80), ("year", 800)):
            plan = Plan(zone, t - span * DAY, t + span * DAY, unit=unit)
            u = t + self.rnd.randrange(-DAY, DAY)
            (a, _), (b, _) = plan.cycle_period(u)
            self.same(f"floor {zone} {unit} {u}", [a, b])
            n += 1
        return n

    def crons(self):
        zone, t = self.place()
        text = self.rnd.choice(CRONS)
        c = model.Cron(text)
        dense = len(c.times) > 50
        span, inner = (12, 2) if dense else (900, 400)
        plan = Plan(zone, t - span * DAY, t + span * DAY, unit="fire", cron=text)
        self.same(f"plan 0 tz={zone} unit=fire cron={text.replace(' ', '_')}", ["ok"])
        want = [x for x in plan.plan if t - inner * DAY <= x <= t + inner * DAY][:3000]
        if not want:
            return 1
        self.same(f"next 0 {want[0] - 1} {len(want)}", want)
        self.same(f"prev 0 {want[-1] + 1} {len(want)}", want[::-1])
        return 2

    # Around each change of each zone's clock: what fires there, and the periods it lies in.
    def transitions(self, zone=None, t=None):
        if zone is None:
            zone = self.rnd.choice(ALL)
            t = self.rnd.randrange(*YEARS) // DAY * DAY
            row = model.pieces(zone, t, t + 400 * DAY)
            t = row[0][1] if len(row) > 1 else t
        n = 0
        for text in self.rnd.sample(NEAR, 3):
            plan = Plan(zone, t - 6 * DAY, t + 6 * DAY, unit="fire", cron=text)
            self.same(f"plan 0 tz={zone} unit=fire cron={text.replace(' ', '_')}", ["ok"])
            n += self.compare_plan(plan, t, 2 * DAY)
        for unit, step in self.rnd.sample((("minute", 15), ("hour", 1), ("hour", 5), ("hour", 6), ("day", 1)), 2):
            off = (1, self.rnd.randrange(DAY), 0)
            said = f"unit={unit} step={step} anchor={t - 5 * DAY} fire=end off=1 sec={off[1]} days=0"
            plan = Plan(zone, t - 9 * DAY, t + 9 * DAY, unit=unit, step=step, anchor=t - 5 * DAY, fire="end",
                        off=1, sec=off[1], days=0)
            self.same(f"plan 0 tz={zone} {said}", ["ok"])
            n += self.compare_plan(plan, t, 2 * DAY)
        return n

    def versions(self):
        """An edit: before `since` the old plan, from there the new one."""
        zone, t = self.place()
        units, span, inner = self.rnd.choice(((("minute", "hour"), 12, 2), (("day", "week"), 200, 50)))
        old = self.define(1, zone, span * DAY, t, units)
        new = self.define(0, self.rnd.choice((zone, self.place()[0])), span * DAY, t, units)
        since = t + self.rnd.randrange(-inner * DAY // 2, inner * DAY // 2)
        self.same(f"follow 0 1 {since}", ["ok"])
        rows = [p for p in old.plan if t - inner * DAY <= p < since] + \
            [p for p in new.plan if since <= p <= t + inner * DAY]
        if not rows:
            return 1
        self.same(f"next 0 {rows[0] - 1} {len(rows)}", rows)
        self.same(f"prev 0 {rows[-1] + 1} {len(rows)}", rows[::-1])
        n = 2
        for p in self.rnd.sample(rows, min(6, len(rows))):
            which = old if p < since else new
            self.same(f"end 0 {p}", [which.period_end(p)])
            self.same(f"due 0 {p}", [which.due(p)])
            n += 2
        return n

    def units(self):
        text = self.rnd.choice(CRONS)
        self.same(f"plan 0 tz=UTC cron={text.replace(' ', '_')}", ["ok"])
        self.same("unit 0", [UNITS.setdefault(text, model.Cron(text).unit())])
        return 1

    def links(self):
        zone, t = self.place()
        zone2 = zone if self.rnd.random() < 0.5 else self.place()[0]
        big = self.rnd.random() < 0.3
        units = ("day", "week", "month", "year") if big else ("minute", "hour", "day", "week", "month")
        span = (1300 if big else 130) * DAY
        parent = self.define(0, zone, span, t, units, crons=True, extras=False)
        child = self.define(1, zone2, span, t, units, crons=True, extras=False)
        near = [x for x in child.plan if abs(x - t) < span // 30]
        if not near:
            return 0
        n = 0
        for _ in range(6):
            u = self.rnd.choice(near)
            kind = self.rnd.choice(["1", "2", "3", "-1", "-2", "-5"] + WINDOWS)
            if not big and "y" in kind.replace("day", ""):
                continue
            want = model.edges(parent, child, kind, u)
            self.same(f"link 0 1 {kind} {u}", want[:4000])
            n += 1
        return n


UNITS = {}
FAMILIES = {"zones": 3, "floors": 2, "cycles": 4, "crons": 3, "transitions": 4, "versions": 3, "units": 1,
            "links": 4}


def every_transition(talk, seed):
    """All zones, each change of their clocks from 1971 to 2070. -> questions answered"""
    asked = 0
    for zone in ALL:
        for _, t, _ in model.pieces(zone, *YEARS)[:-1]:
            talk.rnd, talk.said = random.Random(f"every-{seed}-{zone}-{t}"), []
            try:
                asked += talk.transitions(zone, t)
            except model.Outside:
                pass
    return asked


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("driver")
    ap.add_argument("--n", default="100", help="cases, or `all`: also every change of every zone")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--only", choices=FAMILIES)
    a = ap.parse_args()
    everything = a.n == "all"
    a.n = 1500 if everything else int(a.n)
    failed = 0
    for i, (family, weight) in enumerate(FAMILIES.items(), 1):
        if a.only and family != a.only:
            continue
        asked, beyond, differences, began = 0, 0, [], time.monotonic()
        for case in range(a.n * weight // 4 + 1):
            asker = None if case else Asker(a.driver, 0)
            if asker:
                talk = asker
            talk.rnd, talk.said = random.Random(f"{family}-{a.seed}-{case}"), []
            try:
                asked += getattr(talk, family)()
            except model.Outside:
                beyond += 1
            except Difference as d:
                differences.append(f"case {case}: {d}")
                if len(differences) >= 5:
                    break
        if everything and family == "transitions" and not differences:
            try:
                asked += every_transition(talk, a.seed)
            except Difference as d:
                differences.append(str(d))
        talk.p.stdin.close()
        bad = bool(differences) or talk.p.wait() != 0 or asked == 0 or beyond * 4 > case
        failed += bad
        print(f"{'not ok' if bad else 'ok'} {i} - core and model agree on {family}: {asked} answers, "
              f"{time.monotonic() - began:.1f} s", flush=True)
        for d in differences:
            print("# " + d.replace("\n", "\n#   "))
    print(f"1..{len(FAMILIES)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
