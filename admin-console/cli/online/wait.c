/* Waiting for instances. A look says how far they are; then the server's stream of events is
 * followed, on a connection of its own, and what it tells of their tasks makes the next look. Looks
 * are as far apart as they are costly. A stream that ends, and a server that is away, are tried
 * again: at most AWAY_S in a row, then it is given up. A long silence makes a look too, for what
 * the rest waits for may be no task of these.
 *
 * Ctrl-C ends the waiting and nothing else; once more ends the program. */
#include "admin-console/cli/online/wait.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/base/interrupt.h"
#include "admin-console/cli/online/online.h"
#include "sched/offset.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/screen.h"

enum { LOOK_MIN_MS = 100, LOOK_COST = 4, SILENCE_S = 60, AWAY_S = 600, AGAIN_MS = 500 };
enum { LINE_MS = 1000, BAR_CELLS = 30 };
/* What ends the stream, beside codes of the program. */
enum { IS_OVER = 1000, IS_LATE, IS_LET_GO, IS_WRONG };

struct wait {
	struct online *o;     /* asks */
	struct online stream; /* follows */
	const struct waiting *w;
	const char *id; /* of the command; NULL: lists */
	char *const *paths;
	size_t n_paths;
	const char *again;
	struct sight now;
	bool dirty, away_said, drawn, stuck;
	int64_t begun_us, look_us, line_us, away_us; /* mono; away_us 0: it is there */
	long long begun_ended;                       /* how many had ended at the first look */
	bool has_looked, known;                      /* known: the server has answered before */
	uint64_t told; /* the last transition that a line was printed of */
	struct buf line;
	int code; /* with IS_WRONG */
};

static int64_t now_us(void)
{
	return clock_mono_us(&clock_machine);
}

struct waiting waiting_of(const struct asked *q)
{
	struct waiting how = { .tells = given_if(q, "follow") };
	const char *text = given_if(q, "timeout");

	if (text)
		CHECK(duration_parse(text, &how.timeout_s, NULL) == 0); /* it was checked */
	return how;
}

void check_timeout(struct asked *q, const struct opt *o, const char *arg, struct argp_state *state)
{
	int64_t seconds;

	(void)q;
	if (duration_parse(arg, &seconds, NULL) < 0 || seconds <= 0)
		argp_error(state, "--%s is '%s', want a time such as 90s, 30m, 2h", o->name, arg);
}

/* --- what is shown -------------------------------------------------------------------------- */

static void bar_clear(struct wait *w)
{
	if (w->drawn)
		screen_steer(stderr, "\r\033[K");
	w->drawn = false;
}

/* Of one that ended: what a person looks for first. A test run's has no name that commands take, so
 * its id leads to its log. */
static void ended_line(FILE *to, const cJSON *i)
{
	const char *reason = text_of(i, "reason"), *exit = text_of(i, "exit_code");
	bool is_test = strcmp(text_of(i, "origin"), "test") == 0;

	cli_line(to, "  %s %s %s%s%s%s%s%s%s", text_of(i, "task"), label_in(i),
	         state_in(i, "state"), reason[0] ? ", " : "", reason,
	         exit[0] && strcmp(exit, "0") != 0 ? ", exit " : "",
	         strcmp(exit, "0") != 0 ? exit : "", is_test ? "; sirdar logs " : "",
	         is_test ? text_of(i, "id") : "");
}

static void ended_tell(struct wait *w)
{
	uint64_t last = w->told;
	const cJSON *i;

	cJSON_ArrayForEach(i, json_get(w->now.inside, "ended")) {
		uint64_t number = strtoull(text_of(i, "last_number"), NULL, 10);
		if (number <= w->told)
			continue;
		bar_clear(w);
		ended_line(stderr, i);
		last = number > last ? number : last;
	}
	w->told = last;
}

static void part_put(struct buf *out, long long n, const char *what)
{
	if (n > 0)
		buf_printf(out, ", %lld %s", n, what);
}

static void pace_put(const struct wait *w, struct buf *out)
{
	int64_t took_ms = (now_us() - w->begun_us) / US_PER_MS;
	long long ended = w->now.ended - w->begun_ended, left = w->now.total - w->now.ended;

	if (ended <= 0 || took_ms < 1000 || left <= 0)
		return;
	double rate = (double)ended * 1000 / (double)took_ms;
	buf_printf(out, ", %.*f/s, %.0f s to go", rate < 10 ? 1 : 0, rate, (double)left / rate);
}

static void counts_put(const struct sight *s, struct buf *out)
{
	buf_printf(out, "%lld of %lld done", s->ended, s->total);
	part_put(out, s->running, "running");
	part_put(out, s->waiting, "waiting");
	part_put(out, s->retry, "to be tried again");
	part_put(out, s->hanged, "hanged");
	part_put(out, s->bad, "failed");
	if (!s->is_whole)
		buf_puts(out, ", more to come");
}

static void bar_draw(struct wait *w)
{
	const struct sight *s = &w->now;
	int full = s->total > 0 ? (int)(s->ended * BAR_CELLS / s->total) : 0;
	struct buf text;

	buf_init(&text);
	counts_put(s, &text);
	pace_put(w, &text);
	screen_steer(stderr, "\r\033[K");
	for (int i = 0; i < BAR_CELLS; i++)
		fputs(i < full ? "█" : "░", stderr);
	fprintf(stderr, " %s", buf_str(&text));
	fflush(stderr);
	w->drawn = true;
	buf_done(&text);
}

/* On a terminal a bar; else a line when something is different, and not too many of them. */
static void progress_show(struct wait *w)
{
	struct buf text;

	if (w->o->cli->json || !w->has_looked)
		return;
	ended_tell(w);
	if (isatty(STDERR_FILENO)) {
		bar_draw(w);
		return;
	}
	if (now_us() < w->line_us)
		return;
	buf_init(&text);
	counts_put(&w->now, &text);
	if (strcmp(buf_str(&text), buf_str(&w->line)) != 0) {
		fprintf(stderr, "%s\n", buf_str(&text));
		buf_clear(&w->line);
		buf_puts(&w->line, buf_str(&text));
		w->line_us = now_us() + LINE_MS * US_PER_MS;
	}
	buf_done(&text);
}

/* --- looking -------------------------------------------------------------------------------- */

static bool is_over(const struct wait *w)
{
	const struct sight *s = &w->now;

	return s->is_whole && (s->ended + s->hanged >= s->total || w->stuck);
}

static bool is_away(int code)
{
	return code == CLI_UNREACHABLE || code == CLI_TIMEOUT;
}

/* 0: it is not over. */
static int look(struct wait *w)
{
	const char *since = w->w->tells && w->has_looked ? text_of(w->now.inside, "number") : NULL;
	int64_t began = now_us();
	struct sight s;
	int code = w->id ? sight_of_command(w->o, w->id, since, &s)
	                 : sight_of_lists(w->o, w->paths, w->n_paths, &s);

	w->dirty = false;
	if (code != CLI_OK) {
		w->code = code;
		return IS_WRONG;
	}
	sight_done(&w->now);
	w->now = s;
	if (!w->has_looked)
		w->begun_ended = s.ended;
	w->has_looked = true;
	w->away_us = 0;
	w->stuck = s.is_whole && sight_is_stuck(w->o, &s);
	int64_t cost = (now_us() - began) * LOOK_COST;
	w->look_us = now_us() + (cost > LOOK_MIN_MS * US_PER_MS ? cost : LOOK_MIN_MS * US_PER_MS);
	progress_show(w);
	return is_over(w) ? IS_OVER : 0;
}

static int limits_check(const struct wait *w)
{
	if (interrupt_came())
		return IS_LET_GO;
	bool late = w->w->timeout_s && now_us() - w->begun_us >= w->w->timeout_s * US_PER_S;
	return late ? IS_LATE : 0;
}

/* --- following ------------------------------------------------------------------------------ */

static bool is_ours(const struct wait *w, const cJSON *event)
{
	const cJSON *t;
	double id = (double)number_of(event, "task_id");

	if (cJSON_IsTrue(json_get(w->now.inside, "more_tasks")))
		return true;
	cJSON_ArrayForEach(t, json_get(w->now.inside, "tasks"))
		if (t->valuedouble == id)
			return true;
	return !w->now.is_whole; /* of what has joined since */
}

static int event_take(void *ctx, const char *event, const char *data)
{
	struct wait *w = ctx;
	cJSON *root = NULL;

	if (strcmp(event, "gap") == 0 || strcmp(event, "up") == 0)
		w->dirty = true;
	if (w->dirty || (strcmp(event, "instance") != 0 && strcmp(event, "command") != 0))
		return 0;
	root = cJSON_Parse(data);
	if (strcmp(event, "instance") == 0)
		w->dirty = is_ours(w, root);
	else
		w->dirty = w->id && strcmp(text_of(root, "id"), w->id) == 0;
	cJSON_Delete(root);
	return 0;
}

static int tick(void *ctx)
{
	struct wait *w = ctx;
	int r = limits_check(w);
	int64_t now = now_us();

	if (r == 0 && now >= w->look_us && (w->dirty || now >= w->look_us + SILENCE_S * US_PER_S))
		r = look(w);
	else if (r == 0 && (w->drawn || buf_str(&w->line)[0]))
		progress_show(w);
	return r == IS_WRONG && is_away(w->code) ? CLI_UNREACHABLE : r;
}

static int follow(struct wait *w)
{
	struct buf path;

	buf_init(&path);
	buf_puts(&path, "/api/v1/events");
	path_arg(&path, "from", text_of(w->now.inside, "number"));
	int r = online_stream(&w->stream, buf_str(&path), event_take, tick, w);
	buf_done(&path);
	return r;
}

/* It did not answer, or its stream ended. */
static int wait_away(struct wait *w)
{
	int64_t now = now_us();

	if (!w->away_us)
		w->away_us = now;
	if (now - w->away_us >= AWAY_S * US_PER_S) {
		bar_clear(w);
		w->code = cli_fail(CLI_UNREACHABLE, "%s does not answer for %d minutes", w->o->base,
		                   AWAY_S / 60);
		return IS_WRONG;
	}
	if (!w->away_said && w->code != CLI_OK) {
		bar_clear(w);
		cli_fail(0, "%s does not answer; it is tried again", w->o->base);
		w->away_said = true;
	}
	poll(NULL, 0, AGAIN_MS);
	return limits_check(w);
}

static int wait_run(struct wait *w)
{
	for (;;) {
		int r = look(w);

		if (r == 0) {
			w->away_said = false;
			w->code = CLI_OK;
			w->known = true;
			r = follow(w);
			if (r < IS_OVER)
				r = wait_away(w);
		} else if (r == IS_WRONG && is_away(w->code) && w->known) {
			r = wait_away(w);
		}
		if (r >= IS_OVER)
			return r;
	}
}

/* --- how it ended --------------------------------------------------------------------------- */

static int wait_left(const struct wait *w, int r)
{
	const struct sight *s = &w->now;
	struct buf text;
	int code = r == IS_LATE ? CLI_TIMEOUT : CLI_LET_GO;

	buf_init(&text);
	if (w->has_looked)
		counts_put(s, &text);
	cli_fail(code, "%s%s%s; the work goes on, `sirdar %s` looks again",
	         r == IS_LATE ? "gave up waiting" : "let go", w->has_looked ? ": " : "",
	         buf_str(&text), w->again);
	buf_done(&text);
	return code;
}

static int wait_told(const struct wait *w)
{
	const struct sight *s = &w->now;
	const cJSON *st, *i;
	bool shown = isatty(STDERR_FILENO) || w->w->tells;

	if (w->o->cli->json)
		return print_json(s->root);
	if (w->id)
		command_print(s->root);
	if (w->id && (!command_makes_run(s->root) || s->total == 0))
		return CLI_OK;
	fputs(w->id ? "instances: " : "", stdout);
	printf("%lld", s->total);
	const char *between = ": ";
	cJSON_ArrayForEach(st, json_get(s->inside, "states")) {
		printf("%s%.0f %s", between, st->valuedouble, word_of_state(st->string));
		between = ", ";
	}
	if (number_of(s->inside, "joined") > 0)
		printf("; %s on the way already", text_of(s->inside, "joined"));
	putchar('\n');
	cJSON_ArrayForEach(i, json_get(s->inside, "ended"))
		if (!shown)
			ended_line(stdout, i);
	if (w->stuck && s->waiting > 0)
		printf("%lld wait for what failed and cannot start; `sirdar why` tells of "
		       "each, `sirdar redo` runs those again\n",
		       s->waiting);
	return CLI_OK;
}

static int wait_ended(struct wait *w)
{
	int code = wait_told(w);

	if (code == CLI_OK && w->id)
		code = command_ended(w->o, w->now.root);
	if (code == CLI_OK && (w->now.bad > 0 || w->now.hanged > 0 || w->stuck))
		code = CLI_FAILED;
	return code;
}

/* Asked once more, so that the server's words are told. */
static int wait_wrong(const struct wait *w)
{
	struct online *o = w->o;
	cJSON *root = NULL;
	char *path;

	if (w->away_us) /* it was said */
		return w->code;
	path = w->id ? mem_fmt("/api/v1/commands/%s/instances", w->id) : mem_str(w->paths[0]);
	int code = online_call(o, "GET", path, NULL, &root);
	cJSON_Delete(root);
	free(path);
	return code == CLI_OK ? w->code : code;
}

static int wait_all(struct wait *w)
{
	int code = online_open(w->o->cli, &w->stream);

	if (code != CLI_OK)
		return code;
	w->stream.quiet = true;
	w->begun_us = now_us();
	w->known = w->o->status != 0;
	buf_init(&w->line);
	interrupt_begin();
	int r = wait_run(w);
	bar_clear(w);
	interrupt_end();
	if (r == IS_OVER && !w->id && w->now.total == 0)
		code = cli_fail(CLI_NOT_FOUND, "no instance of that is there");
	else if (r == IS_OVER)
		code = wait_ended(w);
	else
		code = r == IS_WRONG ? wait_wrong(w) : wait_left(w, r);
	buf_done(&w->line);
	sight_done(&w->now);
	online_close(&w->stream);
	return code;
}

int wait_command(struct online *o, const char *id, const struct waiting *how)
{
	char *again = mem_fmt("command wait %s", id);
	struct wait w = { .o = o, .w = how, .id = id, .again = again };
	int code = wait_all(&w);

	free(again);
	return code;
}

int wait_lists(struct online *o, char *const *paths, size_t n, const char *again,
               const struct waiting *how)
{
	struct wait w = { .o = o, .w = how, .paths = paths, .n_paths = n, .again = again };

	return wait_all(&w);
}
