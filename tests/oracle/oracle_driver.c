/* Answers questions about time, one a line, for oracle.py to compare.
 *
 *   plan ID key=value...   unit step tz start end anchor fire off sec days cron cal on shift
 *                          -> "ok" or "refused"; in a cron, blanks are written _
 *   next ID T N | prev ID T N     -> up to N run_dates
 *   due ID T | end ID T | unit ID
 *   floor ZONE UNIT T             -> floor and next
 *   offset ZONE T | first ZONE LABEL
 *   follow ID OLD SINCE           before SINCE the plan is OLD; goes through text -> "ok"
 *   link PARENT CHILD KIND T      KIND: 1, 2, 3, -n or a window without blanks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/zones.h"
#include "sched/calendar.h"
#include "sched/cron.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "sched/window.h"
#include "util/buf.h"
#include "util/err.h"

#define PLANS    64
#define WORDS    32
#define LIST_MAX 4000

static struct slot {
	struct plan *plan;
	struct cron *cron;
	struct calendar *calendar;
} slots[PLANS];

static int64_t number(const char *s)
{
	return strtoll(s, NULL, 10);
}

static enum cycle_unit unit_of(const char *s)
{
	for (int u = CU_NONE; u <= CU_FIRE; u++)
		if (strcmp(unit_name((enum cycle_unit)u), s) == 0)
			return (enum cycle_unit)u;
	return CU_NONE;
}

static const struct tz *zone(const char *name)
{
	const struct tz *tz = NULL;
	struct err err;

	if (zones_get(name, &tz, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return tz_utc();
	}
	return tz;
}

static void slot_clear(struct slot *s)
{
	plan_free(s->plan);
	cron_free(s->cron);
	calendar_free(s->calendar);
	memset(s, 0, sizeof *s);
}

/* mask[,day:0|1]... */
static struct calendar *read_calendar(char *text)
{
	struct calendar_day days[256];
	struct calendar *c = NULL;
	char *next = strchr(text, ',');
	size_t n = 0;

	while (next && n < 256) {
		char *at = next + 1;
		next = strchr(at, ',');
		days[n].day = (int32_t)number(at);
		days[n++].allowed = strchr(at, ':')[1] == '1';
	}
	(void)calendar_new((uint8_t)number(text), days, n, &c, NULL);
	return c;
}

static int read_key(struct slot *slot, struct schedule *s, const char *key, char *value)
{
	if (strcmp(key, "unit") == 0)
		s->unit = unit_of(value);
	else if (strcmp(key, "step") == 0)
		s->step = (int32_t)number(value);
	else if (strcmp(key, "tz") == 0)
		s->tz = zone(value);
	else if (strcmp(key, "start") == 0)
		s->start = number(value);
	else if (strcmp(key, "end") == 0)
		s->end = number(value);
	else if (strcmp(key, "anchor") == 0)
		s->anchor = number(value);
	else if (strcmp(key, "fire") == 0)
		s->fire = strcmp(value, "end") == 0 ? FIRE_END : FIRE_START;
	else if (strcmp(key, "off") == 0)
		s->offset.kind = (int)number(value);
	else if (strcmp(key, "sec") == 0)
		s->offset.seconds = number(value);
	else if (strcmp(key, "days") == 0)
		s->offset.days = (int32_t)number(value);
	else if (strcmp(key, "cal") == 0)
		s->calendar = slot->calendar = read_calendar(value);
	else if (strcmp(key, "on") == 0)
		s->calendar_on_due = strcmp(value, "due") == 0;
	else if (strcmp(key, "shift") == 0)
		s->shift = (enum plan_shift)number(value);
	else if (strcmp(key, "cron") == 0) {
		for (char *p = value; *p; p++)
			*p = *p == '_' ? ' ' : *p;
		int r = cron_parse(value, "default/w/t", &slot->cron, NULL);
		s->cron = slot->cron;
		return r;
	}
	return 0;
}

static void define(struct slot *slot, char **words, int n)
{
	struct schedule s = { .step = 1, .tz = tz_utc(), .start = INT64_MIN, .end = PLAN_NEVER };
	struct err err;
	int r = 0;

	slot_clear(slot);
	for (int i = 0; i < n && r == 0; i++) {
		char *value = strchr(words[i], '=');
		*value++ = 0;
		r = read_key(slot, &s, words[i], value);
	}
	if (r == 0)
		r = plan_new(&s, &slot->plan, &err);
	puts(r == 0 ? "ok" : "refused");
}

static void walk(const struct plan *p, bool forward, int64_t t, int64_t n)
{
	for (; n > 0; n--) {
		t = forward ? plan_next(p, t) : plan_prev(p, t);
		if (t == PLAN_NEVER || t == PLAN_BEFORE)
			break;
		if (!plan_has(p, t))
			printf("HAS_NOT ");
		printf("%lld ", (long long)t);
	}
	puts("");
}

static int zone_of(void *ctx, const char *name, const struct tz **ret_tz, struct err *err)
{
	(void)ctx;
	return zones_get(name, ret_tz, err);
}

static void follow(struct slot *slot, const struct slot *old, int64_t since)
{
	struct plan *twice;
	struct schedule s = *plan_schedule(slot->plan);
	struct buf text;

	plan_follow(slot->plan, old->plan, since, 1);
	buf_init(&text);
	plan_past_print(slot->plan, &text);
	int r = plan_new(&s, &twice, NULL);
	if (r == 0)
		r = plan_past_parse(twice, buf_str(&text), "default/w/t", zone_of, NULL, NULL);
	puts(r == 0 ? "ok" : "refused");
	buf_done(&text);
	plan_free(slot->plan);
	slot->plan = twice;
}

static void print_link(const struct plan *parent, const struct plan *child, const char *kind,
                       int64_t t)
{
	struct link_span spans[LINK_SPANS_MAX];
	struct window_expr *window = NULL;
	struct task_link l = { .kind = LK_WINDOW };
	int n, listed = 0;

	if (strchr("[({", kind[0])) {
		if (window_parse(kind, &window, NULL) < 0) {
			puts("refused");
			return;
		}
		l.window = window;
	} else {
		int v = (int)number(kind);
		l.kind = v == 1 ? LK_SAME : v == 2 ? LK_LARGE : v == 3 ? LK_SMALL : LK_PREV;
		l.prev = -v;
	}
	n = link_spans(&l, parent, child, t, spans);
	for (int i = 0; i < n; i++)
		for (int64_t p = plan_next(parent, spans[i].lo - 1);
		     p < spans[i].hi && listed < LIST_MAX; p = plan_next(parent, p), listed++)
			printf("%lld ", (long long)p);
	puts("");
	window_free(window);
}

static void answer(char **w, int n)
{
	struct slot *slot = n > 1 ? &slots[number(w[1]) & (PLANS - 1)] : NULL;

	if (n >= 2 && strcmp(w[0], "plan") == 0)
		define(slot, w + 2, n - 2);
	else if (n == 4 && strcmp(w[0], "next") == 0)
		walk(slot->plan, true, number(w[2]), number(w[3]));
	else if (n == 4 && strcmp(w[0], "prev") == 0)
		walk(slot->plan, false, number(w[2]), number(w[3]));
	else if (n == 3 && strcmp(w[0], "due") == 0)
		printf("%lld\n", (long long)plan_due(slot->plan, number(w[2])));
	else if (n == 3 && strcmp(w[0], "end") == 0)
		printf("%lld\n", (long long)plan_period_end(slot->plan, number(w[2])));
	else if (n == 2 && strcmp(w[0], "unit") == 0)
		puts(unit_name(plan_unit(slot->plan)));
	else if (n == 4 && strcmp(w[0], "floor") == 0)
		printf("%lld %lld\n",
		       (long long)unit_floor(zone(w[1]), unit_of(w[2]), number(w[3])),
		       (long long)unit_next(zone(w[1]), unit_of(w[2]), number(w[3])));
	else if (n == 3 && strcmp(w[0], "offset") == 0)
		printf("%d\n", tz_offset(zone(w[1]), number(w[2])));
	else if (n == 3 && strcmp(w[0], "first") == 0)
		printf("%lld\n", (long long)tz_first(zone(w[1]), number(w[2])));
	else if (n == 4 && strcmp(w[0], "follow") == 0)
		follow(slot, &slots[number(w[2]) & (PLANS - 1)], number(w[3]));
	else if (n == 5 && strcmp(w[0], "link") == 0)
		print_link(slot->plan, slots[number(w[2]) & (PLANS - 1)].plan, w[3], number(w[4]));
	else
		puts("what?");
}

static int split(char *line, char *words[WORDS])
{
	int n = 0;

	for (char *p = line; *p && n < WORDS;) {
		p += strspn(p, " \n");
		if (*p)
			words[n++] = p;
		p += strcspn(p, " \n");
		if (*p)
			*p++ = 0;
	}
	return n;
}

int main(void)
{
	static char line[8192];
	char *words[WORDS];

	while (fgets(line, sizeof line, stdin)) {
		int n = split(line, words);
		if (n == 0)
			continue;
		answer(words, n);
		fflush(stdout);
	}
	for (int i = 0; i < PLANS; i++)
		slot_clear(&slots[i]);
	return 0;
}
