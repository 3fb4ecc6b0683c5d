/* What flows: events and logs as server-sent events; and pieces of logs as text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_streams.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/feed.h"
#include "cgi/server/list.h"
#include "cgi/server/names.h"
#include "cgi/server/net.h"
#include "cgi/server/show.h"
#include "cgi/who/budget.h"
#include "cgi/who/people.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"

#define FEED_BYTES ((size_t)256 * 1024)
#define LOG_BYTES  262144
#define TAIL_BYTES LOG_BYTES

static int stream_reply(struct call *c, struct MHD_Response *r)
{
	MHD_add_response_header(r, "Content-Type", "text/event-stream; charset=utf-8");
	MHD_add_response_header(r, "X-Accel-Buffering", "no");
	c->streaming = true;
	return reply_queue(c, MHD_HTTP_OK, r);
}

/* Where the stream goes on: the browser's header, or an argument. */
static int from_read(struct call *c, uint64_t *ret)
{
	const char *v = call_header(c, "Last-Event-ID");
	size_t n;

	if (!v || v[0] == '\0')
		v = call_arg(c, "from");
	*ret = 0;
	if (!v)
		return 0;
	n = strspn(v, "0123456789");
	if (n == 0 || n > 18 || v[n] != '\0')
		return call_fail(c, E_INVALID, "from", "want the number of an event");
	*ret = strtoull(v, NULL, 10);
	return 0;
}

struct events_ask {
	uint64_t from;
	uint32_t task, states;
	bool is_ahead; /* nothing has that number yet: it is of another past */
};

/* As people were when it was let in; admin's and a machine's tokens are no people's. */
static uint64_t mark_now(struct call *c)
{
	uint64_t mark = people_mark_of(c->person, c->token);

	return mark ? mark : people_reading_mark(c->cgi->people);
}

static int events_begin(struct call *c)
{
	const struct events_ask *a = c->extra;
	struct feed *f = feed_new(c->conn, FEED_BYTES);
	struct MHD_Response *resp = feed_response(f);
	struct follow which = { .from = a->is_ahead ? 0 : a->from,
		                .task = a->task,
		                .states = a->states,
		                .sight = c->sight,
		                .mark = mark_now(c) };

	auth_session_refer(c->cgi->auth, c, &which.session);

	if (a->is_ahead)
		feed_put(f, EVENT_GAP, sizeof EVENT_GAP - 1);
	int r = net_follow_events(c->cgi->net, f, &which);
	if (r < 0) {
		MHD_destroy_response(resp);
		return call_fail(c, r, "", "%s", err_text(r));
	}
	return stream_reply(c, resp);
}

/* What a client was told is in the store: a later number it has from another one. A store that
 * cannot be read refuses nobody. */
static int number_work(struct call *c, struct reader *r)
{
	struct events_ask *a = c->extra;
	uint64_t last;

	if (read_number(r, &last, &c->err) == 0)
		a->is_ahead = a->from > last;
	c->err = (struct err){ 0 };
	return 0;
}

static int number_done(struct call *c)
{
	c->err = (struct err){ 0 };
	c->then = NULL;
	return events_begin(c);
}

int events_get(struct call *c)
{
	static const char *const names[] = { "from", "task_id", "states", NULL };
	struct events_ask *a = c->extra = mem_new(sizeof *a);
	int64_t task;

	if (call_args_only(c, names) < 0 || from_read(c, &a->from) < 0 ||
	    states_read(c, "states", &a->states) < 0 ||
	    call_arg_int(c, "task_id", 0, 0, UINT32_MAX, &task) < 0 || budget_stream(c) < 0)
		return c->err.code;
	a->task = (uint32_t)task;
	if (a->from == 0)
		return events_begin(c);
	c->then = number_done;
	return call_read(c, number_work);
}

/* --- logs ------------------------------------------------------------------------------------- */

static int log_follow(struct call *c, const struct log_ask *a)
{
	struct feed *f;
	struct MHD_Response *resp;
	int r;

	f = feed_new(c->conn, FEED_BYTES);
	resp = feed_response(f);
	r = net_follow_log(c->cgi->net, f, a);
	if (r < 0) {
		MHD_destroy_response(resp);
		return call_fail(c, r, "", "%s", err_text(r));
	}
	return stream_reply(c, resp);
}

/* The last `lines` lines of what is in c->out; *ret_skipped bytes go before them. */
static const char *lines_cut(struct call *c, int64_t lines, size_t *ret_skipped)
{
	const char *text = (const char *)buf_at(&c->out), *p = text + c->out.len;

	if (p > text && p[-1] == '\n')
		p--;
	while (p > text && (p[-1] != '\n' || --lines > 0))
		p--;
	*ret_skipped = (size_t)(p - text);
	return p;
}

struct log_query {
	struct log_ask ask; /* first: net_log() finds it */
	int64_t lines;
	bool download, follow;
	struct err absent; /* what the server said; the store is asked for the instance */
};

static void number_header(struct MHD_Response *r, const char *name, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, v);
	MHD_add_response_header(r, name, text);
}

static const char *stream_name(uint8_t stream)
{
	return stream == LOG_MERGED ? "merged" : stream == LOG_STDERR ? "stderr" : "stdout";
}

/* --- whole logs, piece by piece --- */

/* "shop.daily.load 2026-10-25 02-30 (2) stderr.log", for who does not read that the instance's id.
 * Colons are no part of a file's name on every system. */
static void name_header(struct call *c, struct MHD_Response *r, const struct log_ask *a)
{
	char id[ID_TEXT_MAX], task[NAMES_MAX] = "", label[LABEL_TEXT];
	struct buf name, out;

	key_text(a->key, id);
	if (!names_get(c->cgi->names, NAMES_TASK, a->key.task, task))
		snprintf(task, sizeof task, "%u", a->key.task);
	names_label(c->cgi->names, a->key.task, 0, a->key.run_date, label);
	buf_init(&name);
	buf_init(&out);
	buf_printf(&name, "%s %s", task, label);
	if (a->key.part)
		buf_printf(&name, " part %d", a->key.part);
	buf_printf(&name, a->stream == LOG_MERGED ? ".log" : " %s.log",
	           stream_name((uint8_t)a->stream));
	buf_printf(&out, "attachment; filename=\"%s.log\"; filename*=UTF-8''", id);
	for (const char *p = buf_str(&name); *p; p++)
		if (*p == '/' || *p == ':')
			buf_putc(&out, *p == '/' ? '.' : '-');
		else if (*p > ' ' && *p < 0x7f && !strchr("\"'%()*;<>?[\\]{}@,=|", *p))
			buf_putc(&out, *p);
		else
			buf_printf(&out, "%%%02X", (unsigned char)*p);
	MHD_add_response_header(r, "Content-Disposition", buf_str(&out));
	buf_done(&out);
	buf_done(&name);
}

/* The next piece is asked for when the last one went out; nothing is kept of those. A log that is
 * still written to ends where it ends now. */
static ssize_t file_take(void *ctx, uint64_t pos, char *to, size_t max)
{
	struct call *c = ctx;
	struct log_ask *a = c->extra;
	size_t n = c->out.len < max ? c->out.len : max;

	(void)pos;
	if (c->err.code < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n > 0) {
		memcpy(to, buf_at(&c->out), n);
		buf_drop(&c->out, n);
		return (ssize_t)n;
	}
	if (a->ret_end || a->ret_next == a->offset)
		return MHD_CONTENT_READER_END_OF_STREAM;
	a->offset = a->ret_next;
	a->since_ms = 0;
	call_log(c);
	return 0;
}

static int file_came(struct call *c)
{
	const struct log_ask *a = c->extra;
	struct MHD_Response *r;

	if (c->err.code < 0)
		return c->err.code;
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, FEED_BYTES, file_take, c, NULL);
	CHECK(r);
	MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	name_header(c, r, a);
	c->streaming = true;
	return reply_queue(c, MHD_HTTP_OK, r);
}

int log_file(struct call *c)
{
	struct log_ask *a = c->extra;

	a->bytes_max = LOG_BYTES;
	c->then = file_came;
	return call_log(c);
}

/* --- pieces of logs --- */

static int json_reply(struct call *c, const struct log_query *q)
{
	struct buf *b = &c->details;

	buf_clear(b);
	put_open(b, NULL, '{');
	put_id(b, "offset", q->ask.ret_offset);
	put_id(b, "next", q->ask.ret_next);
	put_int(b, "generation", q->ask.ret_generation);
	put_int(b, "attempt", q->ask.ret_attempt);
	if (q->ask.ret_line)
		put_id(b, "line", q->ask.ret_line);
	if (q->ask.ret_lines)
		put_id(b, "lines", q->ask.ret_lines);
	put_bool(b, "end", q->ask.ret_end);
	put_text(b, "stream", stream_name(q->ask.ret_stream));
	buf_puts(b, ",\"records\":[");
	if (q->ask.ret_stream == LOG_MERGED || q->ask.read.phase != LOGREAD_STREAM) {
		buf_put(b, buf_at(&c->out), c->out.len);
	} else if (c->out.len) { /* of an earlier release: nobody knows when */
		buf_printf(b, "[0,%d,", q->ask.ret_stream);
		json_quote(b, (const char *)buf_at(&c->out), c->out.len);
		buf_putc(b, ']');
	}
	buf_puts(b, "]}");
	buf_clear(&c->out);
	buf_put(&c->out, buf_at(b), b->len);
	buf_clear(b);
	return reply_json(c, MHD_HTTP_OK);
}

/* Is it an instance at all? Of one that never was nothing is said of its attempts. */
static int exists_work(struct call *c, struct reader *r)
{
	struct log_query *q = c->extra;
	struct instance i = { .state = ST_NONE };
	int code = read_instance(r, q->ask.key, &i, &c->number, &c->err);

	q->ask.is_over = code == 0 && state_final((enum state)i.state);
	return code == E_NOT_FOUND ? key_absent(c, q->ask.key) : code;
}

/* A store that cannot be read refuses nobody. */
static int absent_done(struct call *c)
{
	const struct log_query *q = c->extra;

	if (c->err.code != E_NOT_FOUND)
		c->err = q->absent;
	return c->err.code;
}

static int log_done(struct call *c)
{
	struct log_query *q = c->extra;
	size_t skipped = 0;
	const char *text = buf_str(&c->out);
	struct MHD_Response *r;

	if (c->err.code == E_NOT_FOUND) {
		q->absent = c->err;
		c->err = (struct err){ 0 };
		c->names = true;
		c->then = absent_done;
		return call_read(c, exists_work);
	}
	if (c->err.code < 0)
		return c->err.code;
	if (q->ask.form.is_json)
		return json_reply(c, q);
	if (q->lines > 0)
		text = lines_cut(c, q->lines, &skipped);
	r = MHD_create_response_from_buffer(c->out.len - skipped, (void *)(uintptr_t)text,
	                                    MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	/* Of the text, where it is the stream's bytes. */
	number_header(r, "X-Log-Offset",
	              q->ask.ret_offset +
	                      (q->ask.form.times || q->ask.ret_stream == LOG_MERGED ? 0 : skipped));
	number_header(r, "X-Log-Next", q->ask.ret_next);
	number_header(r, "X-Log-Generation", q->ask.ret_generation);
	number_header(r, "X-Log-Attempt", q->ask.ret_attempt);
	if (q->ask.ret_line && skipped == 0)
		number_header(r, "X-Log-Line", q->ask.ret_line);
	if (q->ask.ret_lines)
		number_header(r, "X-Log-Lines", q->ask.ret_lines);
	MHD_add_response_header(r, "X-Log-Stream", stream_name(q->ask.ret_stream));
	MHD_add_response_header(r, "X-Log-End", q->ask.ret_end ? "true" : "false");
	if (q->download)
		name_header(c, r, &q->ask);
	return reply_queue(c, MHD_HTTP_OK, r);
}

/* --- what is asked for --- */

/* 90s, 15m, 6h, 2d: so long ago. */
static bool ago_read(const char *text, int64_t now_s, int64_t *ret_s)
{
	static const struct {
		char unit;
		int32_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 7 || text[n] == '\0' || text[n + 1] != '\0')
		return false;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (units[i].unit == text[n]) {
			*ret_s = now_s - strtoll(text, NULL, 10) * units[i].seconds;
			return true;
		}
	return false;
}

int log_time_arg(struct call *c, const char *name, const struct tz *tz, int64_t *ret_ms)
{
	const char *text = call_arg(c, name);
	int64_t now_s = clock_wall_us(&clock_machine) / US_PER_S, at_s;
	bool is_end = strcmp(name, "until") == 0;
	struct when w;

	*ret_ms = 0;
	if (!text)
		return 0;
	if (!ago_read(text, now_s, &at_s)) {
		if (!when_parse(text, now_s, &w))
			return call_fail(
				c, E_INVALID, name,
				"%s wants a time, such as 2026-03-01T02:30:00Z, or how long ago: "
				"90s, 15m, 6h, 2d",
				name);
		at_s = when_instant(&w, tz, is_end) + is_end;
	}
	*ret_ms = at_s > 0 ? at_s * 1000 : 1;
	return 0;
}

/* One of the words, from 0 on; -1: it is none of them. */
static int word_of(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return -1;
}

int log_stream_arg(struct call *c, uint32_t def, uint32_t *ret)
{
	static const char *const streams[] = { "stdout", "stderr", "merged", NULL };
	const char *stream = call_arg(c, "stream");
	int s = stream ? word_of(stream, streams) : (int)def - 1;

	if (s < 0)
		return call_fail(c, E_INVALID, "stream", "stream wants stdout, stderr or merged");
	*ret = (uint32_t)s + 1;
	return 0;
}

static int form_read(struct call *c, struct log_query *q)
{
	static const char *const times[] = { "none", "utc", "zone", "since", NULL };
	const char *time = call_arg(c, "times"), *format = call_arg(c, "format");
	struct log_ask *a = &q->ask;
	const struct tz *tz = names_zone(c->cgi->names, a->key.task);
	int t = word_of(time ? time : "none", times);

	if (log_stream_arg(c, LOG_STDOUT, &a->stream) < 0)
		return c->err.code;
	if (t < 0)
		return call_fail(c, E_INVALID, "times", "times wants utc, zone or since");
	if (format && strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
		return call_fail(c, E_INVALID, "format", "format wants text or json");
	a->form.is_json = format && strcmp(format, "json") == 0;
	bool is_tail = q->lines && !call_arg(c, "line");
	if (a->form.is_json && (is_tail || q->download || call_arg(c, "follow")))
		return call_fail(c, E_INVALID, "format",
		                 "format json goes without lines, download and follow");
	a->form.times = (enum log_times)t;
	a->form.zone = tz;
	a->form.has_ours = a->stream == LOG_MERGED;
	if (call_arg(c, "notes") && call_arg_bool(c, "notes", &a->form.has_ours) < 0)
		return c->err.code;
	a->form.has_ours &= a->stream == LOG_MERGED;
	if (log_time_arg(c, "since", tz, &a->since_ms) < 0 ||
	    log_time_arg(c, "until", tz, &a->until_ms) < 0)
		return c->err.code;
	return a->since_ms && a->until_ms && a->until_ms <= a->since_ms
	               ? call_fail(c, E_INVALID, "since", "since is after until")
	               : 0;
}

/* Lines from one on, or the last ones. */
static int lines_read(struct call *c, struct log_query *q, int64_t line)
{
	struct log_ask *a = &q->ask;

	if (line == 0) {
		a->offset = q->lines > 0 ? UINT64_MAX - TAIL_BYTES + 1 : a->offset;
		a->bytes_max = q->lines > 0 ? TAIL_BYTES : a->bytes_max;
		return 0;
	}
	if (q->follow || q->download || a->since_ms || call_arg(c, "offset"))
		return call_fail(c, E_INVALID, "line",
		                 "line goes without offset, since, follow and download");
	a->line = (uint64_t)line;
	a->lines = (uint64_t)q->lines;
	q->lines = 0;
	return 0;
}

static int log_args(struct call *c, struct log_query *q)
{
	static const char *const names[] = { "follow",    "offset",   "bytes",   "lines",
		                             "line",      "stream",   "attempt", "generation",
		                             "execution", "download", "times",   "since",
		                             "until",     "notes",    "format",  NULL };
	int64_t offset, bytes, line, attempt, generation, execution;

	if (call_args_only(c, names) < 0 || key_param(c, &q->ask.key) < 0 ||
	    call_arg_bool(c, "follow", &q->follow) < 0 ||
	    call_arg_int(c, "offset", 0, 0, INT64_MAX, &offset) < 0 ||
	    call_arg_int(c, "bytes", LOG_BYTES, 1, LOG_BYTES, &bytes) < 0 ||
	    call_arg_int(c, "lines", 0, 1, 10000, &q->lines) < 0 ||
	    call_arg_int(c, "line", 0, 1, INT64_MAX, &line) < 0 ||
	    call_arg_int(c, "attempt", 0, 0, UINT16_MAX, &attempt) < 0 ||
	    call_arg_int(c, "generation", 0, 0, UINT32_MAX, &generation) < 0 ||
	    call_arg_int(c, "execution", 0, 1, UINT32_MAX, &execution) < 0 ||
	    call_arg_bool(c, "download", &q->download) < 0 || form_read(c, q) < 0)
		return c->err.code;
	q->ask.offset = (uint64_t)offset;
	q->ask.bytes_max = (uint32_t)bytes;
	q->ask.attempt = (uint32_t)attempt;
	q->ask.generation = (uint32_t)generation;
	q->ask.execution = (uint32_t)execution;
	q->ask.mark = mark_now(c);
	auth_session_refer(c->cgi->auth, c, &q->ask.session);
	return lines_read(c, q, line);
}

/* What lasts begins once there is such an instance. */
static int lasting_begin(struct call *c)
{
	struct log_query *q = c->extra;
	const char *last = call_header(c, "Last-Event-ID");

	if (c->err.code == E_NOT_FOUND)
		return c->err.code;
	c->err = (struct err){ 0 };
	if (!q->follow)
		return log_file(c);
	if (last && strspn(last, "0123456789") == strlen(last) && strlen(last) <= 18) {
		q->ask.offset = strtoull(last, NULL, 10);
		q->ask.since_ms = 0;
	}
	return log_follow(c, &q->ask);
}

int instance_log_get(struct call *c)
{
	struct log_query *q = c->extra = mem_new(sizeof *q);

	if (log_args(c, q) < 0 || (q->follow && budget_stream(c) < 0))
		return c->err.code;
	if (q->follow || (q->download && q->lines == 0 && !call_arg(c, "bytes"))) {
		c->names = true;
		c->then = lasting_begin;
		return call_read(c, exists_work);
	}
	c->then = log_done;
	return call_log(c);
}
