/* sirdar logs --run: the logs of all instances of a run as one, each line with its task.
 *
 * Each log is read with times, piece by piece, and the line that came first of all logs is printed
 * next: the server's own marks and both streams stand in their order. With -f each log is a stream
 * of its own (flows.h), some at once, and lines are printed as they come; events say when an
 * instance is over, and its next attempt is followed as well. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/base/output.h"
#include "admin-console/cli/online/flows.h"
#include "admin-console/cli/online/logs.h"
#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"

enum {
	TAILS_MAX = 1000,
	PIECE = 65536,
	WIDTH_MAX = 30,
	AT_ONCE = 24,    /* streams: a person has person_streams_max */
	TIME_BYTES = 25, /* "2026-11-24T05:46:11.120Z " */
};

struct run;

/* One instance's log. */
struct tail {
	struct run *run;
	char *id, *name;
	size_t number;
	char at[32];     /* where the next piece begins */
	bool is_read;    /* there is no next piece */
	struct buf text; /* what is not printed yet */
	/* -f */
	bool is_asked, is_begun; /* its stream is open; something came */
	bool is_over;            /* the instance is */
	bool is_done;            /* nothing more comes */
	long long generation, attempt;
};

struct run {
	struct online *o;
	const struct asked *q;
	struct tail *tails;
	size_t n, width;
	struct flows *flows; /* NULL: it is not followed */
	size_t open;         /* of tails */
	char **last;         /* -n: the last lines, a ring */
	size_t n_last, at_last, most;
	int code; /* of what could not be read; CLI_OK: nothing */
};

static const char *stream_of(const struct run *r)
{
	return given(r->q, "stdout") ? "stdout" : given(r->q, "stderr") ? "stderr" : "merged";
}

/* --- lines ---------------------------------------------------------------------------------- */

/* Line n bytes, without its end. `has_time`: it begins with one. */
static void line_put(const struct tail *t, const char *line, size_t n, bool has_time,
                     struct buf *out)
{
	static const char *const colors[] = { "36", "33", "32", "35", "34", "96", "93", "92" };
	size_t skip = has_time && n >= TIME_BYTES ? TIME_BYTES : 0;
	bool is_color = color_is_on();

	if (given(t->run->q, "times"))
		buf_put(out, line, skip);
	if (is_color)
		buf_printf(out, "\033[%sm", colors[t->number % (sizeof colors / sizeof *colors)]);
	logs_prefix(out, t->name, t->run->width);
	if (is_color)
		buf_puts(out, "\033[0m");
	buf_put(out, line + skip, n - skip);
	buf_putc(out, '\n');
}

static int out_put(struct run *r, struct buf *line)
{
	if (r->most == 0)
		return fwrite(buf_at(line), 1, line->len, stdout) == line->len ? CLI_OK
		                                                               : CLI_REFUSED;
	if (r->n_last == r->most)
		free(r->last[r->at_last]);
	else
		r->n_last++;
	r->last[r->at_last] = mem_str(buf_str(line));
	r->at_last = (r->at_last + 1) % r->most;
	return CLI_OK;
}

static int line_print(const struct tail *t, const char *line, size_t n, bool has_time)
{
	struct buf out;

	buf_init(&out);
	line_put(t, line, n, has_time, &out);
	int code = out_put(t->run, &out);
	buf_done(&out);
	return code;
}

static int last_print(struct run *r)
{
	int code = CLI_OK;

	for (size_t i = 0; i < r->n_last; i++) {
		char *line = r->last[(r->at_last + r->most - r->n_last + i) % r->most];
		if (code == CLI_OK && fputs(line, stdout) == EOF)
			code = CLI_REFUSED;
		free(line);
	}
	r->n_last = 0;
	return code;
}

static bool is_time(const char *p, size_t n)
{
	return n >= TIME_BYTES && p[4] == '-' && p[10] == 'T' && p[TIME_BYTES - 2] == 'Z' &&
	       p[TIME_BYTES - 1] == ' ';
}

/* --- pieces --------------------------------------------------------------------------------- */

static void log_path(const struct run *r, const struct tail *t, struct buf *path)
{
	buf_clear(path);
	buf_printf(path, "/api/v1/instances/%s/log", t->id);
	path_arg(path, "stream", stream_of(r));
}

static void piece_read(struct run *r, struct tail *t)
{
	struct buf path, text;

	buf_init(&path);
	buf_init(&text);
	log_path(r, t, &path);
	buf_printf(&path, "&times=utc&bytes=%d", PIECE);
	path_arg(&path, "offset", t->at);
	path_arg(&path, "since", strcmp(t->at, "0") == 0 ? given(r->q, "since") : NULL);
	path_arg(&path, "until", given(r->q, "until"));
	r->o->quiet = true;
	int code = online_text(r->o, buf_str(&path), &text);
	r->o->quiet = false;
	if (code != CLI_OK && code != CLI_NOT_FOUND)
		r->code = code;
	t->is_read = code != CLI_OK || text.len == 0;
	if (code == CLI_OK)
		buf_put(&t->text, buf_at(&text), text.len);
	snprintf(t->at, sizeof t->at, "%s", r->o->next);
	buf_done(&text);
	buf_done(&path);
}

/* The next line: its length without its end; -1: none is left. */
static long line_next(struct run *r, struct tail *t)
{
	for (;;) {
		const char *p = (const char *)buf_at(&t->text);
		const char *end = t->text.len ? memchr(p, '\n', t->text.len) : NULL;

		if (end)
			return (long)(end - p);
		if (t->is_read)
			return t->text.len ? (long)t->text.len : -1;
		piece_read(r, t);
	}
}

/* Was the line of `a` before that of `b`? One without a time is of a release before. */
static bool is_before(const struct tail *a, const struct tail *b)
{
	const char *p = (const char *)buf_at(&a->text), *q = (const char *)buf_at(&b->text);
	bool has_p = is_time(p, a->text.len), has_q = is_time(q, b->text.len);

	if (!has_p || !has_q)
		return !has_p && has_q;
	return memcmp(p, q, TIME_BYTES) < 0;
}

static int all_print(struct run *r)
{
	long *next = mem_array(r->n + 1, sizeof *next);
	int code = CLI_OK;

	for (size_t i = 0; i < r->n; i++)
		next[i] = line_next(r, &r->tails[i]);
	while (code == CLI_OK) {
		struct tail *first = NULL;

		for (size_t i = 0; i < r->n; i++)
			if (next[i] >= 0 && (!first || is_before(&r->tails[i], first)))
				first = &r->tails[i];
		if (!first)
			break;
		long n = next[first->number];
		const char *p = (const char *)buf_at(&first->text);
		code = line_print(first, p, (size_t)n, is_time(p, (size_t)n));
		buf_drop(&first->text, (size_t)n < first->text.len ? (size_t)n + 1 : (size_t)n);
		next[first->number] = line_next(r, first);
	}
	free(next);
	return code == CLI_OK ? last_print(r) : code;
}

/* --- followed ------------------------------------------------------------------------------- */

enum { STREAM_END = 1000 };

static int text_print(struct tail *t, const char *text, bool is_end)
{
	int code = CLI_OK;

	buf_puts(&t->text, text);
	while (code == CLI_OK && t->text.len > 0) {
		const char *p = (const char *)buf_at(&t->text);
		const char *end = memchr(p, '\n', t->text.len);
		size_t n = end ? (size_t)(end - p) : t->text.len;

		if (!end && !is_end)
			break;
		code = line_print(t, p, n, is_time(p, n));
		buf_drop(&t->text, end ? n + 1 : n);
	}
	return fflush(stdout) != 0 ? CLI_REFUSED : code;
}

static int log_take(void *ctx, const char *event, const char *data)
{
	struct tail *t = ctx;
	bool is_end = strcmp(event, "end") == 0;

	if (!is_end && strcmp(event, "log") != 0)
		return 0;
	cJSON *root = cJSON_Parse(data);
	const char *text = text_of(root, "text");
	int code = text_print(t, text, is_end);
	t->is_begun = t->is_begun || text[0];
	if (number_of(root, "attempt")) {
		t->generation = number_of(root, "generation");
		t->attempt = number_of(root, "attempt");
	}
	snprintf(t->at, sizeof t->at, "%s", text_of(root, "offset"));
	cJSON_Delete(root);
	return code != CLI_OK ? code : is_end ? STREAM_END : 0;
}

/* Follow it from its beginning, or its next attempt. */
static void tail_ask(struct run *r, struct tail *t)
{
	struct buf path;

	buf_init(&path);
	log_path(r, t, &path);
	path_arg(&path, "follow", "1");
	path_arg(&path, "times", given(r->q, "times"));
	path_arg(&path, "since", t->attempt ? NULL : given(r->q, "since"));
	if (t->attempt)
		buf_printf(&path, "&generation=%lld&attempt=%lld", t->generation, t->attempt + 1);
	flows_add(r->flows, buf_str(&path), log_take, t);
	t->is_asked = true;
	r->open++;
	buf_done(&path);
}

static void tails_ask(struct run *r)
{
	for (size_t i = 0; i < r->n && r->open < AT_ONCE; i++)
		if (!r->tails[i].is_asked && !r->tails[i].is_done)
			tail_ask(r, &r->tails[i]);
}

bool logs_is_over(const char *state)
{
	static const char *const over[] = { "Succ", "StopSchedule", "Killed", "Skipped" };

	for (size_t i = 0; i < sizeof over / sizeof over[0]; i++)
		if (strcmp(state, over[i]) == 0)
			return true;
	return false;
}

/* How it stands now: does another attempt follow? */
static void tail_look(struct run *r, struct tail *t)
{
	char *path = mem_fmt("/api/v1/instances/%s", t->id);
	cJSON *root = NULL;

	if (online_call(r->o, "GET", path, NULL, &root) == CLI_OK) {
		t->is_over = logs_is_over(text_of(root, "state"));
		t->is_done = t->is_over && number_of(root, "attempt") <= t->attempt;
	}
	cJSON_Delete(root);
	free(path);
}

/* Nothing has come of what is waited for, and the instance is over: the server is asked anew, as it
 * then knows that there is nothing to wait for. */
static void tail_over(struct run *r, struct tail *t)
{
	bool was_begun = t->is_begun;

	tail_look(r, t);
	if (was_begun || !t->is_over || !t->is_asked)
		return;
	flows_drop(r->flows, t);
	t->is_asked = false;
	r->open--;
	tails_ask(r);
}

static bool is_all_done(const struct run *r)
{
	bool all = true;

	for (size_t i = 0; i < r->n; i++)
		all = all && r->tails[i].is_done;
	return all;
}

static int event_take(void *ctx, const char *event, const char *data)
{
	const struct tail *events = ctx;
	struct run *r = events->run;

	if (strcmp(event, "instance") != 0)
		return 0;
	cJSON *root = cJSON_Parse(data);
	if (logs_is_over(text_of(root, "to")))
		for (size_t i = 0; i < r->n; i++)
			if (strcmp(r->tails[i].id, text_of(root, "id")) == 0)
				tail_over(r, &r->tails[i]);
	cJSON_Delete(root);
	return is_all_done(r) ? STREAM_END : 0;
}

static int log_over(void *ctx, int code)
{
	struct tail *t = ctx;
	struct run *r = t->run;

	if (!t->id) {               /* events */
		if (code != CLI_OK) /* STREAM_END, too */
			return code;
		flows_add(r->flows, "/api/v1/events", event_take, t);
		return 0;
	}
	t->is_asked = t->is_begun = false; /* of the next attempt nothing has come */
	bool was_begun = t->attempt > 0;
	r->open--;
	if (code != STREAM_END && code != CLI_OK && code != CLI_NOT_FOUND)
		return code;
	tail_look(r, t);
	if (code == CLI_NOT_FOUND || (t->is_over && !was_begun))
		t->is_done = true; /* it printed nothing, and will not */
	tails_ask(r);
	return is_all_done(r) ? STREAM_END : 0;
}

static int run_follow(struct run *r)
{
	struct tail events = { .run = r };

	r->flows = flows_new(r->o);
	flows_add(r->flows, "/api/v1/events", event_take, &events);
	tails_ask(r);
	int code = flows_run(r->flows, log_over, NULL, NULL);
	flows_free(r->flows);
	return code == STREAM_END ? CLI_OK : code;
}

/* --- its instances -------------------------------------------------------------------------- */

static int tails_add(struct run *r, const cJSON *items)
{
	const cJSON *i;

	cJSON_ArrayForEach(i, items) {
		if (!text_of(i, "id")[0])
			continue; /* dates that were left out together */
		if (r->n == TAILS_MAX)
			return cli_fail(CLI_REFUSED,
			                "the run has more than %d instances: --grep looks "
			                "through them",
			                TAILS_MAX);
		struct tail *t = &r->tails[r->n];
		*t = (struct tail){ .run = r, .number = r->n, .at = "0" };
		t->id = mem_str(text_of(i, "id"));
		t->name = logs_name(text_of(i, "task"), (int)number_of(i, "part"));
		buf_init(&t->text);
		if (strlen(t->name) > r->width && strlen(t->name) <= WIDTH_MAX)
			r->width = strlen(t->name);
		r->n++;
	}
	return CLI_OK;
}

static int tails_read(struct run *r)
{
	char *all = mem_fmt("%s/*", word(r->q, 0)), *cursor = mem_str("");
	int code = CLI_OK;

	do {
		struct buf path;
		cJSON *root = NULL;

		buf_init(&path);
		buf_puts(&path, "/api/v1/instances?limit=500&parts=1");
		path_arg(&path, "task", all);
		path_dates(&path, word(r->q, 1));
		path_arg(&path, "cursor", cursor[0] ? cursor : NULL);
		code = online_call(r->o, "GET", buf_str(&path), NULL, &root);
		if (code == CLI_OK)
			code = tails_add(r, json_get(root, "items"));
		free(cursor);
		cursor = mem_str(text_of(root, "cursor"));
		cJSON_Delete(root);
		buf_done(&path);
	} while (code == CLI_OK && cursor[0]);
	free(cursor);
	free(all);
	if (code == CLI_OK && r->n == 0)
		code = cli_fail(CLI_NOT_FOUND, "%s has no run of %s", word(r->q, 0), word(r->q, 1));
	return code;
}

int logs_run(struct online *o, const struct asked *q)
{
	struct run r = { .o = o, .q = q };

	r.tails = mem_array(TAILS_MAX, sizeof *r.tails);
	if (given(q, "lines")) {
		r.most = strtoull(given(q, "lines"), NULL, 10);
		r.last = mem_array(r.most + 1, sizeof *r.last);
	}
	int code = tails_read(&r);
	if (code == CLI_OK)
		code = given(q, "follow") ? run_follow(&r) : all_print(&r);
	if (code == CLI_OK && r.code != CLI_OK)
		code = cli_fail(r.code, "not all logs of the run could be read");
	for (size_t i = 0; i < r.n; i++) {
		free(r.tails[i].id);
		free(r.tails[i].name);
		buf_done(&r.tails[i].text);
	}
	for (size_t i = 0; i < r.n_last; i++)
		free(r.last[i]);
	free(r.last);
	free(r.tails);
	return code;
}
