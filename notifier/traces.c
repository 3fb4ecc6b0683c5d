/* Events into spans, spans to a collector: an actor on a thread of its own.
 *
 * One batch at a time. The cursor moves when the collector has taken the batch or refused it for
 * good; without an answer, with 429 or with 5xx, the batch stays and is tried again after a pause
 * that grows. Farther behind than traces_behind_max, the oldest events are passed over and
 * counted. A store with another past drops the batch. No alert waits for any of this.
 */
#include "notifier/traces.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/life.h"
#include "notifier/spans.h"
#include "rt/actor.h"
#include "rt/thread.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/param.h"
#include "wire/trace.h"

enum { EVENTS_MAX = 200, HISTORY_MAX = 500, RUNS_MAX = 200, HEADERS_BYTES_MAX = 16384 };
enum { PLACE_MAX = READ_LIFE_MAX + 32 };
enum { PAUSE_MIN_MS = 1000, PAUSE_MAX_MS = 60000 };

struct run_at {
	uint32_t workflow;
	int64_t run_date;
	int64_t last_us; /* the last end that was seen */
	char task[300];  /* one of its tasks */
};

struct traces {
	const struct param_notifier *param;
	struct thread *thread;
	struct actor *me;
	struct reader *reader;
	struct curl_slist *headers;
	char path[4200]; /* of what is written down */

	char life[READ_LIFE_MAX]; /* of the store; "": not known */
	uint64_t cursor;          /* taken by the collector, or passed over, up to here */
	/* The batch: events up to `upto`, made into spans; kept until it is taken. */
	struct buf spans;
	size_t n_spans;
	uint64_t upto;
	bool has_more;
	struct read_event events[EVENTS_MAX], history[HISTORY_MAX];
	size_t n_events, n_history;
	struct run_at runs[RUNS_MAX];
	size_t n_runs;

	unsigned pause_ms; /* after a failure; 0: none */
	uint64_t sent, lost;
};

/* --- the place ------------------------------------------------------------------------------ */

static int place_read(struct traces *t, struct err *err)
{
	struct buf text;
	char *end;
	int r;

	buf_init(&text);
	r = fs_read(t->path, PLACE_MAX, &text, err);
	if (r == 0) {
		t->cursor = strtoull(buf_str(&text), &end, 10);
		end += *end == ' ';
		snprintf(t->life, sizeof t->life, "%.*s", (int)strcspn(end, "\n"), end);
	} else if (r == E_NOT_FOUND) /* the very first start: nobody is told of the past */
		r = read_number(t->reader, &t->cursor, err);
	buf_done(&text);
	return r;
}

static void place_write(struct traces *t)
{
	struct err err = { 0 };
	char text[PLACE_MAX];
	int n = snprintf(text, sizeof text, "%" PRIu64 " %s\n", t->cursor, t->life);

	if (fs_write(t->path, text, (size_t)n, 0600, &err) < 0)
		log_warn("traces.place", "why=\"%s\"", err.text);
}

/* --- from events to spans -------------------------------------------------------------------- */

static int take_event(void *ctx, const struct read_event *e)
{
	struct traces *t = ctx;

	t->upto = e->number;
	t->events[t->n_events] = *e;
	t->events[t->n_events++].note = NULL;
	return 0;
}

static int take_history(void *ctx, const struct read_event *e)
{
	struct traces *t = ctx;

	t->history[t->n_history] = *e;
	t->history[t->n_history++].note = NULL;
	return 0;
}

static int take_task(void *ctx, const struct store_task *s)
{
	struct run_at *run = ctx;

	run->workflow = s->workflow_id;
	snprintf(run->task, sizeof run->task, "%s", s->name);
	return 0;
}

/* Newest first, of all generations: into those of one, oldest first. */
static void history_turn(struct traces *t, const struct read_event *end)
{
	size_t n = 0;

	for (size_t k = 0; k < t->n_history; k++)
		if (t->history[k].generation == end->generation &&
		    t->history[k].number <= end->number)
			t->history[n++] = t->history[k];
	t->n_history = n;
	for (size_t k = 0; k < n / 2; k++) {
		struct read_event e = t->history[k];
		t->history[k] = t->history[n - 1 - k];
		t->history[n - 1 - k] = e;
	}
}

/* Whole traces or nothing of them. */
static bool is_sampled(const struct traces *t, const struct run_at *run)
{
	struct trace_of of = { .task = run->task, .run_date = run->run_date };
	char id[33];

	trace_id(&of, id);
	id[8] = '\0';
	return strtoull(id, NULL, 16) % 1000 < (unsigned long long)t->param->traces_permille;
}

static void run_note(struct traces *t, const struct run_at *run)
{
	for (size_t k = 0; k < t->n_runs; k++)
		if (t->runs[k].workflow == run->workflow && t->runs[k].run_date == run->run_date) {
			t->runs[k].last_us = run->last_us;
			return;
		}
	if (t->n_runs < RUNS_MAX)
		t->runs[t->n_runs++] = *run;
}

static int add_instance(struct traces *t, const struct read_event *e, struct err *err)
{
	struct run_at run = { .run_date = e->key.run_date, .last_us = e->at_us };
	struct instance i;
	int r = read_task(t->reader, NULL, e->key.task, take_task, &run, err);

	if (r == 0 && !is_sampled(t, &run))
		return 0;
	if (r == 0)
		r = read_instance(t->reader, e->key, &i, NULL, err);
	if (r == 0 && i.origin == OR_TEST)
		return 0;
	t->n_history = 0;
	if (r == 0)
		r = read_events(t->reader, &(struct read_history){ e->key, 0, HISTORY_MAX },
		                take_history, t, NULL, err);
	if (r == E_NOT_FOUND) /* retention was faster */
		return 0;
	if (r < 0)
		return r;
	history_turn(t, e);
	i.generation = e->generation; /* it may have begun anew meanwhile */
	i.state = e->to;
	i.reason = e->reason;
	t->n_spans += spans_instance(&t->spans, run.task, &i, t->history, t->n_history);
	run_note(t, &run);
	return 0;
}

static int take_row(void *ctx, const struct instance *i)
{
	struct span_run *r = ctx;

	r->instances++;
	if (!state_final((enum state)i->state))
		r->ended_us = INT64_MAX;
	r->failed += i->state != ST_SUCC && i->state != ST_SKIPPED;
	if (!r->began_us || i->created_us < r->began_us)
		r->began_us = i->created_us;
	return 0;
}

/* Its span is told when nothing of it is unfinished; again, longer, when more of it ended later. */
static int add_run(struct traces *t, const struct run_at *at, struct err *err)
{
	struct read_filter f = { .workflow = at->workflow,
		                 .from = at->run_date,
		                 .to = at->run_date + 1 };
	struct read_page page = { .limit = READ_ROWS_MAX };
	struct span_run run = { .task = at->task, .run_date = at->run_date };
	int r = read_instances(t->reader, &f, &page, take_row, &run, err);

	if (r < 0 || run.ended_us == INT64_MAX || run.instances == 0)
		return r;
	run.ended_us = at->last_us; /* events come in order: none of its spans ends later */
	spans_run(&t->spans, &run);
	t->n_spans++;
	return 0;
}

static bool ends(const struct read_event *e)
{
	return e->key.part >= 0 && state_final((enum state)e->to) &&
	       !(e->from != ST_NONE && state_final((enum state)e->from));
}

static int traces_gather(struct traces *t, struct err *err)
{
	int r;

	t->n_events = t->n_runs = t->n_spans = 0;
	t->upto = t->cursor;
	buf_clear(&t->spans);
	r = read_events_after(t->reader, &(struct read_tail){ t->cursor, EVENTS_MAX }, take_event,
	                      t, NULL, err);
	t->has_more = t->n_events == EVENTS_MAX;
	for (size_t k = 0; r == 0 && k < t->n_events; k++)
		if (ends(&t->events[k]))
			r = add_instance(t, &t->events[k], err);
	for (size_t k = 0; r == 0 && k < t->n_runs; k++)
		r = add_run(t, &t->runs[k], err);
	if (r < 0) /* all of it again */
		buf_clear(&t->spans);
	return r;
}

/* A store with another past: what waited is of the former one. */
static int look_past(struct traces *t, struct err *err)
{
	char now[READ_LIFE_MAX];
	uint64_t was = t->cursor;
	int r = life_look(t->reader, t->life, now, &t->cursor, err);

	if (r < 0 || (r == 0 && strcmp(now, t->life) == 0))
		return r;
	memcpy(t->life, now, sizeof t->life);
	if (r > 0) {
		log_warn("traces.past",
		         "was=%" PRIu64 " cursor=%" PRIu64 " text=\"the store has another past\"",
		         was, t->cursor);
		buf_clear(&t->spans);
	}
	place_write(t);
	return 0;
}

/* Who is too far behind passes over what is oldest. */
static int skip_old(struct traces *t, struct err *err)
{
	uint64_t number, most = (uint64_t)t->param->traces_behind_max;
	int r = read_number(t->reader, &number, err);

	if (r < 0 || number < t->cursor || number - t->cursor <= most)
		return r;
	uint64_t to = number - most / 2;
	t->lost += to - t->cursor;
	log_warn("traces.lost",
	         "events=%" PRIu64 " in_all=%" PRIu64
	         " text=\"the collector takes less than happens: passed over\"",
	         to - t->cursor, t->lost);
	t->cursor = to;
	buf_clear(&t->spans);
	place_write(t);
	return 0;
}

/* --- to the collector ---------------------------------------------------------------------- */

static size_t traces_ignore(char *p, size_t size, size_t n, void *ctx)
{
	(void)p;
	(void)ctx;
	return size * n;
}

/* 0: no answer came. */
static long traces_post(const struct traces *t, const struct buf *body, char why[CURL_ERROR_SIZE])
{
	CURL *easy = curl_easy_init();
	long status = 0;

	if (!easy)
		return 0;
	curl_easy_setopt(easy, CURLOPT_URL, t->param->traces_url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)t->param->send_ms);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, traces_ignore);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)body->len);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, (const char *)buf_at(body));
	if (curl_easy_perform(easy) == CURLE_OK)
		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(easy);
	return status;
}

static void traces_failed(struct traces *t, long status, const char *why)
{
	if (t->pause_ms == 0)
		log_warn("traces.untaken", "status=%ld why=\"%s\" spans=%zu", status, why,
		         t->n_spans);
	t->pause_ms = t->pause_ms ? t->pause_ms * 2 : PAUSE_MIN_MS;
	if (t->pause_ms > PAUSE_MAX_MS)
		t->pause_ms = PAUSE_MAX_MS;
}

/* What is refused for good is lost; what may be taken later stays. */
static void send_batch(struct traces *t)
{
	char why[CURL_ERROR_SIZE] = "";
	struct buf body;
	long status;

	buf_init(&body);
	spans_request(&body, t->param->traces_service, &t->spans);
	status = traces_post(t, &body, why);
	buf_done(&body);
	if (status == 0 || status == 429 || status >= 500) {
		traces_failed(t, status, why);
		return;
	}
	if (status >= 200 && status < 300) {
		t->sent += t->n_spans;
		if (t->pause_ms)
			log_info("traces.taken", "spans=%zu in_all=%" PRIu64, t->n_spans, t->sent);
	} else {
		t->lost += t->n_spans;
		log_warn("traces.refused", "status=%ld spans=%zu in_all=%" PRIu64, status,
		         t->n_spans, t->lost);
	}
	t->pause_ms = 0;
	buf_clear(&t->spans);
}

/* --- the actor ------------------------------------------------------------------------------ */

static void on_alarm(void *self)
{
	struct traces *t = self;
	struct err err = { 0 };
	int64_t wait_ms = t->param->traces_every_ms;
	uint64_t was = t->cursor;
	int r = look_past(t, &err);

	if (r == 0)
		r = skip_old(t, &err);
	if (r == 0 && t->spans.len == 0)
		r = traces_gather(t, &err);
	if (r < 0) {
		log_warn("traces.unread", "code=%s why=\"%s\"", err_name(r), err.text);
		wait_ms = PAUSE_MIN_MS;
	} else if (t->spans.len) {
		send_batch(t);
	}
	if (r == 0 && t->spans.len == 0)
		t->cursor = t->upto > t->cursor ? t->upto : t->cursor;
	if (t->cursor != was)
		place_write(t);
	if (t->pause_ms)
		wait_ms = t->pause_ms;
	else if (r == 0 && t->has_more)
		wait_ms = 0;
	actor_alarm(t->me, actor_mono_us(t->me) + wait_ms * US_PER_MS);
}

static int on_init(void *self, struct actor *me, struct err *err)
{
	struct traces *t = self;

	(void)err;
	t->me = me;
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

static const struct actor_ops ops = {
	.name = "traces", .letters_max = 4, .init = on_init, .alarm = on_alarm
};

/* `Name: value` a line. */
static int headers_read(struct traces *t, struct err *err)
{
	const char *path = t->param->traces_header_file;
	struct buf text;
	int r = 0;

	t->headers = curl_slist_append(t->headers, "Content-Type: application/json");
	t->headers = curl_slist_append(t->headers, "Expect:");
	buf_init(&text);
	if (path[0])
		r = fs_read_secret(path, HEADERS_BYTES_MAX, &text, err);
	for (char *at = (char *)(uintptr_t)buf_str(&text), *end; r == 0 && *at; at = end) {
		end = at + strcspn(at, "\n");
		end += *end ? (*end = '\0', 1) : 0;
		if (*at && !strchr(at, ':'))
			r = err_set(err, E_INVALID, "%s: want lines of `Name: value`", path);
		else if (*at)
			t->headers = curl_slist_append(t->headers, at);
	}
	buf_done(&text);
	return r;
}

int traces_start(const struct param_notifier *p, struct traces **ret_traces, struct err *err)
{
	struct traces *t;
	int r;

	*ret_traces = NULL;
	if (!p->traces_url[0])
		return 0;
	t = mem_new(sizeof *t);
	t->param = p;
	buf_init(&t->spans);
	snprintf(t->path, sizeof t->path, "%s/traces", p->state_dir);
	r = headers_read(t, err);
	if (r == 0)
		r = reader_open(p->store, &t->reader, err);
	if (r == 0)
		r = place_read(t, err);
	if (r == 0) {
		t->thread = thread_new("traces", &clock_machine);
		actor_new(t->thread, &ops, t);
		r = thread_start(t->thread, err);
	}
	if (r < 0) {
		traces_stop(t);
		return r;
	}
	log_info("traces.up", "url=%s from=%" PRIu64, p->traces_url, t->cursor);
	*ret_traces = t;
	return 0;
}

void traces_stop(struct traces *t)
{
	if (!t)
		return;
	thread_stop(t->thread);
	thread_free(t->thread);
	reader_close(t->reader);
	curl_slist_free_all(t->headers);
	buf_done(&t->spans);
	free(t);
}
