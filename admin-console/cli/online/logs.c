/* sirdar logs: what a job printed, from its beginning, its end, or as it comes.
 *
 * Without a word on it a person at a terminal sees both streams in their order with what Sirdar
 * says; a program that reads the output gets what it always got, standard output. A search is
 * logs_grep.c, a whole run logs_run.c; what is followed is searched here, as it comes. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/logs.h"
#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/rex.h"
#include "util/screen.h"

static void path_make(struct buf *path, const struct online *o, const struct asked *q,
                      const char *id, const char *stream)
{
	buf_clear(path);
	buf_printf(path, "/api/v1/instances/%s/log", id);
	path_arg(path, "stream", stream);
	path_arg(path, "times", given(q, "times"));
	path_arg(path, "attempt", given(q, "attempt"));
	path_arg(path, "execution", given(q, "execution"));
	path_arg(path, "generation", o->followed[0] ? o->followed : given(q, "generation"));
}

static const char *stream_words(const struct asked *q)
{
	const char *stream = logs_stream(q);

	return strcmp(stream, "merged") == 0   ? "output and error"
	       : strcmp(stream, "stderr") == 0 ? "error"
	                                       : "output";
}

/* Whose output follows, to stderr: which attempt printed, and whether a later one printed nothing
 * there. Quiet: the head is not worth an error. */
static void head_tell(struct online *o, const struct asked *q, const char *id)
{
	char *path = mem_fmt("/api/v1/instances/%s", id);
	const char *attempt = given(q, "attempt");
	char next[sizeof o->next], printed[sizeof o->attempt];
	cJSON *root = NULL;

	memcpy(next, o->next, sizeof next); /* of the text, not of what is asked here */
	memcpy(printed, o->attempt, sizeof printed);

	o->quiet = true;
	int code = online_call(o, "GET", path, NULL, &root);
	o->quiet = false;
	if (code == CLI_OK && !given(q, "generation")) {
		long long last = number_of(root, "attempt");
		long long at = attempt      ? strtoll(attempt, NULL, 10)
		               : printed[0] ? strtoll(printed, NULL, 10)
		                            : last;
		cli_line(stderr, "%s %s, attempt %lld, standard %s%s", text_of(root, "task"),
		         label_in(root), at, stream_words(q),
		         !attempt && at < last ? "; later attempts printed nothing there" : "");
	}
	memcpy(o->next, next, sizeof next);
	cJSON_Delete(root);
	free(path);
}

static int logs_piece(struct online *o, const struct asked *q, const char *id, const char *name,
                      const char *value, struct buf *text)
{
	struct buf path;
	int code;

	buf_init(&path);
	path_make(&path, o, q, id, logs_stream(q));
	path_arg(&path, name, value);
	if (strcmp(name, "offset") == 0 && strcmp(value, "0") == 0)
		path_arg(&path, "since", given(q, "since"));
	path_arg(&path, "until", given(q, "until"));
	code = online_text(o, buf_str(&path), text);
	if (code == CLI_OK && !given(q, "follow") &&
	    (strcmp(name, "offset") != 0 || strcmp(value, "0") == 0))
		head_tell(o, q, id);
	bool is_searched = given(q, "follow") && given(q, "grep"); /* logs_follow() does */
	if (code == CLI_OK && !is_searched &&
	    fwrite(buf_at(text), 1, text->len, stdout) != text->len)
		code = CLI_REFUSED; /* screen_vouch() tells it at the end */
	buf_done(&path);
	return code;
}

/* All of it, piece by piece, until a piece is empty; *ret_next is where it ends. */
static int logs_whole(struct online *o, const struct asked *q, const char *id, struct buf *text)
{
	char at[32] = "0";
	int code;

	do {
		code = logs_piece(o, q, id, "offset", at, text);
		if (code == CLI_OK)
			snprintf(at, sizeof at, "%s", o->next);
	} while (code == CLI_OK && text->len > 0);
	return code;
}

/* An attempt may have run more than once. The last execution is shown; this names the others. */
static void executions_tell(struct online *o, const struct asked *q, const char *id)
{
	char *path = mem_fmt("/api/v1/instances/%s/log/executions", id), numbers[100] = "";
	char next[sizeof o->next], attempt[24];
	const char *at = given(q, "attempt") ? given(q, "attempt") : o->attempt;
	cJSON *root = NULL;
	const cJSON *e;

	memcpy(next, o->next, sizeof next);
	snprintf(attempt, sizeof attempt, "%s", at);
	o->quiet = true;
	int code = online_call(o, "GET", path, NULL, &root);
	o->quiet = false;
	memcpy(o->next, next, sizeof next);
	const cJSON *items = code == CLI_OK ? json_get(root, "items") : NULL;
	const cJSON *last = cJSON_GetArrayItem(items, cJSON_GetArraySize(items) - 1);
	long long generation = given(q, "generation") ? strtoll(given(q, "generation"), NULL, 10)
	                                              : number_of(last, "generation");
	cJSON_ArrayForEach(e, items) {
		size_t n = strlen(numbers);
		if (number_of(e, "generation") == generation &&
		    number_of(e, "attempt") == strtoll(attempt, NULL, 10) &&
		    !json_true(e, "counts") && strcmp(text_of(e, "bytes"), "0") != 0 &&
		    n + 24 < sizeof numbers)
			snprintf(numbers + n, sizeof numbers - n, "%s%lld", n ? ", " : "",
			         number_of(e, "execution"));
	}
	if (numbers[0])
		cli_fail(0,
		         "it ran before under this number and was lost: --execution %s shows that",
		         numbers);
	cJSON_Delete(root);
	free(path);
}

/* What went wrong stands there more often than not. */
static void stderr_tell(struct online *o, const struct asked *q, const char *id)
{
	struct buf path, text;

	buf_init(&path);
	buf_init(&text);
	path_make(&path, o, q, id, "stderr");
	path_arg(&path, "lines", "1");
	o->quiet = true;
	if (online_text(o, buf_str(&path), &text) == CLI_OK && text.len)
		cli_fail(0, "it printed to its standard error too: -e shows that");
	o->quiet = false;
	buf_done(&path);
	buf_done(&text);
}

enum { FOLLOW_END = 1000, FOLLOW_AGAIN };

struct following {
	struct online *o;
	struct rex *rex; /* NULL: all is shown */
	bool has_times;
	struct buf open; /* with rex: a line whose end has not come */
};

/* The lines that fit; a time before a line is not looked at. */
static void fitting_put(struct following *f, const char *text, bool is_end)
{
	buf_puts(&f->open, text);
	while (f->open.len > 0) {
		const char *p = (const char *)buf_at(&f->open);
		const char *end = memchr(p, '\n', f->open.len);
		size_t n = end ? (size_t)(end - p) : f->open.len, skip = 0;

		if (!end && !is_end)
			return;
		while (f->has_times && skip < n && p[skip] != ' ')
			skip++;
		skip += f->has_times && skip < n;
		if (rex_finds(f->rex, p + skip, n - skip)) {
			fwrite(p, 1, n, stdout);
			putchar('\n');
		}
		buf_drop(&f->open, end ? n + 1 : n);
	}
}

static int follow_take(void *ctx, const char *event, const char *data)
{
	struct following *f = ctx;
	struct online *o = f->o;
	cJSON *root;
	bool is_end = strcmp(event, "end") == 0;

	if (strcmp(event, "error") == 0)
		return cli_fail(CLI_REFUSED, "the log cannot be read: %s", data);
	if (!is_end && strcmp(event, "log") != 0)
		return 0; /* up, down: the server comes back by itself */
	root = cJSON_Parse(data);
	if (f->rex)
		fitting_put(f, text_of(root, "text"), is_end);
	else
		fputs(text_of(root, "text"), stdout);
	bool lost = fflush(stdout) != 0 || ferror(stdout);
	snprintf(o->next, sizeof o->next, "%s", text_of(root, "offset"));
	cJSON_Delete(root);
	if (lost)
		return CLI_REFUSED; /* as above */
	return is_end ? FOLLOW_END : 0;
}

/* `text`: the last lines of before, which only a search has not shown. */
static int logs_follow(struct online *o, const struct asked *q, const char *id, struct buf *text)
{
	struct following f = { .o = o, .has_times = given(q, "times") != NULL };
	struct buf path;
	struct err err = { 0 };
	int code;

	if (given(q, "grep") &&
	    rex_new(given(q, "grep"), given(q, "ignore-case") != NULL, &f.rex, &err) < 0)
		return cli_fail(CLI_REFUSED, "%s", err.text);
	buf_init(&f.open);
	buf_init(&path);
	if (f.rex)
		fitting_put(&f, buf_str(text), false);
	path_make(&path, o, q, id, logs_stream(q));
	path_arg(&path, "follow", "1");
	path_arg(&path, "offset", o->next[0] != '\0' ? o->next : NULL);
	path_arg(&path, "since", o->next[0] != '\0' ? NULL : given(q, "since"));
	code = online_stream(o, buf_str(&path), follow_take, NULL, &f);
	buf_done(&path);
	buf_done(&f.open);
	rex_free(f.rex);
	return code == FOLLOW_END ? CLI_OK : code;
}

/* Who asks for a generation that is none would be told, or wait, as if it were to print yet. Who
 * follows what is unfinished means that, and not what a former generation printed. */
static int generation_check(struct online *o, const struct asked *q, const char *id)
{
	const char *generation = given(q, "generation");
	struct buf path;
	cJSON *root = NULL;
	int code;

	if (!generation && (!given(q, "follow") || given(q, "attempt") || given(q, "execution")))
		return CLI_OK;
	buf_init(&path);
	buf_printf(&path, "/api/v1/instances/%s", id);
	code = online_call(o, "GET", buf_str(&path), NULL, &root);
	if (code == CLI_OK && !generation) {
		if (!logs_is_over(text_of(root, "state")))
			snprintf(o->followed, sizeof o->followed, "%lld",
			         number_of(root, "generation"));
	} else if (code == CLI_OK && strtoll(generation, NULL, 10) > number_of(root, "generation"))
		code = cli_fail(CLI_NOT_FOUND, "%s has no generation %s, its last is %lld", id,
		                generation, number_of(root, "generation"));
	cJSON_Delete(root);
	buf_done(&path);
	return code;
}

/* A whole prints nothing where its parts do: they are named. */
static void parts_name(struct online *o, const char *id)
{
	enum { NAMED_MAX = 20 };
	struct buf names;
	int n = 0;

	buf_init(&names);
	o->quiet = true;
	for (bool found = true; found && n < NAMED_MAX; n += found) {
		char *path = mem_fmt("/api/v1/instances/%s.%d", id, n + 1);
		cJSON *root = NULL;
		found = online_call(o, "GET", path, NULL, &root) == CLI_OK &&
		        text_of(root, "state")[0];
		if (found)
			buf_printf(&names, "%s%s.%d", n ? ", " : "", id, n + 1);
		cJSON_Delete(root);
		free(path);
	}
	o->quiet = false;
	if (n)
		cli_fail(0, "its parts print, each on its own: %s%s", buf_str(&names),
		         n == NAMED_MAX ? ", ... (run list --parts)" : "");
	buf_done(&names);
}

/* The last lines first, where that is asked for; of what has printed nothing yet there are none. */
static int follow_from_end(struct online *o, const struct asked *q, const char *id,
                           struct buf *text)
{
	int code = CLI_OK;

	if (given(q, "lines")) {
		o->quiet = true;
		code = logs_piece(o, q, id, "lines", given(q, "lines"), text);
		o->quiet = false;
	}
	if (code == CLI_NOT_FOUND)
		o->next[0] = '\0';
	else if (code != CLI_OK)
		return code;
	head_tell(o, q, id);
	return logs_follow(o, q, id, text);
}

static int logs_print(struct online *o, const struct asked *q, const char *id, struct buf *text)
{
	const char *lines = given(q, "lines");

	if (given(q, "follow"))
		return follow_from_end(o, q, id, text);
	int code = lines ? logs_piece(o, q, id, "lines", lines, text) : logs_whole(o, q, id, text);
	if (code == CLI_OK && !given(q, "execution"))
		executions_tell(o, q, id);
	if (code == CLI_OK && !lines && strcmp(logs_stream(q), "stdout") == 0)
		stderr_tell(o, q, id);
	return code;
}

/* One instance. */
static int logs_of(struct online *o, const struct asked *q)
{
	struct buf text;
	char *id = NULL;

	buf_init(&text);
	int code = online_resolve(o, word(q, 0), word(q, 1), &id);
	if (code == CLI_OK)
		code = generation_check(o, q, id);
	if (code == CLI_OK && given(q, "web"))
		code = web_print(o, id, given(q, "generation"), given(q, "attempt"));
	else if (code == CLI_OK && given(q, "grep") && !given(q, "follow"))
		code = logs_search(o, q, id);
	else if (code == CLI_OK)
		code = logs_print(o, q, id, &text);
	if (code == CLI_NOT_FOUND && id && !given(q, "grep"))
		parts_name(o, id);
	free(id);
	buf_done(&text);
	return code;
}

static int online_logs_logs(struct asked *q)
{
	bool is_many = given(q, "last") || given(q, "project");
	struct online o = { 0 };

	screen_output(stdout);
	int code = online_open(q->cli, &o);
	if (code == CLI_OK && (is_many || (given(q, "run") && given(q, "grep"))))
		code = logs_search(&o, q, NULL);
	else if (code == CLI_OK && given(q, "run"))
		code = logs_run(&o, q);
	else if (code == CLI_OK)
		code = logs_of(&o, q);
	online_close(&o);
	return code;
}

/* Which words there are, and what goes with what. */
static void logs_check(struct asked *q, struct argp_state *state)
{
	bool is_task = given(q, "last") != NULL, is_project = given(q, "project") != NULL;
	bool is_run = given(q, "run") != NULL;
	bool is_one = !is_task && !is_project && !is_run;
	size_t n = q->words.n;

	check_no_json(q, state);
	if ((given(q, "stdout") != NULL) + (given(q, "stderr") != NULL) +
	            (given(q, "merged") != NULL) >
	    1)
		argp_error(state,
		           "-o, -e and --merged exclude each other: --merged has both, leave "
		           "-e out");
	if (is_task + is_project + is_run > 1)
		argp_error(state, "--run, --last and --project exclude each other");
	if ((is_task || is_project) && (!given(q, "grep") || given(q, "follow")))
		argp_error(state,
		           "--last and --project are of a search: --grep says for what, and it "
		           "is not followed");
	if (is_run && (n != 2 || (given(q, "follow") && (given(q, "grep") || given(q, "lines")))))
		argp_error(state, n != 2 ? "--run wants WORKFLOW DATE"
		                         : "-f of a run goes without --grep and -n");
	if ((is_task && n != 1) || (is_project && n != 0))
		argp_error(state, is_task ? "--last wants a task and no date"
		                          : "--project wants no "
		                            "task");
	if (is_one && n == 0)
		argp_error(state, "want TASK RUN_DATE, or an instance's id");
	if (is_run && given(q, "times") && strcmp(given(q, "times"), "utc") != 0)
		argp_error(state, "of a run --times is utc");
	if (!is_one && (given(q, "attempt") || given(q, "generation") || given(q, "execution") ||
	                given(q, "web")))
		argp_error(state, "attempts are of one instance: TASK RUN_DATE");
}

static const struct opt options[] = {
	{ "follow", 'f', NULL, "go on until the job ends, or all of the run have" },
	{ "lines", 'n', "N", "only the last N lines; of a search, the first N found",
	  .check = check_number },
	{ "stdout", 'o', NULL, "standard output alone; what a pipe gets without a word" },
	{ "stderr", 'e', NULL, "standard error alone" },
	{ "merged", 'm', NULL,
	  "both in the order in which they came, with what Sirdar says; what a terminal gets" },
	{ "times", 0, "HOW", "the time before each line: utc, zone or since (it began)" },
	{ "since", 0, "WHEN", "what came since a time, or 90s, 15m, 6h, 2d ago" },
	{ "until", 0, "WHEN", "what came before" },
	{ "grep", 0, "RE", "lines that a regular expression fits; exits with 4 where none does" },
	{ "ignore-case", 'i', NULL, "with --grep: in both cases" },
	{ "run", 'r', NULL, "of all tasks of a run: WORKFLOW DATE, each line with its task" },
	{ "last", 0, "N", "with --grep: TASK, in its last N attempts" },
	{ "project", 'p', "PROJECT", "with --grep: in all of a project; --since bounds it" },
	{ "attempt", 'a', "N", "of this attempt, default the last" },
	{ "execution", 'x', "N", "of an attempt that was lost and ran again, its execution N" },
	{ "generation", 'g', "N", "of this generation, default the last" },
	OPT_WEB,
	{ 0 },
};

#define WANT "want TASK RUN_DATE, or an instance's id"
const struct verb verb_logs = { online_logs_logs, options, 0, 2, WANT, WANT, logs_check };
#undef WANT
