"""A slow model of SEMANTICS sections 1 and 2, written from the page and not from the C code.

Everything is listed and filtered: which dates, which instants, which run_dates. Zones come
from Python's zoneinfo, as pieces of time with one offset each.
"""
import bisect
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

DAY = 86400
EPOCH = date(1970, 1, 1).toordinal()
LONG = ("day", "week", "month", "year")


class Outside(Exception):
    """Asked beyond what the model has listed: at its edges only, which are not compared."""


def offset_at(info, t):
    return int(datetime.fromtimestamp(t, info).utcoffset().total_seconds())


@lru_cache(None)
def pieces(zone, lo, hi):
    """[(from, to, offset)] of the zone between two instants, by sampling and bisection."""
    info = ZoneInfo(zone)
    out, begin, off = [], lo, offset_at(info, lo)
    t = lo
    while t < hi:
        n = min(t + 6 * 3600, hi)
        new = offset_at(info, n)
        if new != off:
            a, b = t, n
            while b - a > 1:
                m = (a + b) // 2
                if offset_at(info, m) == off:
                    a = m
                else:
                    b = m
            out.append((begin, b, off))
            begin, off, t = b, offset_at(info, b), b
            continue
        t = n
    out.append((begin, hi, off))
    return out


class Zone:
    """A zone as seen between two instants."""

    def __init__(self, name, lo, hi):
        lo, hi = lo // DAY * DAY, hi // DAY * DAY + DAY
        self.name, self.pieces = name, pieces(name, lo, hi)
        self.ends = [p[1] for p in self.pieces]
        self.starts_cache = {}
        self.days = (lo // DAY + 2, hi // DAY - 2)

    def local(self, t):
        i = bisect.bisect_right(self.ends, t)
        if i == len(self.ends):
            raise Outside
        return t + self.pieces[i][2]

    def instants(self, label):
        return sorted(label - o for a, b, o in self.pieces if a <= label - o < b)

    def first(self, label):
        """First occurrence; in a gap its end."""
        found = self.instants(label)
        if found:
            return found[0]
        for (_, b, o), (_, _, o2) in zip(self.pieces, self.pieces[1:]):
            if b + o <= label < b + o2:
                return b
        raise Outside

    def day_start(self, day):
        """First instant with that local date, None if the date was left out."""
        if day not in self.starts_cache:
            found = []
            for a, b, o in self.pieces:
                x, y = max(a, day * DAY - o), min(b, (day + 1) * DAY - o)
                if x < y:
                    found.append(x)
            self.starts_cache[day] = min(found) if found else None
        return self.starts_cache[day]

    def day_of(self, t):
        """The date whose day holds t: the last one that has begun."""
        d = self.local(t) // DAY + 1
        if not self.days[0] < d < self.days[1]:
            raise Outside
        while self.day_start(d) is None or self.day_start(d) > t:
            d -= 1
        return d


def to_date(day):
    return date.fromordinal(day + EPOCH)


def unit_key(unit, day):
    d = to_date(day)
    return {"day": day, "week": (day + 3) // 7, "month": d.year * 12 + d.month - 1, "year": d.year}[unit]


def add_months(day, n):
    d = to_date(day)
    k = d.year * 12 + d.month - 1 + n
    y, m = divmod(k, 12)
    last = (date(y + m // 11, (m + 1) % 12 + 1, 1) - timedelta(1)).day
    return date(y, m + 1, min(d.day, last)).toordinal() - EPOCH


# --- cron -----------------------------------------------------------------------------------

MONTHS = {n: i + 1 for i, n in enumerate("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split())}
WEEKDAYS = {n: i for i, n in enumerate("SUN MON TUE WED THU FRI SAT".split())}


class Cron:
    """Sets of numbers, and a test of one date after another."""

    def __init__(self, text):
        f = text.split()
        self.quartz = len(f) > 5
        if len(f) == 5:
            f = ["0"] + f
        self.sec, self.min, self.hour = (self.numbers(x, 0, hi) for x, hi in zip(f, (59, 59, 23)))
        self.mon = self.numbers(f[4], 1, 12, MONTHS)
        self.dom, self.dow = f[3].upper(), f[5].upper()
        self.year = self.numbers(f[6], 1970, 2199) if len(f) > 6 else None
        self.elapsed = f[2] == "*"
        self.times = sorted(h * 3600 + m * 60 + s for h in self.hour for m in self.min for s in self.sec)

    @staticmethod
    def numbers(text, lo, hi, names={}):
        def num(s):
            return names.get(s.upper()) if s.upper() in names else int(s)
        out = set()
        for item in text.split(","):
            body, _, step = item.partition("/")
            step = int(step or 1)
            if body in "*?":
                row = list(range(lo, hi + 1))
            elif "-" in body:
                a, b = map(num, body.split("-"))
                row = list(range(a, b + 1)) if a <= b else list(range(a, hi + 1)) + list(range(lo, b + 1))
            else:
                a = num(body)
                row = list(range(a, hi + 1)) if "/" in item else [a]
            out |= set(row[::step])
        return out

    def day_of_month(self, d):
        last = (d.replace(day=28) + timedelta(4)).replace(day=1) - timedelta(1)

        def near(x):
            if x.weekday() < 5:
                return x
            around = [x + timedelta(k) for k in (-1, 1, -2, 2)]
            return next(y for y in around if y.month == x.month and y.weekday() < 5)
        for item in self.dom.split(","):
            if item.startswith("L"):
                rest = item[1:]
                back = int(rest.rstrip("W")[1:]) if rest.startswith("-") else 0
                if back >= last.day:
                    continue
                x = last - timedelta(back)
                if d == (near(x) if rest.endswith("W") else x):
                    return True
            elif item.endswith("W"):
                n = int(item[:-1])
                if n <= last.day and d == near(d.replace(day=n)):
                    return True
            elif d.day in self.numbers(item, 1, 31):
                return True
        return False

    def weekday_number(self, s):
        if s in WEEKDAYS:
            return WEEKDAYS[s]
        return int(s) - 1 if self.quartz else int(s) % 7

    def day_of_week(self, d):
        mine = d.isoweekday() % 7
        for item in self.dow.split(","):
            body, _, step = item.partition("/")
            step = int(step or 1)
            if item in ("L",):
                row = [6]
            elif body in ("*", "?"):
                row = list(range(7))[::step]
            elif "#" in body:
                w, n = body.split("#")
                row = [self.weekday_number(w)] if (d.day - 1) // 7 + 1 == int(n) else []
            elif body.endswith("L"):
                row = [self.weekday_number(body[:-1])] if (d + timedelta(7)).month != d.month else []
            elif "-" in body:
                a, b = body.split("-")
                a, b = self.weekday_number(a), (7 if b == "7" and not self.quartz else self.weekday_number(b))
                row = [x % 7 for x in range(a, b + 1 if a <= b else b + 8)][::step]
            else:
                a = self.weekday_number(body)
                row = list(range(a, 7))[::step] if "/" in item else [a]
            if mine in row:
                return True
        return False

    def date_ok(self, day):
        d = to_date(day)
        if d.month not in self.mon or (self.year is not None and d.year not in self.year):
            return False
        a, b = self.day_of_month(d), self.day_of_week(d)
        if not self.quartz and self.dom[0] not in "*?" and self.dow[0] not in "*?":
            return a or b
        return a and b

    def fires(self, z):
        out = set()
        for day in range(*z.days):
            if not self.date_ok(day):
                continue
            for t in self.times:
                found = z.instants(day * DAY + t)
                if self.elapsed:
                    out.update(found)
                else:
                    out.add(found[0] if found else z.first(day * DAY + t))
        return sorted(out)

    def unit(self):
        """Judged on local fields over 28 years and a bit, which hold every case the tests use."""
        days = [d for d in range(*[date(y, 1, 1).toordinal() - EPOCH for y in (2001, 2041)]) if self.date_ok(d)]
        stamps = [(d, t) for d in days for t in self.times[:3000]]
        keys = {"minute": lambda d, t: (d, t // 60), "hour": lambda d, t: (d, t // 3600)}
        for u in ("year", "month", "week", "day", "hour", "minute"):
            key = keys.get(u, lambda d, t, u=u: unit_key(u, d))
            seen = [key(d, t) for d, t in (stamps[:200000])]
            if len(seen) == len(set(seen)):
                return u
        return "fire"


# --- plans ---------------------------------------------------------------------------------

class Plan:
    def __init__(self, zone, lo, hi, unit="none", step=1, start=-10**15, end=10**15, anchor=0, fire="start",
                 off=0, sec=0, days=0, cron=None, cal=None, on="run_date", shift=0):
        self.z = Zone(zone, lo, hi)
        self.step, self.anchor, self.fire = step, anchor, fire
        self.off, self.sec, self.days, self.shift, self.on = off, sec, days, shift, on
        self.cron = Cron(cron) if cron else None
        self.unit = unit if not self.cron or unit != "none" else self.cron.unit()
        self.long = self.unit in LONG
        if self.cron:
            self.starts = self.cron.fires(self.z)
        else:
            self.starts = self.boundaries(self.unit, step)
        self.mask, self.listed = 127, {}
        self.cal = cal
        if cal:
            self.mask, self.listed = cal
        # Calendars remove run_dates, but never stretch periods.
        self.plan = [t for t in self.starts if start <= t <= end and self.allowed(t)]

    def first_days(self, unit, step):
        """{key of the n-unit period: its first instant}"""
        origin = unit_key(unit, self.z.day_of(self.anchor)) if step > 1 else 0
        out = {}
        for day in range(*self.z.days):
            s = self.z.day_start(day)
            if s is not None:
                k = (unit_key(unit, day) - origin) // step
                out[k] = min(out.get(k, s), s)
        return out

    def boundaries(self, unit, step):
        z = self.z
        if unit in LONG:
            return sorted(self.first_days(unit, step).values())[1:]
        length = step * (3600 if unit == "hour" else 60)
        starts = sorted(s for s in map(z.day_start, range(*z.days)) if s is not None)
        if DAY % length == 0:
            return [t for a, b in zip(starts, starts[1:]) for t in range(a, b, length)]
        day = z.day_start(z.day_of(self.anchor))
        one = 3600 if unit == "hour" else 60
        base = day + (self.anchor - day) // one * one
        lo = base + -(-(starts[0] - base) // length) * length
        return list(range(lo, starts[-1], length))

    def calendar_ok(self, day):
        return self.listed.get(day, bool(self.mask >> ((day + 3) % 7) & 1))

    def tested(self, t):
        return self.z.day_of(t if self.on == "run_date" else self.plain_due(t))

    def moved(self, t):
        return self.cal and self.shift in (1, 2) and self.unit in ("week", "month", "year")

    def target(self, day):
        for k in range(4000):
            d = day + (k if self.shift == 1 else -k)
            if self.calendar_ok(d):
                return d
        return None

    def allowed(self, t):
        if not self.cal:
            return True
        try:
            if self.moved(t):
                return self.target(self.tested(t)) is not None
            return self.calendar_ok(self.tested(t))
        except Outside:
            return False

    def period_end(self, t):
        i = bisect.bisect_right(self.starts, t)
        if i == len(self.starts):
            raise Outside
        return self.starts[i]

    def due_label(self, t):
        base = self.period_end(t) if self.fire == "end" else t
        z, day = self.z, self.z.day_of(base)
        if self.cron:
            return z.local(base) + self.days * DAY + self.sec
        d = to_date(day)
        if self.off == 2:  # day of the month
            nxt = add_months(d.replace(day=1).toordinal() - EPOCH, 1)
            day = min(d.replace(day=1).toordinal() - EPOCH + self.days - 1, nxt - 1)
        elif self.off == 3:  # last day
            keys = self.first_days(self.unit, self.step)
            after = [s for s in keys.values() if s > base]
            if not after:
                raise Outside
            day = z.day_of(min(after)) - 1
        elif self.off == 4:  # weekday
            day = (day + 3) // 7 * 7 - 3 + self.days - 1
        else:
            day += self.days
        return day * DAY + self.sec

    def plain_due(self, t):
        if self.long:
            return self.z.first(self.due_label(t))
        base = self.period_end(t) if self.fire == "end" else t
        return base + self.days * DAY + self.sec

    def due(self, t):
        if not self.moved(t):
            return self.plain_due(t)
        day = self.tested(t)
        return self.z.first(self.due_label(t) + (self.target(day) - day) * DAY)

    # --- links ---------------------------------------------------------------------------

    def own_label(self, p):
        """What the zone's clock shows for a run_date; dates are midnights."""
        try:
            day = self.z.day_of(p) * DAY
        except Outside:
            return p
        return day if self.long and not self.cron else max(self.z.local(p), day)

    def cycle_period(self, t):
        """The period of the cycle (of a cron: of its unit) that holds t: instants and labels."""
        if not hasattr(self, "bounds"):
            self.bounds = self.boundaries(self.unit, self.step)
        i = bisect.bisect_right(self.bounds, t)
        if not 0 < i < len(self.bounds):
            raise Outside
        a, b = self.bounds[i - 1], self.bounds[i]
        lab = (lambda x: self.z.day_of(x) * DAY) if self.long else (
            lambda x: max(self.z.local(x), self.z.day_of(x) * DAY))
        return (a, lab(a)), (b, lab(b))


def point(child, text, t):
    """A bound `@day-1d`: (instant, label)."""
    z = child.z
    word, rest = text, ""
    for i, c in enumerate(text):
        if c in "+-":
            word, rest = text[:i], text[i:]
            break
    day = z.day_of(t)
    if word == "t":
        on_grid = child.long and not child.cron and t in child.starts
        at = (t, day * DAY if on_grid else max(z.local(t), day * DAY))
    elif word[1:] in LONG:
        key = unit_key(word[1:], day)
        while unit_key(word[1:], day - 1) == key:
            day -= 1
        at = (z.first(day * DAY), day * DAY)
    else:
        one = 3600 if word == "@hour" else 60
        s = z.day_start(day)
        u = s + (t - s) // one * one
        at = (u, max(z.local(u), z.day_of(u) * DAY))
    while rest:
        sign, i = (1 if rest[0] == "+" else -1), 1
        while rest[i].isdigit():
            i += 1
        n, unit, rest = sign * int(rest[1:i]), rest[i], rest[i + 1:]
        if unit in "mh":
            u = at[0] + n * (60 if unit == "m" else 3600)
            at = (u, max(z.local(u), z.day_of(u) * DAY))
            continue
        d, clock = divmod(at[1], DAY)
        d = {"d": lambda: d + n, "w": lambda: d + 7 * n, "M": lambda: add_months(d, n),
             "y": lambda: add_months(d, 12 * n)}[unit]()
        at = (z.first(d * DAY + clock), d * DAY + clock)
    return at


def edges(parent, child, kind, t):
    """The parent's run_dates that the child at t waits for."""
    k = 1 if parent.long else 0  # labels or instants

    def mine(p):
        return parent.own_label(p) if k else p

    def held(at):
        for i, p in enumerate(parent.plan):
            if parent.unit == "fire":
                if p <= at[0] and (i + 1 == len(parent.plan) or at[0] < parent.period_end(p)):
                    yield p
            else:
                try:
                    a, b = parent.cycle_period(p)
                except Outside:
                    continue
                if (k and a[1] <= at[1] < b[1]) or (not k and a[0] <= at[0] < b[0]):
                    yield p

    at = point(child, "t", t)
    if kind in ("1", "2"):
        if child.unit == "fire":
            return [p for p in parent.plan if mine(p) == at[k]]
        a, b = child.cycle_period(t)
        return [p for p in parent.plan if a[k] <= mine(p) < b[k]]
    if kind == "3":
        return list(held(at))
    if kind[0] == "-":
        before = [p for p in parent.plan if mine(p) <= at[k]]
        n = int(kind[1:]) + 1
        if len(before) < n:
            raise Outside
        return before[-n:][:1]
    if kind == "{latest}":
        return [p for p in parent.plan if mine(p) <= at[k]][-1:]
    body = kind[1:-1].split(",")
    if kind[0] == "{":
        return sorted({p for item in body for p in held(point(child, item, t))})
    lo, hi = point(child, body[0], t)[k], point(child, body[1], t)[k]
    return [p for p in parent.plan
            if (lo < mine(p) or (kind[0] == "[" and lo == mine(p)))
            and (mine(p) < hi or (kind[-1] == "]" and mine(p) == hi))]
