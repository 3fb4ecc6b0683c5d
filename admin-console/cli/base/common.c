/* Options that all commands have, words, output. */
#include "admin-console/cli/base/cli.h"
#include "admin-console/cli/base/output.h"

#include "rt/zones.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/screen.h"
#include "util/visible.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { KEY_JSON = 0x1000, KEY_SERVER, KEY_TOKEN_FILE, KEY_OUTPUT, KEY_COLOR };

const struct argp_option cli_options[] = {
	{ "output", KEY_OUTPUT, "FORMAT", 0,
	  "table, wide (all columns), json, yaml, or name: what other commands take back", 90 },
	{ "json", KEY_JSON, NULL, 0, "the same as --output json", 90 },
	{ "color", KEY_COLOR, "COLOR", 0, "states in colour: auto (on terminals), always, never",
	  90 },
	{ "server", KEY_SERVER, "URL", 0, "where sirdar-cgi listens", 90 },
	{ "token-file", KEY_TOKEN_FILE, "FILE", 0, "file with the token to sign in with", 90 },
	{ 0 },
};

const struct command *command_find(const struct command *all, int n, const char *const *words,
                                   int *ret_words)
{
	for (int of = n < 2 ? n : 2; of > 0; of--) {
		char name[80];
		snprintf(name, sizeof name, "%s%s%s", words[0], of > 1 ? " " : "",
		         of > 1 ? words[1] : "");
		for (const struct command *c = all; c->name; c++) {
			if (strcmp(c->name, name) != 0)
				continue;
			*ret_words = of;
			return c;
		}
	}
	return NULL;
}

static void output_take(struct cli *cli, const char *word, struct argp_state *state)
{
	enum output is = OUTPUT_TABLE;

	if (!output_set(word, &is))
		argp_error(state, "--output is '%s', want table, wide, json, yaml or name", word);
	cli->json = is >= OUTPUT_JSON;
	if (cli->json)
		screen_data(stdout);
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct cli *cli = state->input;

	switch (key) {
	case KEY_JSON:
		output_take(cli, "json", state);
		return 0;
	case KEY_OUTPUT:
		output_take(cli, arg, state);
		return 0;
	case KEY_COLOR:
		if (!color_set(arg))
			argp_error(state, "--color is '%s', want auto, always or never", arg);
		return 0;
	case KEY_SERVER:
		cli->server = arg;
		return 0;
	case KEY_TOKEN_FILE:
		cli->token_file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct inputs {
	struct cli *cli;
	void *own;
};

static error_t parse_outer(int key, char *arg, struct argp_state *state)
{
	struct inputs *in = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = in->own;
	state->child_inputs[1] = in->cli;
	return 0;
}

void cli_parse(struct cli *cli, const struct argp *own, int argc, char **argv, void *input)
{
	const struct argp common = { .options = cli_options, .parser = parse_common };
	const struct argp_child children[] = { { .argp = own }, { .argp = &common }, { 0 } };
	const struct argp all = { .parser = parse_outer,
		                  .args_doc = cli->command->args,
		                  .doc = cli->command->help,
		                  .children = children };
	struct inputs in = { .cli = cli, .own = input };

	if (argp_parse(&all, argc, argv, 0, NULL, &in) != 0)
		exit(CLI_USAGE);
}

/* One line, whatever text of others is in it. */
__attribute__((format(printf, 3, 0))) static void line_print(FILE *to, const char *head,
                                                             const char *fmt, va_list ap)
{
	char *text = mem_vfmt(fmt, ap);
	struct buf line;

	buf_init(&line);
	buf_puts(&line, head);
	visible_put(text, strlen(text), VISIBLE_LINE, &line);
	buf_putc(&line, '\n');
	fputs(buf_str(&line), to);
	buf_done(&line);
	free(text);
}

int cli_fail(int code, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	line_print(stderr, "sirdar: ", fmt, ap);
	va_end(ap);
	return code;
}

void cli_line(FILE *to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line_print(to, "", fmt, ap);
	va_end(ap);
}

int cli_print(struct buf *out)
{
	char why[OUTPUT_WHY_BYTES];

	if (!output_turn(out, why))
		return cli_fail(CLI_REFUSED, "%s", why);
	if (out->len && buf_at(out)[out->len - 1] != '\n')
		buf_putc(out, '\n');
	size_t n = out->len ? fwrite(buf_at(out), 1, out->len, stdout) : 0;
	/* screen_vouch() tells it at the end */
	return fflush(stdout) != 0 || n != out->len ? CLI_REFUSED : CLI_OK;
}

void words_add(struct words *w, char *word)
{
	w->items = mem_room(w->items, &w->cap, w->n + 1, sizeof *w->items);
	w->items[w->n++] = word;
}

void words_done(struct words *w)
{
	free(w->items);
	*w = (struct words){ 0 };
}

const struct tz *cli_zone(const char *name)
{
	const struct tz *tz = NULL;
	struct err err = { 0 };

	if (zones_get(name, &tz, &err) < 0)
		cli_fail(0, "%s", err.text);
	return tz;
}

static bool no_date(const char *text)
{
	char no_day[WHEN_TEXT];

	return cli_fail(0,
	                "'%s' is no date%s, want 2026-03-01, \"2026-03-01 02:30\", 2026-W09, "
	                "2026-03, 2026-03-01T02:30:00Z, yesterday or -3d",
	                text, when_no_day(text, no_day));
}

bool dates_read(const char *text, struct when_span *ret)
{
	return when_range(text, clock_wall_us(&clock_machine) / US_PER_S, ret) || no_date(text);
}

bool date_read(const char *text, struct when *ret)
{
	return when_parse(text, clock_wall_us(&clock_machine) / US_PER_S, ret) || no_date(text);
}

bool password_ask(const char *what, char *ret, size_t size)
{
	struct termios was, quiet;
	bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &was) == 0;
	bool got;

	if (terminal) {
		quiet = was;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		fprintf(stderr, "%s: ", what);
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	}
	got = fgets(ret, (int)size, stdin) != NULL;
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
		fputc('\n', stderr);
	}
	if (got && !strpbrk(ret, "\r\n") && !feof(stdin)) { /* cut, it would be another secret */
		explicit_bzero(ret, size);
		cli_fail(CLI_USAGE, "%s: a line of at most %zu bytes is wanted", what, size - 2);
		return false;
	}
	ret[strcspn(ret, "\r\n")] = '\0';
	return got && ret[0] != '\0';
}
