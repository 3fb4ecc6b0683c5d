/* Versions of a plan: what it was before an edit, so that the past is never rewritten. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sched/calendar.h"
#include "sched/cron.h"
#include "sched/plan_impl.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

enum { VERSIONS_MAX = 50 };

int64_t plan_since(const struct plan *p)
{
	return p->past ? p->past->since : INT64_MIN;
}

uint32_t plan_versions(const struct plan *p)
{
	return p->past ? p->past->serial : 0;
}

void plan_was_off(struct plan *p)
{
	CHECK(p->past);
	p->past->was_off = true;
}

int64_t plan_off_until(const struct plan *p)
{
	return p->past && p->past->was_off ? p->past->since : INT64_MIN;
}

bool plan_same_dates(const struct plan *a, const struct plan *b)
{
	const struct schedule *x = &a->s, *y = &b->s;
	bool same_cron = !x->cron == !y->cron &&
	                 (!x->cron || strcmp(cron_text(x->cron), cron_text(y->cron)) == 0);
	bool by_due = x->calendar && x->calendar_on_due;

	if (a->unit != b->unit || x->step != y->step || !same_cron || x->start != y->start ||
	    x->end != y->end || x->anchor != y->anchor ||
	    strcmp(tz_name(x->tz), tz_name(y->tz)) != 0 || !calendar_same(x->calendar, y->calendar))
		return false;
	if (x->calendar && (x->calendar_on_due != y->calendar_on_due || x->shift != y->shift))
		return false;
	return !by_due ||
	       (x->fire == y->fire && x->offset.kind == y->offset.kind &&
	        x->offset.days == y->offset.days && x->offset.seconds == y->offset.seconds);
}

bool plan_replans(const struct plan *was, const struct plan *is)
{
	return plan_since(is) != plan_since(was) || !plan_same_dates(was, is);
}

/* `depth` versions more at most: edits long ago matter to nobody who waits. */
static void past_follow(struct plan *p, const struct plan *was, int64_t since, uint32_t serial,
                        int depth)
{
	CHECK(!p->past);
	p->past = mem_new(sizeof *p->past);
	p->past->since = since;
	p->past->serial = serial;
	struct schedule s = was->s;
	if (s.cron)
		s.cron = p->past->cron = cron_ref(s.cron);
	if (s.calendar)
		s.calendar = p->past->calendar = calendar_ref(s.calendar);
	/* A schedule that was good once is good. */
	CHECK(plan_new(&s, &p->past->plan, NULL) == 0);
	if (!was->past || depth <= 1)
		return;
	past_follow(p->past->plan, was->past->plan, was->past->since, was->past->serial, depth - 1);
	p->past->plan->past->was_off = was->past->was_off;
}

void plan_follow(struct plan *p, const struct plan *was, int64_t since, uint32_t serial)
{
	/* Versions that began later are as if they had not been. */
	while (was->past && was->past->since >= since)
		was = was->past->plan;
	past_follow(p, was, since, serial, VERSIONS_MAX);
}

void plan_take_past(struct plan *p, const struct plan *was)
{
	if (!was->past)
		return;
	past_follow(p, was->past->plan, was->past->since, was->past->serial, VERSIONS_MAX);
	p->past->was_off = was->past->was_off;
}

/* --- as text ------------------------------------------------------------------------------ */

/* A version a line, the newest first:
 *   serial since unit step start end anchor fire kind days seconds on_due shift [off] TAB zone
 *   TAB cron TAB calendar */
void plan_past_print(const struct plan *p, struct buf *out)
{
	for (const struct plan_past *v = p->past; v; v = v->plan->past) {
		const struct schedule *s = &v->plan->s;
		buf_printf(out,
		           "%" PRIu32 " %" PRId64 " %d %" PRId32 " %" PRId64 " %" PRId64 " %" PRId64
		           " %d %d %" PRId32 " %" PRId64 " %d %d%s\t%s\t",
		           v->serial, v->since, (int)v->plan->s.unit, s->step, s->start, s->end,
		           s->anchor, (int)s->fire, (int)s->offset.kind, s->offset.days,
		           s->offset.seconds, s->calendar_on_due, (int)s->shift,
		           v->was_off ? " 1" : "", tz_name(s->tz));
		for (const char *c = s->cron ? cron_text(s->cron) : ""; *c; c++)
			buf_putc(out, *c == '\t' ? ' ' : *c);
		buf_putc(out, '\t');
		calendar_print(s->calendar, out);
		buf_putc(out, '\n');
	}
}

struct reading {
	const char *task;
	int (*zone)(void *ctx, const char *name, const struct tz **ret_tz, struct err *err);
	void *ctx;
	struct err *err;
};

static int corrupt(const struct reading *r, const char *line)
{
	return err_set(r->err, E_CORRUPT, "the stored plan of %s: '%.60s'", r->task, line);
}

static bool numbers(const char **line, int64_t *v, int n)
{
	for (int i = 0; i < n; i++) {
		char *end;
		v[i] = strtoll(*line, &end, 10);
		if (end == *line || (*end != ' ' && *end != '\t'))
			return false;
		*line = end + 1;
	}
	return true;
}

static int add_line(const struct reading *r, struct plan *p, const char *line)
{
	enum {
		SERIAL,
		SINCE,
		UNIT,
		STEP,
		START,
		END,
		ANCHOR,
		FIRE,
		KIND,
		DAYS,
		SECONDS,
		ON_DUE,
		SHIFT,
		NUMBERS
	};
	int64_t v[NUMBERS];
	const char *rest = line;

	if (!numbers(&rest, v, NUMBERS))
		return corrupt(r, line);
	bool was_off = rest[-1] == ' ';
	if (was_off && (rest[0] != '1' || rest[1] != '\t'))
		return corrupt(r, line);
	rest += was_off ? 2 : 0;
	size_t zone_len = strcspn(rest, "\t"), cron_len;
	const char *cron = rest + zone_len + (rest[zone_len] != '\0');
	cron_len = strcspn(cron, "\t");
	const char *calendar = cron + cron_len + (cron[cron_len] != '\0');
	char *zone_name = mem_strn(rest, zone_len), *expr = mem_strn(cron, cron_len);
	struct plan_past *past = mem_new(sizeof *past);
	struct schedule s = { .unit = (enum cycle_unit)v[UNIT],
		              .step = (int32_t)v[STEP],
		              .start = v[START],
		              .end = v[END],
		              .anchor = v[ANCHOR],
		              .fire = (enum plan_fire)v[FIRE],
		              .offset = { .days = (int32_t)v[DAYS], .seconds = v[SECONDS] },
		              .calendar_on_due = v[ON_DUE] != 0,
		              .shift = (enum plan_shift)v[SHIFT] };
	int code = r->zone(r->ctx, zone_name, &s.tz, r->err);

	s.offset.kind = (int)v[KIND];
	past->since = v[SINCE];
	past->serial = (uint32_t)v[SERIAL];
	past->was_off = was_off;
	if (code == 0 && cron_len)
		code = cron_parse(expr, r->task, &past->cron, r->err);
	if (code == 0)
		code = calendar_parse(calendar, &past->calendar) ? 0 : corrupt(r, line);
	s.cron = past->cron;
	s.calendar = past->calendar;
	if (code == 0)
		code = plan_new(&s, &past->plan, r->err);
	free(zone_name);
	free(expr);
	if (code == 0)
		p->past = past;
	else
		plan__past_free(past);
	return code;
}

int plan_past_parse(struct plan *p, const char *text, const char *task,
                    int (*zone)(void *ctx, const char *name, const struct tz **ret_tz,
                                struct err *err),
                    void *ctx, struct err *err)
{
	const struct reading r = { task, zone, ctx, err };
	int code = 0;

	while (*text && code == 0) {
		size_t n = strcspn(text, "\n");
		char *line = mem_strn(text, n);
		code = add_line(&r, p, line);
		if (code == 0)
			p = p->past->plan;
		free(line);
		text += n + (text[n] == '\n');
	}
	return code;
}
