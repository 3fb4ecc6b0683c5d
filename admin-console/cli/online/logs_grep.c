/* sirdar logs --grep: the server looks, over one log, a run, a task's last attempts or a project;
 * what it finds is printed as it comes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/online/logs.h"
#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"
#include "util/logmark.h"
#include "util/screen.h"

struct found {
	const struct asked *q;
	bool is_one;  /* of one log: its lines alone */
	bool is_over; /* the end came */
	bool is_cut;
	long long matches;
};

const char *logs_stream(const struct asked *q)
{
	if (given(q, "stdout") || given(q, "stderr"))
		return given(q, "stdout") ? "stdout" : "stderr";
	return given(q, "merged") || isatty(STDOUT_FILENO) ? "merged" : "stdout";
}

char *logs_name(const char *task, int part)
{
	const char *slash = strrchr(task, '/');

	return part ? mem_fmt("%s.%d", slash ? slash + 1 : task, part)
	            : mem_str(slash ? slash + 1 : task);
}

void logs_prefix(struct buf *out, const char *name, size_t width)
{
	size_t n = strlen(name);

	buf_puts(out, name);
	for (; n < width; n++)
		buf_putc(out, ' ');
	buf_puts(out, " | ");
}

/* Whose line it is: of a run its task; of several dates, task, date and attempt. */
static void whose_put(const struct found *f, const cJSON *hit, struct buf *out)
{
	const char *time = text_of(hit, "time");

	if (given(f->q, "times") && time[0])
		buf_printf(out, "%s ", time);
	if (f->is_one)
		return;
	char *name = logs_name(text_of(hit, "task"), (int)number_of(hit, "part"));
	if (!given(f->q, "run")) {
		char *all = mem_fmt("%s %s attempt %lld", text_of(hit, "task"), label_in(hit),
		                    number_of(hit, "attempt"));
		free(name);
		name = all;
	}
	logs_prefix(out, name, 0);
	free(name);
}

static int match_take(struct found *f, const cJSON *hit)
{
	const char *text = text_of(hit, "text");
	struct buf line;

	buf_init(&line);
	whose_put(f, hit, &line);
	if (strcmp(text_of(hit, "stream"), "sirdar") == 0) {
		buf_puts(&line, LOGMARK);
		buf_puts(&line, text);
	} else {
		logmark_put(text, strlen(text), true, &line);
	}
	if (json_true(hit, "cut"))
		buf_puts(&line, "...");
	buf_putc(&line, '\n');
	bool lost = fwrite(buf_at(&line), 1, line.len, stdout) != line.len || fflush(stdout) != 0;
	buf_done(&line);
	f->matches++;
	return lost ? CLI_REFUSED : 0; /* screen_vouch() tells it at the end */
}

static int end_take(struct found *f, const cJSON *end)
{
	const char *why = text_of(end, "why");

	f->is_over = true;
	f->is_cut = why[0] != '\0';
	if (strcmp(why, "limit") == 0)
		cli_fail(0, "more lines fit: -n says how many are shown, 10000 at most");
	else if (strcmp(why, "instances") == 0)
		cli_fail(0, "there are more instances than one search looks through: name fewer "
		            "dates");
	else if (why[0])
		cli_fail(0, "it is not all: %s", text_of(end, "message"));
	return 0;
}

static int found_take(void *ctx, const char *event, const char *data)
{
	struct found *f = ctx;
	cJSON *root = cJSON_Parse(data);
	int code = 0;

	if (strcmp(event, "match") == 0)
		code = match_take(f, root);
	else if (strcmp(event, "end") == 0)
		code = end_take(f, root);
	cJSON_Delete(root);
	return code;
}

static void where_put(const struct asked *q, const char *id, struct buf *path)
{
	path_arg(path, "instance", id);
	path_arg(path, "attempts", given(q, "last"));
	if (given(q, "run")) {
		path_arg(path, "workflow", word(q, 0));
		path_dates(path, word(q, 1));
	} else if (given(q, "last")) {
		path_arg(path, "task", word(q, 0));
	}
	path_arg(path, "project", given(q, "project"));
}

int logs_search(struct online *o, const struct asked *q, const char *id)
{
	struct found f = { .q = q, .is_one = id != NULL };
	bool is_bound = given(q, "stdout") || given(q, "stderr");
	struct buf path;

	buf_init(&path);
	buf_puts(&path, "/api/v1/logs/search");
	path_arg(&path, "match", given(q, "grep"));
	path_arg(&path, "ignore_case", given(q, "ignore-case") ? "true" : NULL);
	where_put(q, id, &path);
	path_arg(&path, "stream", is_bound ? logs_stream(q) : NULL);
	path_arg(&path, "since", given(q, "since"));
	path_arg(&path, "until", given(q, "until"));
	path_arg(&path, "limit", given(q, "lines"));
	int code = online_stream(o, buf_str(&path), found_take, NULL, &f);
	buf_done(&path);
	if (code != CLI_OK)
		return code;
	if (!f.is_over)
		return cli_fail(CLI_UNREACHABLE, "%s ended the search before it was over", o->base);
	if (f.is_cut)
		return CLI_FAILED;
	return f.matches ? CLI_OK : cli_fail(CLI_NOT_FOUND, "no line fits '%s'", given(q, "grep"));
}
