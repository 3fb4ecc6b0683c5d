/* Why a workflow, or one run of it, is not done. The server knows what waits for what and names the
 * first causes (its query `causes`); the store has how many are done, and what the failed ones
 * said; of the first few that wait for no instance the server says what holds them back. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/handlers/why_merge.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/failed.h"
#include "cgi/server/flow.h"
#include "cgi/server/show.h"
#include "sched/civil.h"
#include "sched/name.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/json_put.h"

enum { ASKED_MAX = 5, SAID_MAX = 3 }; /* of roots */

struct why_flow {
	char date[80];
	bool has_date;
	int64_t from, to;
	uint64_t counts[ST_COUNT];
	cJSON *root; /* the server's answer, as it grows */
	int asked;
	const cJSON *at; /* the one that is being asked for */
};

static void flow_why_done(void *extra)
{
	json_free(((struct why_flow *)extra)->root);
}

/* --- in words ------------------------------------------------------------------------------- */

static void name_say(const cJSON *root, bool dated, struct buf *b)
{
	const char *task = json_text(root, "task"), *label = json_text(root, "label");
	const char *end = task && !json_true(root, "foreign") ? strrchr(task, '/') : NULL;
	const char *first = json_text(root, "first_label"), *last = json_text(root, "last_label");
	int64_t count = json_int(root, "count", 1);

	buf_puts(b, end ? end + 1 : task ? task : "a task that is gone");
	label = label ? label : first;
	if ((!dated || !end || count > 1) && label)
		buf_printf(b, " %s", label);
	if (count > 1 && last)
		buf_printf(b, " to %s (%lld times)", last, (long long)count);
}

static void failed_say(const cJSON *root, struct buf *b)
{
	const cJSON *f = json_get(root, "failure");
	const char *at = json_text(root, "ended"), *exit = json_text(f, "exit"),
		   *line = json_text(f, "line");

	if (at)
		buf_printf(b, " failed at %.19sZ", at);
	else
		buf_puts(b, " failed");
	if (exit)
		buf_printf(b, " (%s%s%s)", exit, line ? ": " : "", line ? line : "");
}

static void root_say(const cJSON *root, bool dated, struct buf *b)
{
	static const struct {
		const char *kind, *words;
	} words[] = {
		{ "over", " is over" },
		{ "frozen", " is frozen" },
		{ "retry", " failed and is tried again" },
		{ "offline", " is not online" },
		{ "waits", " has not started" },
		{ "due", " is not due yet" },
		{ "runs", " runs" },
	};
	const char *kind = json_text(root, "kind"), *line = json_text(root, "line");
	int64_t waits = json_int(root, "waits", 0), named = 0;
	const cJSON *e;

	name_say(root, dated, b);
	if (kind && strcmp(kind, "failed") == 0)
		failed_say(root, b);
	for (size_t i = 0; kind && i < sizeof words / sizeof words[0]; i++)
		if (strcmp(words[i].kind, kind) == 0)
			buf_puts(b, words[i].words);
	if (line)
		buf_printf(b, ": %s", line);
	if (!waits)
		return;
	buf_printf(b, ", %lld wait%s for it: ", (long long)waits, waits == 1 ? "s" : "");
	cJSON_ArrayForEach(e, json_get(root, "waiting")) {
		if (named == 3)
			break;
		buf_puts(b, named++ ? ", " : "");
		name_say(e, dated, b);
	}
	if (waits > named)
		buf_puts(b, " ...");
}

static void line_say(const struct why_flow *q, struct buf *b)
{
	const cJSON *causes = json_get(q->root, "causes"), *e;
	int64_t all = json_int(q->root, "root_count", 0);
	const char *workflow = json_text(q->root, "workflow");
	uint64_t total = 0, done = q->counts[ST_SUCC] + q->counts[ST_SKIPPED];
	int64_t covered = 0;
	int said = 0;

	for (int st = 0; st < ST_COUNT; st++)
		total += q->counts[st];
	if (q->has_date)
		buf_printf(b, "%llu of %llu done", (unsigned long long)done,
		           (unsigned long long)total);
	else if (all == 0 && workflow && name_is_test(workflow))
		buf_printf(b, "a test run that is over: sirdar run list --workflow %s", workflow);
	else if (all == 0)
		buf_puts(b, "nothing is unfinished, and nothing failed last");
	cJSON_ArrayForEach(e, causes) {
		if (said == SAID_MAX)
			break;
		buf_puts(b, b->len ? "; " : "");
		root_say(e, q->has_date, b);
		covered += json_int(e, "count", 1);
		said++;
	}
	if (all > covered)
		buf_printf(b, "; and %lld more", (long long)(all - covered));
}

static int flow_why_shown(struct call *c)
{
	struct why_flow *q = c->extra;
	struct buf line;

	buf_init(&line);
	cJSON_AddItemToObject(q->root, "causes", why_merged(json_get(q->root, "roots")));
	line_say(q, &line);
	cJSON_AddStringToObject(q->root, "line", buf_str(&line));
	buf_done(&line);
	char *text = cJSON_PrintUnformatted(q->root);
	buf_clear(&c->out);
	buf_puts(&c->out, text);
	free(text);
	return reply_json(c, MHD_HTTP_OK);
}

/* --- what holds back those that wait for no instance ---------------------------------------- */

static int flow_why_next(struct call *c);

static int flow_why_said(struct call *c)
{
	struct why_flow *q = c->extra;
	cJSON *why = NULL;

	if (c->err.code == 0 && json_parse(buf_str(&c->out), c->out.len, &why, NULL) == 0) {
		static const char *const keys[] = { "line", "code", "opens" };
		for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
			if (json_text(why, keys[i]))
				cJSON_AddStringToObject((cJSON *)(uintptr_t)q->at, keys[i],
				                        json_text(why, keys[i]));
		cJSON *args = cJSON_DetachItemFromObjectCaseSensitive(why, "args");
		if (args)
			cJSON_AddItemToObject((cJSON *)(uintptr_t)q->at, "args", args);
		cJSON_AddNumberToObject((cJSON *)(uintptr_t)q->at, "gate",
		                        (double)json_int(why, "gate", 0));
	}
	c->err = (struct err){ 0 };
	json_free(why);
	return flow_why_next(c);
}

/* Has the server said what holds back another date of its task? */
static bool is_answered(const struct why_flow *q, const cJSON *root)
{
	const char *task = json_text(root, "task"), *kind = json_text(root, "kind");
	const cJSON *e;

	cJSON_ArrayForEach(e, json_get(q->root, "roots")) {
		const char *t = json_text(e, "task"), *k = json_text(e, "kind");
		if (e == root)
			break;
		if (task && t && kind && k && strcmp(task, t) == 0 && strcmp(kind, k) == 0 &&
		    json_text(e, "code"))
			return true;
	}
	return false;
}

static bool is_asked(const struct why_flow *q, const cJSON *root)
{
	const char *kind = json_text(root, "kind"), *id = json_text(root, "id");

	/* What is another project's has no id for who does not read that. */
	return kind && id && *id != '\0' && !is_answered(q, root) &&
	       (strcmp(kind, "waits") == 0 || strcmp(kind, "frozen") == 0 ||
	        strcmp(kind, "retry") == 0 || strcmp(kind, "due") == 0);
}

static int flow_why_next(struct call *c)
{
	struct why_flow *q = c->extra;
	char args[ID_TEXT_MAX + 40];

	q->at = q->at ? q->at->next : json_get(q->root, "roots")->child;
	while (q->at && !is_asked(q, q->at))
		q->at = q->at->next;
	if (!q->at || q->asked++ == ASKED_MAX)
		return flow_why_shown(c);
	snprintf(args, sizeof args, "{\"instance\":{\"id\":\"%s\"}}", json_text(q->at, "id"));
	buf_clear(&c->out);
	c->then = flow_why_said;
	return call_query(c, "why", args);
}

/* --- what the failed ones said -------------------------------------------------------------- */

static int digests_work(struct call *c, struct reader *r)
{
	struct why_flow *q = c->extra;
	cJSON *e;

	cJSON_ArrayForEach(e, (cJSON *)(uintptr_t)json_get(q->root, "roots")) {
		const char *kind = json_text(e, "kind"), *id = json_text(e, "id");
		struct inst_key key;
		struct instance i;
		cJSON *more = NULL;
		if (!kind || strcmp(kind, "failed") != 0 || !id || !key_read(id, &key) ||
		    read_instance(r, key, &i, NULL, NULL) < 0)
			continue;
		buf_clear(&c->out);
		put_open(&c->out, NULL, '{');
		put_time_us(&c->out, "ended", i.ended_us);
		failed_put(&c->out, r, &i, FAILED_SHORT);
		put_close(&c->out, '}');
		if (json_parse(buf_str(&c->out), c->out.len, &more, NULL) < 0)
			continue;
		for (cJSON *m; (m = more->child) != NULL;)
			cJSON_AddItemToObject(e, m->string, cJSON_DetachItemViaPointer(more, m));
		json_free(more);
	}
	return 0;
}

static int digests_done(struct call *c)
{
	c->err = (struct err){ 0 }; /* without the store the server's word holds */
	return flow_why_next(c);
}

static int causes_done(struct call *c)
{
	struct why_flow *q = c->extra;

	if (c->err.code < 0)
		return c->err.code;
	if (json_parse(buf_str(&c->out), c->out.len, &q->root, &c->err) < 0)
		return c->err.code;
	cJSON_AddStringToObject(q->root, "workflow", c->params[0]);
	if (q->has_date) {
		cJSON *states = cJSON_AddObjectToObject(q->root, "states");
		for (int st = 0; st < ST_COUNT; st++)
			if (q->counts[st])
				cJSON_AddNumberToObject(states, state_name((enum state)st),
				                        (double)q->counts[st]);
	}
	if (!cJSON_IsArray(json_get(q->root, "roots")))
		return call_fail(c, E_INVALID, "", "the server's answer has no roots");
	c->then = digests_done;
	return call_read(c, digests_work);
}

/* --- which run ------------------------------------------------------------------------------ */

static int run_find(struct call *c, const struct flow *f)
{
	struct why_flow *q = c->extra;
	struct when_span span;
	char no_day[WHEN_TEXT];

	if (!when_range(q->date, clock_wall_us(&clock_machine) / US_PER_S, &span))
		return call_fail(c, E_INVALID, "date", "date wants the date of a run: '%.40s'%s",
		                 q->date, when_no_day(q->date, no_day));
	q->from = when_instant(&span.from, f->tz, false);
	q->to = when_instant(&span.to, f->tz, true) + 1;
	return 0;
}

static int counts_work(struct call *c, struct reader *r)
{
	struct why_flow *q = c->extra;
	struct flow f = { 0 };
	int code = flow_read(c, r, c->params[0], &f);

	if (code == 0 && q->has_date)
		code = run_find(c, &f);
	if (code == 0 && q->has_date) {
		struct read_filter which = { .workflow = f.workflow, .from = q->from, .to = q->to };
		code = read_counts(r, &which, q->counts, NULL, &c->err);
	}
	flow_done(&f);
	return code;
}

static int counts_done(struct call *c)
{
	const struct why_flow *q = c->extra;
	struct buf args;

	if (c->err.code < 0)
		return c->err.code;
	buf_init(&args);
	put_open(&args, NULL, '{');
	put_text(&args, "workflow", c->params[0]);
	if (q->has_date) {
		put_int(&args, "from", q->from);
		put_int(&args, "to", q->to);
	}
	put_close(&args, '}');
	buf_clear(&c->out);
	c->then = causes_done;
	int r = call_query(c, "causes", buf_str(&args));
	buf_done(&args);
	return r;
}

int workflow_why_get(struct call *c)
{
	static const char *const names[] = { "date", NULL };
	const char *date = call_arg(c, "date");
	struct why_flow *q = c->extra = mem_new(sizeof *q);

	c->extra_done = flow_why_done;
	if (call_args_only(c, names) < 0)
		return c->err.code;
	if (date && strlen(date) >= sizeof q->date)
		return call_fail(c, E_INVALID, "date", "date wants the date of a run");
	snprintf(q->date, sizeof q->date, "%s", date ? date : "");
	q->has_date = date != NULL;
	c->then = counts_done;
	return call_read(c, counts_work);
}
