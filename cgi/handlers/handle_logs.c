/* Searches over logs, as a stream of what is found; and which executions have logs.
 *
 * First the instances that are meant are read from the store, with the sight of who asks, some
 * hundred in each turn. Then, one instance after the other, the server is asked for its executions
 * and for each log piece by piece: a piece is asked for when what was found in the one before went
 * out, and looked through on a thread of its own, in turns of people. So a search holds one piece,
 * ends with its connection, and holds nobody up: the server's thread of logs gives a piece and
 * takes what jobs print. What is read is booked for the person (who/budget.h).
 *
 *   store -> instances -> executions -> pieces -> lines -> events -> the client
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_streams.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/list.h"
#include "cgi/server/logsearch.h"
#include "cgi/server/names.h"
#include "cgi/server/net.h"
#include "cgi/server/show.h"
#include "cgi/who/budget.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"
#include "util/logrec.h"

enum {
	INSTANCES_MAX = 10000,
	PAGES_MAX = 400, /* of READ_ROWS_MAX rows that are looked at */
	TEXT_MAX = 2000, /* bytes of a line that are shown */
	BLOCK_BYTES = 65536,
	TOLD_BYTES = 4 << 20, /* so often who waits is told how far it is: that notices who left */
	TOLD_LOGS = 50,
};

enum stage { STAGE_LIST, STAGE_PIECE, STAGE_LOOK, STAGE_OVER };

struct search {
	struct log_ask ask; /* first: net_log() finds it; what it is to be for each log */
	struct logsearch *lines;
	/* what is looked through */
	char workflow[CALL_PARAM_BYTES], task[CALL_PARAM_BYTES], project[CALL_PARAM_BYTES];
	struct read_filter filter;
	uint32_t task_id;
	struct span span;
	bool zones;
	int64_t attempts;
	struct list list;
	int pages;
	struct inst_key *keys;
	size_t n_keys, cap_keys, at_key;
	bool is_cut; /* there were more instances */
	/* where it is */
	enum stage stage;
	bool is_waiting; /* something was asked for */
	uint32_t stream;
	int64_t since_ms;
	struct log_execution last; /* whose attempt was counted */
	struct inst_key last_key;
	size_t known; /* executions of the present instance that are not looked through yet */
	struct log_execution now;
	bool is_begun;  /* a piece of the present log came */
	bool has_other; /* of a log without records: standard error comes too */
	int64_t asked_us;
	/* what was found */
	struct buf text;
	int64_t limit, matches, tries;
	uint64_t logs, bytes, told_bytes, told_logs;
	const char *why; /* it was not all; static */
};

static void search_done(void *extra)
{
	struct search *s = extra;

	log_known_done(&s->ask);
	logsearch_free(s->lines);
	free(s->keys);
	buf_done(&s->text);
}

/* --- instances -------------------------------------------------------------------------------- */

static int workflow_take(void *ctx, const struct store_doc *d)
{
	((struct search *)ctx)->filter.workflow = d->id;
	return 0;
}

static int search_task_take(void *ctx, const struct store_task *t)
{
	struct call *c = ctx;
	struct search *s = c->extra;

	names_set_task(c->cgi->names, t);
	s->task_id = t->id;
	s->filter.tasks = &s->task_id;
	s->filter.n_tasks = 1;
	return 0;
}

/* Of what has a name: its number. */
static int names_find(struct call *c, struct reader *r)
{
	struct search *s = c->extra;
	int code = 0;

	if (s->workflow[0])
		code = read_doc(r, &(struct read_which){ DOC_WORKFLOW, .name = s->workflow },
		                workflow_take, s, &c->err);
	if (code == 0 && s->task[0])
		code = read_task(r, s->task, 0, search_task_take, c, &c->err);
	if (code == E_NOT_FOUND)
		return call_fail(c, E_NOT_FOUND, s->task[0] ? "task" : "workflow",
		                 "no such %s: '%s'", s->task[0] ? "task" : "workflow",
		                 s->task[0] ? s->task : s->workflow);
	return code;
}

/* May it have printed then? */
static bool is_meant(const struct search *s, const struct instance *i)
{
	int64_t ended_ms = i->ended_us / US_PER_MS, started_ms = i->started_us / US_PER_MS;

	if (i->state == ST_SKIPPED || (s->ask.since_ms && ended_ms && ended_ms < s->ask.since_ms))
		return false;
	return !s->ask.until_ms || !started_ms || started_ms < s->ask.until_ms || i->generation > 1;
}

static int search_instance(void *ctx, const struct instance *i)
{
	struct search *s = ctx;

	if (!is_meant(s, i))
		return 0;
	s->keys = mem_room(s->keys, &s->cap_keys, s->n_keys + 1, sizeof *s->keys);
	s->keys[s->n_keys++] = i->key;
	return 0;
}

static int search_name_take(void *ctx, const struct store_task *t)
{
	names_set_task(((struct call *)ctx)->cgi->names, t);
	return 0;
}

/* Is it of what was asked for, by the name and the zone of its task? One made since names were read
 * is looked up. */
static bool is_named(struct call *c, struct reader *r, struct inst_key key)
{
	const struct search *s = c->extra;
	size_t n = strlen(s->project);
	struct err err = { 0 };
	char name[NAMES_MAX];
	int64_t from, to;

	if (!names_get(c->cgi->names, NAMES_TASK, key.task, name) &&
	    (read_task(r, NULL, key.task, search_name_take, c, &err) < 0 ||
	     !names_get(c->cgi->names, NAMES_TASK, key.task, name)))
		return false;
	if (n && (strncmp(name, s->project, n) != 0 || name[n] != '/'))
		return false;
	if (!s->zones)
		return true;
	span_in(&s->span, names_zone(c->cgi->names, key.task), &from, &to);
	return key.run_date >= from && key.run_date < to;
}

/* Of the keys that a page has brought. */
static void page_keep(struct call *c, struct reader *r, size_t from)
{
	struct search *s = c->extra;
	size_t n = from;

	for (size_t i = from; i < s->n_keys; i++)
		if (is_named(c, r, s->keys[i]))
			s->keys[n++] = s->keys[i];
	s->is_cut = n > INSTANCES_MAX;
	s->n_keys = s->is_cut ? INSTANCES_MAX : n;
}

static void span_widen(struct search *s)
{
	enum { ZONES_S = 86400 };

	s->zones = span_is_local(&s->span);
	span_in(&s->span, tz_utc(), &s->filter.from, &s->filter.to);
	if (!s->zones)
		return;
	s->filter.from -= s->span.has_from ? ZONES_S : 0;
	if (s->filter.to != INT64_MAX)
		s->filter.to += s->span.has_to ? ZONES_S : 0;
}

/* Newest first, a page in each turn. */
static int search_work(struct call *c, struct reader *r)
{
	struct search *s = c->extra;
	struct read_page page = { .limit = READ_ROWS_MAX,
		                  .cursor = s->list.answer.cursor,
		                  .descending = true,
		                  .answer = &s->list.answer };
	int code = s->pages == 0 ? names_find(c, r) : 0;
	size_t from = s->n_keys;

	if (s->pages == 0)
		span_widen(s);
	if (code == 0)
		code = read_instances(r, &s->filter, &page, search_instance, s, &c->err);
	if (code < 0)
		return code;
	page_keep(c, r, from);
	s->is_cut |= ++s->pages == PAGES_MAX && s->list.answer.cursor[0] != '\0';
	bool more = s->list.answer.cursor[0] != '\0' && !s->is_cut;
	return more ? WORK_MORE : 0;
}

/* --- what is told ----------------------------------------------------------------------------- */

static const char *const stream_words[LOGREC_STREAMS] = { "", "stdout", "stderr", "sirdar" };

static void event_begin(struct search *s, const char *event)
{
	buf_printf(&s->text, "event: %s\ndata: ", event);
	put_open(&s->text, NULL, '{');
}

static void event_end(struct search *s)
{
	put_close(&s->text, '}');
	buf_puts(&s->text, "\n\n");
}

static void instance_put_names(struct call *c, struct buf *b, struct inst_key key)
{
	char id[ID_TEXT_MAX], task[NAMES_MAX] = "", label[LABEL_TEXT];

	key_text(key, id);
	names_get(c->cgi->names, NAMES_TASK, key.task, task);
	names_label(c->cgi->names, key.task, 0, key.run_date, label);
	put_text(b, "id", id);
	put_text(b, "task", task);
	put_text(b, "label", label);
	if (key.part)
		put_int(b, "part", key.part);
}

static bool search_hit(void *ctx, const struct logsearch_hit *hit)
{
	struct call *c = ctx;
	struct search *s = c->extra;
	size_t n = hit->n < TEXT_MAX ? hit->n : TEXT_MAX;

	event_begin(s, "match");
	instance_put_names(c, &s->text, s->ask.key);
	put_int(&s->text, "generation", s->now.generation);
	put_int(&s->text, "attempt", s->now.attempt);
	put_int(&s->text, "execution", s->now.execution);
	put_bool(&s->text, "counts", s->now.counts);
	put_text(&s->text, "stream", stream_words[hit->stream]);
	put_id(&s->text, "line", hit->line);
	put_id(&s->text, "offset", hit->at);
	if (hit->time_ms)
		put_time_us(&s->text, "time", hit->time_ms * US_PER_MS);
	put_bytes(&s->text, "text", hit->text, n);
	if (n < hit->n)
		put_bool(&s->text, "cut", true);
	event_end(s);
	if (++s->matches < s->limit)
		return true;
	s->why = "limit";
	return false;
}

/* How far it is, now and then. */
static void progress_tell(struct search *s)
{
	if (s->bytes - s->told_bytes < TOLD_BYTES && s->logs - s->told_logs < TOLD_LOGS)
		return;
	s->told_bytes = s->bytes;
	s->told_logs = s->logs;
	event_begin(s, "progress");
	put_id(&s->text, "bytes", s->bytes);
	put_id(&s->text, "logs", s->logs);
	put_int(&s->text, "instances_done", (int64_t)s->at_key);
	put_int(&s->text, "instances", (int64_t)s->n_keys);
	event_end(s);
}

static void search_over(struct call *c)
{
	struct search *s = c->extra;

	if (!s->why && s->is_cut)
		s->why = "instances";
	event_begin(s, "end");
	put_int(&s->text, "matches", s->matches);
	put_id(&s->text, "logs", s->logs);
	put_id(&s->text, "bytes", s->bytes);
	put_int(&s->text, "instances", (int64_t)s->n_keys);
	put_bool(&s->text, "complete", !s->why);
	if (s->why)
		put_text(&s->text, "why", s->why);
	if (c->err.code < 0)
		put_text(&s->text, "message", c->err.text);
	event_end(s);
	c->err = (struct err){ 0 };
	s->stage = STAGE_OVER;
}

/* --- one log after the other ------------------------------------------------------------------ */

static int piece_ask(struct call *c)
{
	struct search *s = c->extra;

	s->stage = STAGE_PIECE;
	s->asked_us = clock_mono_us(&clock_machine);
	buf_clear(&c->out);
	return call_log(c);
}

static int log_begin(struct call *c, uint32_t stream)
{
	struct search *s = c->extra;

	s->ask.list = false;
	s->ask.stream = stream;
	s->ask.generation = s->now.generation;
	s->ask.attempt = s->now.attempt;
	s->ask.execution = s->now.execution;
	s->ask.offset = 0;
	s->ask.ret_next = 0;
	s->ask.since_ms = s->since_ms;
	s->ask.read = (struct log_read){ 0 };
	s->is_begun = false;
	logsearch_begin(s->lines);
	return piece_ask(c);
}

static int list_ask(struct call *c)
{
	struct search *s = c->extra;

	s->stage = STAGE_LIST;
	s->ask.key = s->keys[s->at_key++];
	s->ask.list = true;
	s->ask.generation = s->ask.attempt = s->ask.execution = 0;
	buf_clear(&c->out);
	return call_log(c);
}

/* The next execution that has something, the newest first; then the next instance. */
static int next_ask(struct call *c)
{
	struct search *s = c->extra;

	while (s->known > 0) {
		s->now = s->ask.ret_known[--s->known];
		bool is_other = s->now.attempt != s->last.attempt ||
		                s->now.generation != s->last.generation ||
		                !inst_key_eq(s->ask.key, s->last_key);
		s->last = s->now;
		s->last_key = s->ask.key;
		s->tries += is_other;
		if (s->attempts && s->tries > s->attempts)
			break;
		if (!s->now.bytes[0] && !s->now.bytes[1] && !s->now.bytes[2])
			continue;
		s->has_other = s->stream == LOG_MERGED && !s->now.bytes[2];
		return log_begin(c, s->stream);
	}
	log_known_done(&s->ask);
	s->known = 0;
	bool is_enough = s->attempts && s->tries >= s->attempts;
	if (is_enough || s->at_key == s->n_keys) {
		search_over(c);
		return 0;
	}
	return list_ask(c);
}

/* On the thread of searches. */
static int look_work(struct call *c, struct reader *r)
{
	struct search *s = c->extra;
	bool is_raw = s->ask.read.phase != LOGREAD_STREAM, more;

	(void)r;
	more = is_raw ? logsearch_records(s->lines, &c->out, search_hit, c)
	              : logsearch_bytes(s->lines, s->ask.ret_stream, &c->out, search_hit, c);
	if (more && (s->ask.ret_end || s->ask.ret_next == s->ask.offset))
		logsearch_end(s->lines, search_hit, c);
	return 0;
}

/* A piece was looked through: the next of its log, or the next log. */
static int look_took(struct call *c)
{
	struct search *s = c->extra;
	int64_t us = clock_mono_us(&clock_machine) - s->asked_us;

	s->bytes += c->out.len;
	progress_tell(s);
	if (!s->why && budget_search(c, (int64_t)c->out.len, us) < 0)
		s->why = "budget";
	if (s->why) {
		search_over(c);
		return 0;
	}
	if (!s->ask.ret_end && s->ask.ret_next != s->ask.offset) {
		s->ask.offset = s->ask.ret_next;
		s->ask.since_ms = 0;
		return piece_ask(c);
	}
	if (s->has_other && s->ask.ret_stream == LOG_STDOUT && s->now.bytes[1]) {
		s->has_other = false;
		return log_begin(c, LOG_STDERR);
	}
	return next_ask(c);
}

/* What was waited for is here: go on until there is something to tell, or something to wait for.
 * What went meanwhile, by retention, is no failure. */
static int search_go_on(struct call *c)
{
	struct search *s = c->extra;
	bool is_gone = c->err.code == E_NOT_FOUND && s->stage != STAGE_LOOK;

	if (c->err.code < 0 && !is_gone) {
		s->why = "error";
		search_over(c);
		return 0;
	}
	c->err = (struct err){ 0 };
	switch (s->stage) {
	case STAGE_LIST:
		s->known = is_gone ? 0 : s->ask.n_known;
		return next_ask(c);
	case STAGE_PIECE:
		if (is_gone)
			return next_ask(c);
		s->logs += !s->is_begun;
		s->is_begun = true;
		s->stage = STAGE_LOOK;
		return call_search(c, look_work);
	case STAGE_LOOK:
		return look_took(c);
	case STAGE_OVER:
		break;
	}
	return 0;
}

static ssize_t search_take(void *ctx, uint64_t pos, char *to, size_t max)
{
	struct call *c = ctx;
	struct search *s = c->extra;

	(void)pos;
	for (;;) {
		size_t n = s->text.len < max ? s->text.len : max;

		if (n > 0) {
			memcpy(to, buf_at(&s->text), n);
			buf_drop(&s->text, n);
			return (ssize_t)n;
		}
		if (s->stage == STAGE_OVER)
			return MHD_CONTENT_READER_END_OF_STREAM;
		bool is_first = !s->is_waiting;
		s->is_waiting = true;
		/* 0: something is waited for, or it is over; else the error is looked at. */
		if ((is_first ? next_ask(c) : search_go_on(c)) == 0 && s->stage != STAGE_OVER)
			return 0;
	}
}

/* The first instances are known; an expression or a name that is wrong was refused before. */
static int search_begin(struct call *c)
{
	struct MHD_Response *r;

	if (c->err.code < 0 || budget_may_search(c) < 0 || budget_stream(c) < 0)
		return c->err.code;
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, search_take, c, NULL);
	CHECK(r);
	MHD_add_response_header(r, "Content-Type", "text/event-stream; charset=utf-8");
	MHD_add_response_header(r, "X-Accel-Buffering", "no");
	c->streaming = true;
	return reply_queue(c, MHD_HTTP_OK, r);
}

/* --- what is asked for ------------------------------------------------------------------------ */

static int name_arg(struct call *c, const char *name, char ret[CALL_PARAM_BYTES])
{
	const char *v = call_arg(c, name);

	if (v && (v[0] == '\0' || strlen(v) >= CALL_PARAM_BYTES))
		return call_fail(c, E_INVALID, name, "%s wants a name", name);
	snprintf(ret, CALL_PARAM_BYTES, "%s", v ? v : "");
	return 0;
}

/* One of the four: an instance, a workflow's dates, a task's attempts, a project's time. */
static int where_read(struct call *c, struct search *s)
{
	const char *id = call_arg(c, "instance");

	if (name_arg(c, "workflow", s->workflow) < 0 || name_arg(c, "task", s->task) < 0 ||
	    name_arg(c, "project", s->project) < 0)
		return c->err.code;
	if (!id)
		return 0;
	s->keys = mem_array(1, sizeof *s->keys);
	if (!key_read(id, s->keys))
		return call_fail(c, E_INVALID, "instance",
		                 "want an instance's id, TASKID.RUNDATE or TASKID.RUNDATE.PART");
	s->n_keys = 1;
	return 0;
}

static int what_read(struct call *c, struct search *s)
{
	const char *expression = call_arg(c, "match");
	bool folds = false;
	struct err err = { 0 };

	if (call_arg_bool(c, "ignore_case", &folds) < 0)
		return c->err.code;
	if (expression && logsearch_new(expression, folds, &s->lines, &err) < 0)
		return call_fail(c, E_INVALID, "match", "%s", err.text);
	return 0;
}

/* What has to be there, once all that is there is right. */
static int search_check(struct call *c, const struct search *s)
{
	int n = (s->n_keys > 0) + (s->workflow[0] != '\0') + (s->task[0] != '\0') +
	        (s->project[0] != '\0');

	if (!s->lines)
		return call_fail(c, E_INVALID, "match", "match wants a regular expression");
	if (n != 1)
		return call_fail(c, E_INVALID, "instance",
		                 "name one of instance, workflow, task and project");
	if (s->workflow[0] && !s->span.has_from)
		return call_fail(c, E_INVALID, "from", "say which run: from and to, its date");
	return 0;
}

static int time_read(struct call *c, const char *name, int64_t *ret_ms)
{
	return log_time_arg(c, name, tz_utc(), ret_ms);
}

/* Is the instance of the path, or argument, there for who asks? */
static int seen_work(struct call *c, struct reader *r)
{
	const struct search *s = c->extra;
	struct instance i;
	int code = read_instance(r, s->keys[0], &i, &c->number, &c->err);

	if (code == 0) /* what is found says its task's name */
		return is_named(c, r, s->keys[0]) ? 0 : key_absent(c, s->keys[0]);
	return code == E_NOT_FOUND ? key_absent(c, s->keys[0]) : code;
}

int logs_search_get(struct call *c)
{
	static const char *const names[] = { "match", "ignore_case", "instance", "workflow",
		                             "task",  "project",     "from",     "to",
		                             "since", "until",       "attempts", "stream",
		                             "limit", NULL };
	struct search *s = c->extra = mem_new(sizeof *s);

	c->extra_done = search_done;
	buf_init(&s->text);
	if (call_args_only(c, names) < 0 || where_read(c, s) < 0 || what_read(c, s) < 0 ||
	    span_args(c, &s->span) < 0 || time_read(c, "since", &s->since_ms) < 0 ||
	    time_read(c, "until", &s->ask.until_ms) < 0 ||
	    call_arg_int(c, "attempts", 0, 1, 100000, &s->attempts) < 0 ||
	    call_arg_int(c, "limit", 1000, 1, 10000, &s->limit) < 0 ||
	    log_stream_arg(c, LOG_MERGED, &s->stream) < 0 || search_check(c, s) < 0)
		return c->err.code;
	s->ask.since_ms = s->since_ms;
	s->ask.bytes_max = UINT32_MAX;
	s->ask.form.is_raw = true;
	s->ask.form.has_ours = s->stream == LOG_MERGED;
	s->filter.parts = true;
	s->filter.tests = s->workflow[0] != '\0';
	c->then = search_begin;
	return call_read(c, s->n_keys ? seen_work : search_work);
}

/* --- executions ------------------------------------------------------------------------------- */

static void known_done(void *extra)
{
	log_known_done(extra);
}

static int executions_done(struct call *c)
{
	struct log_ask *a = c->extra;
	char broker[NAMES_MAX];

	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "items", '[');
	for (size_t i = 0; i < a->n_known; i++) {
		const struct log_execution *k = &a->ret_known[i];

		put_open(&c->out, NULL, '{');
		put_int(&c->out, "generation", k->generation);
		put_int(&c->out, "attempt", k->attempt);
		put_int(&c->out, "execution", k->execution);
		put_bool(&c->out, "counts", k->counts);
		put_bool(&c->out, "ended", k->is_ended);
		if (names_get(c->cgi->names, NAMES_BROKER, k->broker, broker))
			put_text(&c->out, "broker", broker);
		put_id(&c->out, "bytes", k->bytes[0] + k->bytes[1] + k->bytes[2]);
		put_close(&c->out, '}');
	}
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

static int executions_seen(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	c->then = executions_done;
	return call_log(c);
}

static int exists_work(struct call *c, struct reader *r)
{
	const struct log_ask *a = c->extra;
	struct instance i;
	int code = read_instance(r, a->key, &i, &c->number, &c->err);

	return code == E_NOT_FOUND ? key_absent(c, a->key) : code;
}

int instance_executions_get(struct call *c)
{
	static const char *const names[] = { "generation", "attempt", NULL };
	struct log_ask *a = c->extra = mem_new(sizeof *a);
	int64_t generation, attempt;

	c->extra_done = known_done;
	if (call_args_only(c, names) < 0 || key_param(c, &a->key) < 0 ||
	    call_arg_int(c, "generation", 0, 1, UINT32_MAX, &generation) < 0 ||
	    call_arg_int(c, "attempt", 0, 1, UINT16_MAX, &attempt) < 0)
		return c->err.code;
	a->generation = (uint32_t)generation;
	a->attempt = (uint32_t)attempt;
	a->list = true;
	c->then = executions_seen;
	return call_read(c, exists_work);
}
