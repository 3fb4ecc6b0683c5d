/* The frame of every list: limit, cursor and order are checked in one place, and the answer's
 * `items`, `cursor` and `number` are printed in one place. A cursor is the store's text and is
 * passed on unread; one that is too long cannot be ours. Handlers add only their filters and
 * the printing of a row. */
#include "cgi/server/list.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/names.h"
#include "cgi/server/show.h"
#include "cgi/who/sight.h"
#include "sched/civil.h"
#include "sched/tz.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"

int list_args(struct call *c, struct list *ret, int64_t def)
{
	const char *cursor = call_arg(c, "cursor"), *order = call_arg(c, "order");
	int64_t max = param_now(c->cgi->param.page_rows_max), limit;
	int r;

	CHECK(def > 0);
	if (max > READ_ROWS_MAX)
		max = READ_ROWS_MAX;
	r = call_arg_int(c, "limit", def < max ? def : max, 1, max, &limit);
	if (r < 0)
		return r;
	if (cursor && strlen(cursor) >= sizeof ret->cursor)
		return call_fail(c, E_INVALID, "cursor", "this cursor was not given by this list");
	if (order && strcmp(order, "asc") != 0 && strcmp(order, "desc") != 0)
		return call_fail(c, E_INVALID, "order", "order wants asc or desc");
	snprintf(ret->cursor, sizeof ret->cursor, "%s", cursor ? cursor : "");
	ret->page = (struct read_page){ .limit = (size_t)limit,
		                        .cursor = ret->cursor,
		                        .answer = &ret->answer,
		                        .descending = order && order[0] == 'd' };
	return 0;
}

void list_begin(struct call *c)
{
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "items", '[');
}

void list_end(struct call *c, const struct list *l)
{
	put_close(&c->out, ']');
	put_text(&c->out, "cursor", l->answer.cursor[0] != '\0' ? l->answer.cursor : NULL);
	put_id(&c->out, "number", l->answer.number);
	put_close(&c->out, '}');
	c->number = l->answer.number;
}

/* What people say of another state than the stored name that is spelled so: "failed" is
 * StopSchedule, and Failed is what is tried again. */
static bool is_two(const char *word, enum state st)
{
	if (strcmp(word, state_name(st)) == 0)
		return false;
	for (int other = ST_NONE + 1; other < ST_COUNT; other++)
		if (other != (int)st && strcasecmp(word, state_word((enum state)other)) == 0 &&
		    strcasecmp(state_word(st), word) != 0)
			return true;
	return false;
}

static int state_wrong(struct call *c, const char *name, const char *word)
{
	struct buf all;

	buf_init(&all);
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		buf_printf(&all, "%s%s (%s)", all.len ? ", " : "", state_name((enum state)st),
		           state_word((enum state)st));
	call_fail(c, E_INVALID, name, "'%.30s' is not a state: want %s", word, buf_str(&all));
	buf_done(&all);
	return c->err.code;
}

int states_read(struct call *c, const char *name, uint32_t *ret_states)
{
	const char *p = call_arg(c, name);
	uint32_t bits = 0;

	for (; p && *p != '\0'; p += *p == ',') {
		char word[32];
		size_t n = strcspn(p, ",");
		enum state st;

		snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : 0, p);
		if (!state_from_name(word, &st) || is_two(word, st))
			return state_wrong(c, name, word[0] ? word : p);
		bits |= 1u << st;
		p += n;
	}
	*ret_states = bits;
	return 0;
}

static int when_arg(struct call *c, const char *name, struct when *ret, bool *ret_has)
{
	const char *v = call_arg(c, name);
	char no_day[WHEN_TEXT];

	*ret_has = v != NULL;
	return !v || when_parse(v, clock_wall_us(&clock_machine) / US_PER_S, ret)
	               ? 0
	               : call_fail(c, E_INVALID, name,
	                           "%s wants a date or an instant, such as 2026-03-01, yesterday "
	                           "or 2026-03-01T02:30:00Z%s",
	                           name, when_no_day(v, no_day));
}

int instant_arg(struct call *c, const char *name, int64_t *ret)
{
	struct when w;
	bool has;

	if (when_arg(c, name, &w, &has) < 0)
		return c->err.code;
	if (has)
		*ret = when_instant(&w, tz_utc(), false);
	return 0;
}

int span_args(struct call *c, struct span *ret)
{
	*ret = (struct span){ 0 };
	if (when_arg(c, "from", &ret->from, &ret->has_from) < 0 ||
	    when_arg(c, "to", &ret->to, &ret->has_to) < 0)
		return c->err.code;
	return ret->has_from && ret->has_to && when_is_after(&ret->from, &ret->to)
	               ? call_fail(c, E_INVALID, "from", "%.60s is after to, %.60s",
	                           call_arg(c, "from"), call_arg(c, "to"))
	               : 0;
}

bool span_is_local(const struct span *s)
{
	return (s->has_from && when_is_local(&s->from)) || (s->has_to && when_is_local(&s->to));
}

void span_in(const struct span *s, const struct tz *tz, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = s->has_from ? when_instant(&s->from, tz, false) : 0;
	*ret_to = s->has_to ? when_instant(&s->to, tz, true) + 1 : s->has_from ? INT64_MAX : 0;
}

int key_param(struct call *c, struct inst_key *ret)
{
	if (!key_read(c->params[0], ret))
		return call_fail(c, E_INVALID, "id",
		                 "want an instance's id, TASKID.RUNDATE or TASKID.RUNDATE.PART");
	return 0;
}

/* People know it by its task and label, not by the store's numbers. */
int key_absent(struct call *c, struct inst_key key)
{
	char task[NAMES_MAX], label[LABEL_TEXT];

	/* Of what is not seen no name is told: it is answered as what is not there. */
	if (!names_get(c->cgi->names, NAMES_TASK, key.task, task) || !sight_covers(c->sight, task))
		return c->err.code;
	names_label(c->cgi->names, key.task, 0, key.run_date, label);
	return call_fail(c, E_NOT_FOUND, "id",
	                 "%s %s has no %s; `sirdar why` says whether it is planned", task, label,
	                 key.part ? "such part" : "instance");
}
