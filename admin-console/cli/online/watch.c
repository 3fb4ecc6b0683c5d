/* Watching: a verb prints into a picture. Each event of the server's stream that is about the same
 * things makes the picture anew. A terminal shows the new picture in place of the last one, cut to
 * the window; a pipe gets the lines that the last picture did not have.
 *
 * The stream begins at the number that the store had before the look, so that nothing falls between
 * the two. Looks are as far apart as they are costly. A long silence makes a look too, for some of
 * it (a machine that went away) is no event. A server that is away is tried again, at most
 * AWAY_S. */
#include "admin-console/cli/online/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "admin-console/cli/base/interrupt.h"
#include "admin-console/cli/online/online.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/screen.h"

enum { LOOK_MIN_MS = 250, LOOK_COST = 4, SILENCE_S = 60, AWAY_S = 600, AGAIN_MS = 500 };
enum { ROWS_LEAST = 5, ROWS_GUESSED = 24 };
enum { IS_LET_GO = 1000, IS_WRONG }; /* what ends the stream, beside codes of the program */

struct watch {
	struct asked *q;
	struct online asks, stream;
	const char *these;    /* of OPT_WATCH */
	char *task;           /* whose events count; NULL: all */
	char number[24];      /* the store's before the look */
	struct buf out, err;  /* of the look */
	struct buf was, said; /* of the one before */
	size_t drawn;         /* lines on the terminal */
	bool terminal, dirty, known, away_said;
	int64_t look_us, away_us; /* mono; away_us 0: it is there */
	int code;
};

static int64_t now_us(void)
{
	return clock_mono_us(&clock_machine);
}

/* --- what is shown -------------------------------------------------------------------------- */

/* Lines that differ by blanks alone are one: columns move. */
static char *line_squeezed(const char *text, size_t n)
{
	char *line = mem_strn(text, n), *to = line;

	for (const char *p = line; *p; p++)
		if (*p != ' ' || (p[1] != ' ' && p[1] != '\0'))
			*to++ = *p;
	*to = '\0';
	return line;
}

static int line_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **lines_of(const char *text, size_t *ret_n)
{
	char **lines = NULL;
	size_t cap = 0, n = 0;

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		lines = mem_room(lines, &cap, n + 1, sizeof *lines);
		lines[n++] = line_squeezed(text, len);
	}
	*ret_n = n;
	return lines;
}

/* The lines of `now` that `was` had not. */
static void lines_tell(FILE *to, struct buf *now, struct buf *was)
{
	size_t n;
	char **before = lines_of(buf_str(was), &n);
	struct buf text;

	if (n)
		qsort(before, n, sizeof *before, line_order);
	buf_init(&text);
	for (const char *p = buf_str(now); *p;) {
		size_t len = strcspn(p, "\n");
		char *line = line_squeezed(p, len);
		if (!n || !bsearch(&line, before, n, sizeof *before, line_order))
			buf_printf(&text, "%.*s\n", (int)len, p);
		free(line);
		p += len + (p[len] == '\n');
	}
	screen_steer(to, buf_str(&text)); /* it was filtered when it was kept */
	buf_done(&text);
	for (size_t i = 0; i < n; i++)
		free(before[i]);
	free(before);
}

static size_t rows_of_window(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
		return ROWS_GUESSED;
	return size.ws_row > ROWS_LEAST ? size.ws_row : ROWS_LEAST;
}

/* At most `most` lines; what does not fit into one is cut by the terminal. */
static size_t lines_put(struct buf *to, const char *text, size_t most)
{
	size_t n = 0;

	for (size_t len; *text && n < most; text += len + (text[len] == '\n'), n++) {
		len = strcspn(text, "\n");
		buf_printf(to, "%.*s\033[K\r\n", (int)len, text);
	}
	return n;
}

static void picture_draw(struct watch *w)
{
	char now[WHEN_TEXT];
	size_t room = rows_of_window() - 2, n; /* the last line, and the cursor's */
	struct buf all, text;

	buf_init(&all);
	buf_puts(&all, buf_str(&w->out));
	buf_puts(&all, buf_str(&w->err));
	buf_init(&text);
	buf_puts(&text, "\r");
	if (w->drawn)
		buf_printf(&text, "\033[%zuA", w->drawn);
	buf_puts(&text, "\033[?7l");
	n = lines_put(&text, buf_str(&all), room);
	when_print(clock_wall_us(&clock_machine) / US_PER_S, now);
	buf_printf(&text, "\033[2m%s; Ctrl-C ends it\033[0m\033[K\r\n\033[J\033[?7h", now);
	w->drawn = n + 1;
	screen_steer(stdout, buf_str(&text));
	buf_done(&text);
	buf_done(&all);
}

static void picture_show(struct watch *w)
{
	if (w->terminal) {
		picture_draw(w);
	} else {
		lines_tell(stdout, &w->out, &w->was);
		lines_tell(stderr, &w->err, &w->said);
	}
	buf_clear(&w->was);
	buf_puts(&w->was, buf_str(&w->out));
	buf_clear(&w->said);
	buf_puts(&w->said, buf_str(&w->err));
}

/* --- looking -------------------------------------------------------------------------------- */

static bool is_away(int code)
{
	return code == CLI_UNREACHABLE || code == CLI_TIMEOUT;
}

static int number_read(struct watch *w)
{
	cJSON *root = NULL;
	int code = online_call(&w->asks, "GET", "/api/v1/instances?limit=1", NULL, &root);

	if (code == CLI_OK)
		snprintf(w->number, sizeof w->number, "%s", text_of(root, "number"));
	cJSON_Delete(root);
	return code;
}

/* What the verb says of its own failure is part of it, unless the server is away. */
static int picture_look(struct watch *w)
{
	int64_t began = now_us();

	w->dirty = false;
	buf_clear(&w->out);
	buf_clear(&w->err);
	screen_keep(stdout, &w->out);
	screen_keep(stderr, &w->err);
	int code = number_read(w);
	if (code == CLI_OK)
		code = w->q->verb->run(w->q);
	screen_keep(stdout, NULL);
	screen_keep(stderr, NULL);
	int64_t cost = (now_us() - began) * LOOK_COST, least = LOOK_MIN_MS * US_PER_MS;
	w->look_us = now_us() + (cost > least ? cost : least);
	w->code = code;
	if (code == CLI_OK)
		picture_show(w);
	return code == CLI_OK ? 0 : IS_WRONG;
}

/* --- following ------------------------------------------------------------------------------ */

static bool is_of(const char *task, const cJSON *event)
{
	const char *name = text_of(event, "task");
	size_t n = strlen(task);

	if (instance_id_is(task))
		return strcmp(text_of(event, "id"), task) == 0;
	if (n && task[n - 1] == '*')
		return strncmp(name, task, n - 1) == 0;
	return name[0] == '\0' || strcmp(name, task) == 0;
}

static int event_take(void *ctx, const char *event, const char *data)
{
	struct watch *w = ctx;
	bool is_instance = strcmp(event, "instance") == 0;
	bool is_command = strcmp(event, "command") == 0;

	if (strcmp(event, "gap") == 0 || strcmp(event, "up") == 0)
		w->dirty = true;
	if (w->dirty || (!is_instance && !is_command))
		return 0;
	if (is_command || strcmp(w->these, "commands") == 0) {
		w->dirty = is_command && strcmp(w->these, "commands") == 0;
		return 0;
	}
	cJSON *root = w->task ? cJSON_Parse(data) : NULL;
	w->dirty = !w->task || is_of(w->task, root);
	cJSON_Delete(root);
	return 0;
}

static int watch_tick(void *ctx)
{
	struct watch *w = ctx;
	int64_t now = now_us();

	if (interrupt_came())
		return IS_LET_GO;
	if (now < w->look_us || (!w->dirty && now < w->look_us + SILENCE_S * US_PER_S))
		return 0;
	int r = picture_look(w);
	return r == IS_WRONG && is_away(w->code) ? CLI_UNREACHABLE : r;
}

static int stream_follow(struct watch *w)
{
	struct buf path;

	buf_init(&path);
	buf_puts(&path, "/api/v1/events");
	path_arg(&path, "from", w->number);
	int r = online_stream(&w->stream, buf_str(&path), event_take, watch_tick, w);
	buf_done(&path);
	return r;
}

/* It did not answer, or its stream ended. */
static int wait_away(struct watch *w)
{
	int64_t now = now_us();

	if (!w->away_us)
		w->away_us = now;
	if (now - w->away_us >= AWAY_S * US_PER_S) {
		w->code = cli_fail(CLI_UNREACHABLE, "%s does not answer for %d minutes",
		                   w->asks.base, AWAY_S / 60);
		return IS_WRONG;
	}
	if (!w->away_said && w->code != CLI_OK) {
		cli_fail(0, "%s does not answer; it is tried again", w->asks.base);
		w->away_said = true;
		w->drawn = 0; /* the picture stays, the next one stands below that line */
	}
	poll(NULL, 0, AGAIN_MS);
	return interrupt_came() ? IS_LET_GO : 0;
}

static int watch_go(struct watch *w)
{
	for (;;) {
		int r = picture_look(w);

		if (r == 0) {
			w->away_said = false;
			w->away_us = 0;
			w->known = true;
			r = stream_follow(w);
			if (r < IS_LET_GO)
				r = wait_away(w);
		} else if (is_away(w->code) && w->known) {
			r = wait_away(w);
		}
		if (r >= IS_LET_GO)
			return r;
	}
}

/* --- the verb ------------------------------------------------------------------------------- */

static const struct opt *watch_option(const struct asked *q)
{
	const struct opt *o = q->verb->options;

	while (strcmp(o->name, "watch") != 0)
		o++;
	return o;
}

static char *task_of(const struct asked *q, const char *these)
{
	const char *flow = given_if(q, "workflow");

	if (strcmp(these, "these") != 0)
		return NULL;
	return flow ? mem_fmt("%s/*", flow) : word(q, 0) ? mem_str(word(q, 0)) : NULL;
}

static int watch_ended(struct watch *w, int r)
{
	if (r == IS_LET_GO)
		return CLI_LET_GO;
	if (!w->away_us) { /* what the verb said of it */
		screen_steer(stdout, buf_str(&w->out));
		screen_steer(stderr, buf_str(&w->err));
	}
	return w->code;
}

int watch_run(struct asked *q)
{
	struct watch w = { .q = q,
		           .terminal = isatty(STDOUT_FILENO),
		           .these = watch_option(q)->to };

	if (q->cli->json)
		return cli_fail(CLI_USAGE, "--watch goes with --output table or wide; a program "
		                           "follows /api/v1/events");
	if (given_if(q, "web"))
		return cli_fail(CLI_USAGE, "--web prints an address, there is nothing to --watch");
	int code = online_open(q->cli, &w.asks);
	if (code == CLI_OK)
		code = online_open(q->cli, &w.stream);
	w.stream.quiet = true;
	w.task = task_of(q, w.these);
	buf_init(&w.out);
	buf_init(&w.err);
	buf_init(&w.was);
	buf_init(&w.said);
	if (code == CLI_OK) {
		interrupt_begin();
		code = watch_ended(&w, watch_go(&w));
		interrupt_end();
	}
	buf_done(&w.out);
	buf_done(&w.err);
	buf_done(&w.was);
	buf_done(&w.said);
	free(w.task);
	online_close(&w.stream);
	online_close(&w.asks);
	return code;
}
