/* sirdar logs: what a job printed, from its beginning, its end, or as it comes. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/screen.h"

static void path_make(struct buf *path, const struct asked *q, const char *id)
{
	buf_clear(path);
	buf_printf(path, "/api/v1/instances/%s/log", id);
	path_arg(path, "stream",
	         given(q, "stderr")   ? "stderr"
	         : given(q, "merged") ? "merged"
	                              : NULL);
	path_arg(path, "times", given(q, "times"));
	path_arg(path, "attempt", given(q, "attempt"));
	path_arg(path, "generation", given(q, "generation"));
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
		         label_in(root), at,
		         given(q, "stderr")   ? "error"
		         : given(q, "merged") ? "output and error"
		                              : "output",
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
	path_make(&path, q, id);
	path_arg(&path, name, value);
	if (strcmp(name, "offset") == 0 && strcmp(value, "0") == 0)
		path_arg(&path, "since", given(q, "since"));
	code = online_text(o, buf_str(&path), text);
	if (code == CLI_OK && !given(q, "follow") &&
	    (strcmp(name, "offset") != 0 || strcmp(value, "0") == 0))
		head_tell(o, q, id);
	if (code == CLI_OK && fwrite(buf_at(text), 1, text->len, stdout) != text->len)
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

/* What went wrong stands there more often than not. */
static void stderr_tell(struct online *o, const struct asked *q, const char *id)
{
	struct buf path, text;

	buf_init(&path);
	buf_init(&text);
	path_make(&path, q, id);
	path_arg(&path, "stream", "stderr");
	path_arg(&path, "lines", "1");
	o->quiet = true;
	if (online_text(o, buf_str(&path), &text) == CLI_OK && text.len)
		cli_fail(0, "it printed to its standard error too: -e shows that");
	o->quiet = false;
	buf_done(&path);
	buf_done(&text);
}

enum { FOLLOW_END = 1000, FOLLOW_AGAIN };

static int follow_take(void *ctx, const char *event, const char *data)
{
	struct online *o = ctx;
	cJSON *root;
	bool is_end = strcmp(event, "end") == 0;

	if (strcmp(event, "error") == 0)
		return cli_fail(CLI_REFUSED, "the log cannot be read: %s", data);
	if (!is_end && strcmp(event, "log") != 0)
		return 0; /* up, down: the server comes back by itself */
	root = cJSON_Parse(data);
	fputs(text_of(root, "text"), stdout);
	bool lost = fflush(stdout) != 0 || ferror(stdout);
	snprintf(o->next, sizeof o->next, "%s", text_of(root, "offset"));
	cJSON_Delete(root);
	if (lost)
		return CLI_REFUSED; /* as above */
	return is_end ? FOLLOW_END : 0;
}

static int logs_follow(struct online *o, const struct asked *q, const char *id)
{
	struct buf path;
	int code;

	buf_init(&path);
	path_make(&path, q, id);
	path_arg(&path, "follow", "1");
	path_arg(&path, "offset", o->next[0] != '\0' ? o->next : NULL);
	path_arg(&path, "since", o->next[0] != '\0' ? NULL : given(q, "since"));
	code = online_stream(o, buf_str(&path), follow_take, NULL, o);
	buf_done(&path);
	return code == FOLLOW_END ? CLI_OK : code;
}

/* Who asks for a generation that is none would be told, or wait, as if it were to print yet. */
static int generation_check(struct online *o, const struct asked *q, const char *id)
{
	const char *generation = given(q, "generation");
	struct buf path;
	cJSON *root = NULL;
	int code;

	if (!generation)
		return CLI_OK;
	buf_init(&path);
	buf_printf(&path, "/api/v1/instances/%s", id);
	code = online_call(o, "GET", buf_str(&path), NULL, &root);
	if (code == CLI_OK && strtoll(generation, NULL, 10) > number_of(root, "generation"))
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

static int online_logs_logs(struct asked *q)
{
	const char *lines = given(q, "lines");
	struct online o = { 0 };
	struct buf text;
	char *id = NULL;

	buf_init(&text);
	screen_output(stdout);
	int code = given(q, "merged") && given(q, "stderr")
	                   ? cli_fail(CLI_USAGE, "--merged has standard error too: leave -e out")
	                   : online_open(q->cli, &o);
	if (code == CLI_OK)
		code = online_resolve(&o, word(q, 0), word(q, 1), &id);
	if (code == CLI_OK)
		code = generation_check(&o, q, id);
	if (code == CLI_OK && given(q, "web")) {
		code = web_print(&o, id, given(q, "generation"), given(q, "attempt"));
		goto out;
	}
	if (code == CLI_OK && lines)
		code = logs_piece(&o, q, id, "lines", lines, &text);
	else if (code == CLI_OK && !given(q, "follow"))
		code = logs_whole(&o, q, id, &text);
	if (code == CLI_OK && !lines && !given(q, "follow") && !given(q, "stderr") &&
	    !given(q, "merged"))
		stderr_tell(&o, q, id);
	if (code == CLI_OK && given(q, "follow"))
		head_tell(&o, q, id);
	if (code == CLI_OK && given(q, "follow"))
		code = logs_follow(&o, q, id);
	if (code == CLI_NOT_FOUND && id)
		parts_name(&o, id);
out:
	free(id);
	buf_done(&text);
	online_close(&o);
	return code;
}

static const struct opt options[] = {
	{ "follow", 'f', NULL, "go on until the job ends" },
	{ "lines", 'n', "N", "only the last N lines" },
	{ "stderr", 'e', NULL, "standard error instead of standard output" },
	{ "merged", 'm', NULL, "both in the order in which they came, with what became of it" },
	{ "times", 0, "HOW", "the time before each line: utc, zone or since (it began)" },
	{ "since", 0, "WHEN", "what came since a time, or 90s, 15m, 6h, 2d ago" },
	{ "attempt", 'a', "N", "of this attempt, default the last" },
	{ "generation", 'g', "N", "of this generation, default the last" },
	OPT_WEB,
	{ 0 },
};

#define WANT "want TASK RUN_DATE, or an instance's id"
const struct verb verb_logs = { online_logs_logs, options, 1, 2, WANT, WANT, check_no_json };
#undef WANT
