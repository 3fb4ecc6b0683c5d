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
#include "util/alloc.h"
#include "util/check.h"

#define FEED_BYTES ((size_t)256 * 1024)
#define LOG_BYTES  262144
#define TAIL_BYTES 65536

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

static int events_begin(struct call *c)
{
	const struct events_ask *a = c->extra;
	struct feed *f = feed_new(c->conn, FEED_BYTES);
	struct MHD_Response *resp = feed_response(f);

	if (a->is_ahead)
		feed_put(f, EVENT_GAP, sizeof EVENT_GAP - 1);
	int r = net_follow_events(c->cgi->net, f,
	                          &(struct follow){ .from = a->is_ahead ? 0 : a->from,
	                                            .task = a->task,
	                                            .states = a->states,
	                                            .sight = c->sight,
	                                            .mark = people_mark_of(c->person, c->token) });
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

	if (budget_stream(c) < 0)
		return c->err.code;
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
	bool download;
};

static void number_header(struct MHD_Response *r, const char *name, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, v);
	MHD_add_response_header(r, name, text);
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
	buf_printf(&name, " %s.log", a->stream == 2 ? "stderr" : "stdout");
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
		a->offset = a->ret_offset += n;
		a->is_asked = false;
		return (ssize_t)n;
	}
	if (a->ret_end || a->is_asked)
		return MHD_CONTENT_READER_END_OF_STREAM;
	a->is_asked = true;
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
	a->is_asked = true;
	c->then = file_came;
	return call_log(c);
}

/* --- pieces of logs --- */

static int log_done(struct call *c)
{
	struct log_query *q = c->extra;
	size_t skipped = 0;
	const char *text = buf_str(&c->out);
	struct MHD_Response *r;

	if (c->err.code < 0)
		return c->err.code;
	if (q->lines > 0)
		text = lines_cut(c, q->lines, &skipped);
	r = MHD_create_response_from_buffer(c->out.len - skipped, (void *)(uintptr_t)text,
	                                    MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	number_header(r, "X-Log-Offset", q->ask.ret_offset + skipped);
	number_header(r, "X-Log-Next", q->ask.ret_offset + c->out.len);
	number_header(r, "X-Log-Generation", q->ask.ret_generation);
	number_header(r, "X-Log-Attempt", q->ask.ret_attempt);
	MHD_add_response_header(r, "X-Log-End", q->ask.ret_end ? "true" : "false");
	if (q->download)
		name_header(c, r, &q->ask);
	return reply_queue(c, MHD_HTTP_OK, r);
}

static int log_args(struct call *c, struct log_query *q, bool *ret_follow)
{
	static const char *const names[] = { "follow",  "offset",     "bytes",    "lines", "stream",
		                             "attempt", "generation", "download", NULL };
	const char *stream = call_arg(c, "stream");
	int64_t offset, bytes, attempt, generation;

	if (call_args_only(c, names) < 0 || key_param(c, &q->ask.key) < 0 ||
	    call_arg_bool(c, "follow", ret_follow) < 0 ||
	    call_arg_int(c, "offset", 0, 0, INT64_MAX, &offset) < 0 ||
	    call_arg_int(c, "bytes", LOG_BYTES, 1, LOG_BYTES, &bytes) < 0 ||
	    call_arg_int(c, "lines", 0, 1, 10000, &q->lines) < 0 ||
	    call_arg_int(c, "attempt", 0, 0, UINT16_MAX, &attempt) < 0 ||
	    call_arg_int(c, "generation", 0, 0, UINT32_MAX, &generation) < 0 ||
	    call_arg_bool(c, "download", &q->download) < 0)
		return c->err.code;
	if (stream && strcmp(stream, "stdout") != 0 && strcmp(stream, "stderr") != 0)
		return call_fail(c, E_INVALID, "stream", "stream wants stdout or stderr");
	q->ask.stream = stream && strcmp(stream, "stderr") == 0 ? 2 : 1;
	q->ask.offset = q->lines > 0 ? UINT64_MAX - TAIL_BYTES + 1 : (uint64_t)offset;
	q->ask.bytes_max = q->lines > 0 ? TAIL_BYTES : (uint32_t)bytes;
	q->ask.attempt = (uint32_t)attempt;
	q->ask.generation = (uint32_t)generation;
	q->ask.mark = people_mark_of(c->person, c->token);
	return 0;
}

int instance_log_get(struct call *c)
{
	struct log_query *q = c->extra = mem_new(sizeof *q);
	const char *last = call_header(c, "Last-Event-ID");
	bool follow = false;

	if (log_args(c, q, &follow) < 0)
		return c->err.code;
	if (q->download && !follow && q->lines == 0 && !call_arg(c, "bytes"))
		return log_file(c);
	if (!follow) {
		c->then = log_done;
		return call_log(c);
	}
	if (last && strspn(last, "0123456789") == strlen(last) && strlen(last) <= 18)
		q->ask.offset = strtoull(last, NULL, 10);
	return log_follow(c, &q->ask);
}
