/* ${name} and $[date] in parameters. One walk serves both to check, when a document is saved, and
 * to expand, when a job begins. A value may hold macros of its own, at most MACRO_DEPTH_MAX deep
 * and MACRO_COUNT_MAX in all; names with a dot are data from elsewhere and are never expanded. Too
 * long an answer is E_LIMIT. */
#include "sched/macro.h"

#include <stdlib.h>
#include <string.h>

#include "sched/civil.h"
#include "sched/cycle.h"
#include "sched/macro_date.h"
#include "sched/plan.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/near.h"

struct walk {
	const struct macro_scope *scope; /* NULL: check only */
	bool (*is_known)(void *ctx, const char *name);
	const char *const *known;
	void *ctx;
	struct buf *out;
	struct err *err;
	int left;                  /* macros that may still be replaced: values can multiply */
	struct macro_holes *holes; /* values go there, not into the text; NULL: into the text */
};

/* --- built-in names ---------------------------------------------------------------------- */

static void put_instant(const struct macro_scope *s, int64_t t, struct buf *out)
{
	const struct tz *tz = plan_tz(s->plan);
	const char *pattern = "yyyy-MM-dd HH:mm:ss";
	size_t len = strlen(pattern);

	if (unit_is_long(plan_unit(s->plan)) && !plan_schedule(s->plan)->cron)
		len = strlen("yyyy-MM-dd");
	macro_format(pattern, len, local_label(tz, t), out);
}

static void put_run_date(const struct macro_scope *s, struct buf *out)
{
	put_instant(s, s->run_date, out);
}

static int64_t period_end(const struct macro_scope *s)
{
	int64_t end = plan_period_end(s->plan, s->run_date);

	return end == PLAN_NEVER ? s->run_date : end;
}

static void put_period_end(const struct macro_scope *s, struct buf *out)
{
	put_instant(s, period_end(s), out);
}

static void put_biz_date(const struct macro_scope *s, struct buf *out)
{
	const struct tz *tz = plan_tz(s->plan);
	int64_t day, end = period_end(s);

	if (plan_schedule(s->plan)->fire == FIRE_END && end > s->run_date)
		day = local_day(tz, end - 1);
	else
		day = local_day(tz, s->run_date) - 1;
	macro_format("yyyy-MM-dd", strlen("yyyy-MM-dd"), day * DAY_S, out);
}

static const struct {
	const char *name;
	void (*put)(const struct macro_scope *s, struct buf *out);
} built_in[] = {
	{ "run_date", put_run_date },
	{ "biz_date", put_biz_date },
	{ "period_start", put_run_date },
	{ "period_end", put_period_end },
};

#define BUILT_IN (sizeof built_in / sizeof built_in[0])

/* --- walking ----------------------------------------------------------------------------- */

static int sched_macro_expand(struct walk *w, const char *text, int depth);

static int macro_unknown(const struct walk *w, const char *name)
{
	const char *own[BUILT_IN + 1] = { NULL }, *near;

	for (size_t i = 0; i < BUILT_IN; i++)
		own[i] = built_in[i].name;
	near = near_name(name, w->known);
	if (!near)
		near = near_name(name, own);
	if (near)
		return err_set(w->err, E_INVALID, "unknown name ${%s}: did you mean ${%s}?", name,
		               near);
	return err_set(w->err, E_INVALID, "unknown name ${%s}", name);
}

static int put_value(struct walk *w, const char *name, const char *otherwise, int depth)
{
	const char *value = w->scope->lookup ? w->scope->lookup(w->scope->ctx, name) : NULL;
	char *own;
	int r;

	if (!value && otherwise) {
		buf_puts(w->out, otherwise);
		return 0;
	}
	if (!value)
		return macro_unknown(w, name);
	if (strchr(name, '.')) { /* data from elsewhere, not text that the author wrote */
		buf_puts(w->out, value);
		return 0;
	}
	if (depth >= MACRO_DEPTH_MAX)
		return err_set(w->err, E_LIMIT, "${%s}: values within values, more than %d deep",
		               name, MACRO_DEPTH_MAX);
	own = mem_str(value); /* the next lookup may reuse it */
	r = sched_macro_expand(w, own, depth + 1);
	free(own);
	return r;
}

/* The value apart, and a letter where it would stand. */
static int put_hole(struct walk *w, const char *name, const char *otherwise, size_t from)
{
	struct macro_holes *h = w->holes;
	struct buf value, *text = w->out;
	int r = 0;

	h->items = mem_room(h->items, &h->cap, h->n + 1, sizeof *h->items);
	struct macro_hole *hole = &h->items[h->n++];
	*hole = (struct macro_hole){ .name = mem_str(name), .from = from, .at = text->len };
	if (w->scope) {
		buf_init(&value);
		w->out = &value;
		r = put_value(w, name, otherwise, 0);
		w->out = text;
		hole->value = mem_strn(buf_str(&value), value.len);
		buf_done(&value);
	}
	buf_putc(text, 'x');
	return r;
}

/* `otherwise`: after :- , for a name without a value; NULL: there must be one. */
static int put_name(struct walk *w, const char *name, const char *otherwise, int depth, size_t from)
{
	for (size_t i = 0; i < BUILT_IN; i++)
		if (strcmp(name, built_in[i].name) == 0) {
			if (w->scope)
				built_in[i].put(w->scope, w->out);
			else if (w->out)
				buf_putc(w->out, 'x');
			return 0;
		}
	if (w->holes && depth == 0)
		return put_hole(w, name, otherwise, from);
	if (w->scope)
		return put_value(w, name, otherwise, depth);
	return w->is_known && w->is_known(w->ctx, name) ? 0 : macro_unknown(w, name);
}

static int malformed(const struct walk *w, const char *text, const char *at, const char *what)
{
	return err_set(w->err, E_INVALID, "column %zu, %.40s: %s", (size_t)(at - text) + 1, at,
	               what);
}

/* The macro at *p, whose second letter is { or [; *p moves behind it. */
static int take_macro(struct walk *w, const char *text, const char **p, int depth)
{
	const char *from = *p + 2, *end = strchr(from, (*p)[1] == '{' ? '}' : ']');
	char name[MACRO_NAME_MAX + 1];
	size_t len = end ? (size_t)(end - from) : 0;
	int r = 0;

	CHECK(**p == '$' && ((*p)[1] == '{' || (*p)[1] == '['));
	if (w->left-- == 0)
		return err_set(w->err, E_LIMIT, "more than %d macros", MACRO_COUNT_MAX);
	if (!end)
		return malformed(w, text, *p, "the end of the macro is missing ($$ is a plain $)");
	if (len == 0 || len > MACRO_NAME_MAX)
		return malformed(w, text, *p, "the macro is empty or too long");
	if ((*p)[1] == '[') {
		const struct macro_scope *s = w->scope;
		const char *what = macro_date(from, len, s ? plan_tz(s->plan) : NULL,
		                              s ? s->run_date : 0, s ? w->out : NULL);
		if (!s && w->out)
			buf_putc(w->out, 'x');
		if (what)
			r = malformed(w, text, *p, what);
	} else {
		memcpy(name, from, len);
		name[len] = 0;
		char *otherwise = strstr(name, ":-");
		if (otherwise) {
			*otherwise = '\0';
			otherwise += 2;
		}
		r = put_name(w, name, otherwise, depth, (size_t)(*p - text));
	}
	*p = end + 1;
	return r;
}

static int sched_macro_expand(struct walk *w, const char *text, int depth)
{
	const char *p = text;
	int r = 0;

	CHECK(depth <= MACRO_DEPTH_MAX);
	while (*p && r == 0) {
		size_t n = strcspn(p, "$");
		if (w->out)
			buf_put(w->out, p, n);
		p += n;
		if (*p == '$' && (p[1] == '{' || p[1] == '[')) {
			r = take_macro(w, text, &p, depth);
		} else if (*p == '$') {
			if (w->out)
				buf_putc(w->out, '$');
			p += p[1] == '$' ? 2 : 1;
		}
		if (w->out && w->out->len > MACRO_OUT_MAX)
			r = err_set(w->err, E_LIMIT,
			            "longer than %d bytes with its macros replaced", MACRO_OUT_MAX);
	}
	return r;
}

int macro_expand(const char *text, const struct macro_scope *scope, struct buf *out,
                 struct err *err)
{
	struct walk w = { .scope = scope,
		          .known = scope->known,
		          .out = out,
		          .err = err,
		          .left = MACRO_COUNT_MAX };

	return sched_macro_expand(&w, text, 0);
}

int macro_expand_apart(const char *text, const struct macro_scope *scope, struct buf *out,
                       struct macro_holes *holes, struct err *err)
{
	struct walk w = { .scope = scope,
		          .known = scope ? scope->known : NULL,
		          .out = out,
		          .err = err,
		          .left = MACRO_COUNT_MAX,
		          .holes = holes };

	return sched_macro_expand(&w, text, 0);
}

void macro_holes_done(struct macro_holes *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free(h->items[i].name);
		free(h->items[i].value);
	}
	free(h->items);
	*h = (struct macro_holes){ 0 };
}

int macro_check(const char *text, bool (*is_known)(void *ctx, const char *name),
                const char *const *known, void *ctx, struct err *err)
{
	struct walk w = { .is_known = is_known,
		          .known = known,
		          .ctx = ctx,
		          .err = err,
		          .left = MACRO_COUNT_MAX };

	return sched_macro_expand(&w, text, 0);
}

bool macro_has(const char *text)
{
	return strchr(text, '$') != NULL;
}
