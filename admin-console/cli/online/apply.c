/* sirdar apply: send workflows, show what changes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/documents/files.h"
#include "admin-console/cli/documents/targets.h"
#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"
#include "util/screen.h"

#define DOCUMENT_MAX ((size_t)1000 * 1000)

/* What an apply or a diff sends: q->body, and on their own documents of target servers. */
struct applying {
	struct asked *q;
	cJSON *targets;
	bool dry_run, yes;
};

/* What goes with what is not in the files is retired. */
static void put_prune(struct asked *q, const struct opt *o, const char *arg,
                      struct argp_state *state)
{
	(void)state;
	cJSON_AddItemToArray(body_list(q, o->to), cJSON_CreateString(arg));
	if (!json_true(q->body, "retire"))
		cJSON_AddBoolToObject(q->body, "retire", true);
}

static int stdin_read(struct buf *text)
{
	size_t n;

	do {
		n = fread(buf_room(text, 65536), 1, 65536, stdin);
		buf_added(text, n);
	} while (n > 0 && text->len <= DOCUMENT_MAX);
	clearerr(stdin); /* at a terminal a question may follow */
	return text->len <= DOCUMENT_MAX ? CLI_OK
	                                 : cli_fail(CLI_REFUSED, "standard input is too large");
}

static int documents_read(struct applying *a)
{
	cJSON *list = cJSON_AddArrayToObject(a->q->body, "documents");
	struct words files;
	struct diags d;
	int code = CLI_OK;

	if (!files_list(&a->q->words, &files)) {
		files_unlist(&files);
		return CLI_NOT_FOUND;
	}
	diags_init(&d);
	a->targets = cJSON_CreateArray();
	for (size_t i = 0; i < files.n && code == CLI_OK; i++) {
		const char *name = files.items[i];
		struct buf text;
		struct err err = { 0 };

		buf_init(&text);
		if (strcmp(name, "-") == 0)
			code = stdin_read(&text);
		else if (fs_read(name, DOCUMENT_MAX, &text, &err) < 0)
			code = cli_fail(err.code == E_NOT_FOUND ? CLI_NOT_FOUND : CLI_REFUSED, "%s",
			                err.text);
		if (code == CLI_OK && memchr(buf_at(&text), '\0', text.len))
			code = cli_fail(CLI_REFUSED, "%s is not text", name);
		if (code == CLI_OK && targets_take(&text, name, a->targets, &d)) {
			cJSON *one = cJSON_CreateObject();
			cJSON_AddStringToObject(one, "name", name);
			cJSON_AddStringToObject(one, "text", buf_str(&text));
			cJSON_AddItemToArray(list, one);
		}
		buf_done(&text);
	}
	if (code == CLI_OK)
		files_print_diags(&d, stderr);
	if (code == CLI_OK && d.errors)
		code = CLI_REFUSED;
	diags_done(&d);
	files_unlist(&files);
	return code;
}

/* --- what changes, as a diff reads --- */

static char sign_of(const char *change)
{
	return strcmp(change, "create") == 0 ? '+' : strcmp(change, "retire") == 0 ? '-' : '~';
}

static void paint(FILE *to, char sign, bool on)
{
	if (isatty(to == stderr ? STDERR_FILENO : STDOUT_FILENO))
		screen_steer(to, !on           ? "\033[0m"
		                 : sign == '+' ? "\033[32m"
		                 : sign == '-' ? "\033[31m"
		                               : "\033[33m");
}

static int changed_n(const cJSON *changes)
{
	const cJSON *c;
	int n = 0;

	cJSON_ArrayForEach(c, changes)
		n += strcmp(text_of(c, "change"), "same") != 0;
	return n;
}

/* Of so many that some are told as a number only, the totals know. */
static int changes_count(const cJSON *answer)
{
	const cJSON *all = json_get(answer, "totals");
	long long changed = changed_n(json_get(answer, "changes")), most = 0;

	most = number_of(all, "create") + number_of(all, "update") + number_of(all, "retire");
	return (int)(most > changed ? most : changed);
}

/* A text of several lines stands below its key, line by line. */
static void value_print(FILE *to, char sign, const cJSON *field, const char *key)
{
	const char *text = json_text(field, key);

	if (text && strchr(text, '\n')) {
		cli_line(to, "    %c %s:", sign, text_of(field, "field"));
		for (; *text; text += strcspn(text, "\n"), text += *text != '\0')
			cli_line(to, "    %c   %.*s", sign, (int)strcspn(text, "\n"), text);
	} else if (json_get(field, key)) {
		cli_line(to, "    %c %s: %s", sign, text_of(field, "field"), text_of(field, key));
	}
}

/* What becomes of one besides what its document says. */
static const struct {
	const char *key, *says;
} notes[] = {
	{ "online_again", "its plan ran out and has new dates: it is online again" },
	{ "no_dates", "no date of its plan is left to come" },
	{ "stays_offline", "stays offline, as it was put" },
	{ "out_of_force", "it was online: as a draft nothing of it runs any more" },
	{ "frozen", "it is frozen: nothing of it runs before it is unfrozen" },
};

static void changes_print(const cJSON *answer, FILE *to)
{
	const cJSON *c, *f;
	int same = 0;

	cJSON_ArrayForEach(c, json_get(answer, "changes")) {
		const char *change = text_of(c, "change");
		char sign = sign_of(change);

		if (strcmp(change, "same") == 0) {
			same++;
			continue;
		}
		paint(to, sign, true);
		fprintf(to, "%c %s %s", sign, text_of(c, "kind"), text_of(c, "name"));
		if (number_of(c, "tasks") > 0)
			fprintf(to, " (other dates for %s tasks)", text_of(c, "tasks"));
		for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
			if (json_true(c, notes[i].key))
				fprintf(to, " (%s)", notes[i].says);
		if (number_of(c, "run_dates") > 0) {
			fprintf(to, " (%s run dates of the past come due: %s",
			        text_of(c, "run_dates"), text_of(c, "first_label"));
			fprintf(to, " to %s%s)", text_of(c, "last_label"), left_out_of(c));
		}
		if (json_true(c, "fires_anew"))
			fprintf(to, " (%s run %s, due %s %s)",
			        number_of(c, "run_dates") > 0 ? "next" : "first",
			        text_of(c, "fires_label"), text_of(c, "fires_local"),
			        text_of(c, "zone"));
		fputc('\n', to);
		paint(to, sign, false);
		cJSON_ArrayForEach(f, json_get(c, "fields")) {
			value_print(to, '-', f, "before");
			value_print(to, '+', f, "after");
		}
	}
	cJSON_ArrayForEach(c, json_get(answer, "warnings"))
		mistake_say(to, &(struct mistake){ .file = text_of(c, "file"),
		                                   .line = number_of(c, "line"),
		                                   .column = number_of(c, "column"),
		                                   .path = text_of(c, "path"),
		                                   .message = text_of(c, "message"),
		                                   .hint = text_of(c, "hint"),
		                                   .is_warning = true });
	if (number_of(answer, "changes_more") > 0) {
		same = (int)number_of(json_get(answer, "totals"), "same");
		fprintf(to, "... and %s more\n", text_of(answer, "changes_more"));
	}
	fprintf(to, "%d changed, %d as before\n", changes_count(answer), same);
}

/* --- how far it is, on a terminal --- */

enum { LOOK_US = 300 * 1000, FEW_BYTES = 256 * 1024 };

struct follow {
	struct online asks; /* of its own: the other one waits */
	const char *request_id;
	int files;
	bool on, shown, sent;
	int64_t look_us; /* mono: not again before */
};

__attribute__((format(printf, 2, 3))) static void follow_say(struct follow *f, const char *fmt, ...)
{
	va_list args;

	f->shown = true;
	screen_steer(stderr, "\r\033[K");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fflush(stderr);
}

/* The command with our request id, if the server shows it already. */
static void follow_look(struct follow *f)
{
	cJSON *list = NULL;
	const cJSON *c;

	if (online_call(&f->asks, "GET", "/api/v1/commands?open=true&limit=50", NULL, &list) !=
	    CLI_OK)
		return;
	cJSON_ArrayForEach(c, json_get(list, "items")) {
		if (strcmp(text_of(c, "request_id"), f->request_id) != 0)
			continue;
		if (number_of(c, "done") < number_of(c, "total"))
			follow_say(f, "judged %s of %s files", text_of(c, "done"),
			           text_of(c, "total"));
		else
			follow_say(f, "judged all of %s files, storing them", text_of(c, "total"));
	}
	cJSON_Delete(list);
}

static void follow_now(void *ctx, size_t sent, size_t all)
{
	struct follow *f = ctx;

	int64_t now_us = clock_mono_us(&clock_machine);

	if (all < FEW_BYTES || now_us < f->look_us)
		return;
	f->look_us = now_us + LOOK_US;
	if (sent < all)
		follow_say(f, "sent %zu of %zu KiB", sent / 1024, all / 1024);
	else if (!f->sent) /* said before the server is asked: it may be too busy to answer */
		follow_say(f, "sent all of %d files, the server judges them", f->files);
	else if (f->request_id)
		follow_look(f);
	f->sent = sent == all;
}

static void follow_begin(struct follow *f, struct online *o, const char *request_id, int files)
{
	*f = (struct follow){ .request_id = request_id, .files = files };
	f->on = isatty(STDERR_FILENO) && !o->cli->json && online_open(o->cli, &f->asks) == CLI_OK;
	if (!f->on)
		return;
	f->asks.quiet = true;
	f->look_us = clock_mono_us(&clock_machine) + LOOK_US;
	o->waits = follow_now;
	o->waits_ctx = f;
}

static void follow_end(struct follow *f, struct online *o)
{
	if (!f->on)
		return;
	if (f->shown)
		screen_steer(stderr, "\r\033[K");
	o->waits = NULL;
	online_close(&f->asks);
}

/* By the route that takes large bodies. */
static int online_apply_send(struct online *o, cJSON *args, bool dry, cJSON **ret)
{
	cJSON *body = cJSON_CreateObject(), *a;
	struct follow follow;
	char request_id[33];
	int code;

	cJSON_ArrayForEach(a, args)
		cJSON_AddItemReferenceToObject(body, a->string, a);
	cJSON_AddBoolToObject(body, "dry_run", dry);
	if (!dry) {
		request_id_new(request_id);
		cJSON_AddStringToObject(body, "request_id", request_id);
	}
	follow_begin(&follow, o, dry ? NULL : request_id,
	             cJSON_GetArraySize(json_get(args, "documents")));
	code = online_call(o, "POST", "/api/v1/workflows", body, ret);
	follow_end(&follow, o);
	cJSON_Delete(body);
	return code;
}

/* Target servers first: workflows may need them. The answer is that of `apply`, with theirs. */
static int send_all(struct online *o, const struct applying *a, bool dry, cJSON **ret)
{
	cJSON *changes = cJSON_CreateArray(), *c;
	const struct sent_targets sent = { .list = a->targets,
		                           .changes = changes,
		                           .dry_run = dry,
		                           .again = given_if(a->q, "passwords") };
	int code = CLI_OK, saved = 0;

	if (cJSON_GetArraySize(a->targets)) {
		code = targets_send(o, &sent);
		saved = dry ? 0 : changed_n(changes) - (code != CLI_OK);
	}
	if (code == CLI_OK &&
	    (json_get(a->q->body, "documents")->child || json_get(a->q->body, "prune")))
		code = online_apply_send(o, a->q->body, dry, ret);
	else if (code == CLI_OK)
		*ret = cJSON_CreateObject();
	if (code == CLI_OK && !json_get(*ret, "changes"))
		cJSON_AddArrayToObject(*ret, "changes");
	while (code == CLI_OK && (c = cJSON_DetachItemFromArray(changes, 0)))
		cJSON_AddItemToArray(cJSON_GetObjectItem(*ret, "changes"), c);
	cJSON_Delete(changes);
	if (code != CLI_OK && saved > 0)
		code = cli_fail(CLI_FAILED, "%d of the target servers were saved, the rest was not",
		                saved);
	return code;
}

/* The changes are shown before they are made, and a person is asked. Nobody is there without a
 * terminal: what a script applies is saved, and said to be; only retiring wants its --yes. */
static int apply_confirm(struct online *o, const struct applying *a)
{
	bool retire = json_true(a->q->body, "retire"), person = isatty(STDIN_FILENO);
	bool targets = cJSON_GetArraySize(a->targets) > 0;
	cJSON *dry = NULL;
	char line[16] = "";
	int code;

	if (a->yes || a->dry_run || (!person && !retire))
		return CLI_OK;
	o->quiet = person && targets;
	code = send_all(o, a, true, &dry);
	if (o->quiet && code != CLI_OK) { /* a workflow may need what is not saved yet */
		fputs("what else changes is known when the target servers are saved\n", stderr);
		code = CLI_OK;
	}
	o->quiet = false;
	if (code == CLI_OK && (!dry || changes_count(dry) > 0)) {
		if (dry)
			changes_print(dry, stderr);
		if (!person)
			code = cli_fail(CLI_REFUSED, "say --yes to retire");
		else if (fputs("Go on? [y/N] ", stderr) < 0 || !fgets(line, sizeof line, stdin) ||
		         (line[0] != 'y' && line[0] != 'Y'))
			code = cli_fail(CLI_REFUSED, "nothing was changed");
	}
	cJSON_Delete(dry);
	return code;
}

int apply_send(struct cli *cli, cJSON *args, bool dry_run)
{
	struct online o = { 0 };
	cJSON *answer = NULL;
	int code = online_open(cli, &o);

	if (code == CLI_OK)
		code = online_apply_send(&o, args, dry_run, &answer);
	if (code == CLI_OK && cli->json)
		code = print_json(answer);
	else if (code == CLI_OK)
		changes_print(answer, stdout);
	cJSON_Delete(answer);
	online_close(&o);
	return code;
}

static int apply_run(struct asked *q, bool diff)
{
	struct applying a = { .q = q,
		              .dry_run = diff || given_if(q, "dry-run"),
		              .yes = given_if(q, "yes") };
	struct online o = { 0 };
	cJSON *answer = NULL;

	if (diff && !json_get(q->body, "retire"))
		cJSON_AddBoolToObject(q->body, "retire", true); /* tasks that go are a difference */
	int code = documents_read(&a);
	if (code == CLI_OK)
		code = online_open(q->cli, &o);
	if (code == CLI_OK)
		code = apply_confirm(&o, &a);
	if (code == CLI_OK)
		code = send_all(&o, &a, a.dry_run, &answer);
	if (code == CLI_OK && q->cli->json)
		code = print_json(answer);
	else if (code == CLI_OK)
		changes_print(answer, stdout);
	if (code == CLI_OK && !a.dry_run && !a.yes && !isatty(STDIN_FILENO) &&
	    changes_count(answer) > 0)
		fputs("saved without a question: standard input is no terminal (--yes says so, "
		      "--dry-run only shows)\n",
		      stderr);
	if (code == CLI_OK && given_if(q, "exit-code") && changes_count(answer) > 0)
		code = CLI_REFUSED;
	cJSON_Delete(answer);
	cJSON_Delete(a.targets);
	online_close(&o);
	return code;
}

static int online_apply_apply(struct asked *q)
{
	return apply_run(q, false);
}

static int diff(struct asked *q)
{
	return apply_run(q, true);
}

static const struct opt apply_options[] = {
	{ "dry-run", 'd', NULL, "only show what would change" },
	{ "message", 'm', "TEXT", "why, kept with the version", TAKE_TEXT, "message" },
	{ "draft", 0, NULL,
	  "save workflows with `state: draft`, whatever they say: nothing of them runs before they "
	  "go online",
	  TAKE_TRUE, "draft" },
	{ "retire", 'r', NULL, "retire tasks that the workflow no longer names", TAKE_TRUE,
	  "retire" },
	{ "detach", 'D', NULL, "take links of others to retired tasks out", TAKE_TRUE, "detach" },
	{ "from", 'f', "T", "since when a changed schedule counts, default now", TAKE_TEXT,
	  "from" },
	{ "prune", 'p', "PROJECT",
	  "retire what is not in the files of this project: its workflows, pipelines and "
	  "libraries, "
	  "with their tasks; history stays, and so do parameters and pools (repeatable)",
	  TAKE_OWN, "prune", .check = put_prune },
	{ "passwords", 'P', NULL,
	  "set the passwords of target servers again (password_file), also where one is kept" },
	{ "yes", 'y', NULL, "do not ask" },
	{ 0 },
};

static const struct opt diff_options[] = {
	{ "prune", 'p', "PROJECT",
	  "as if apply were told to retire what is not in the files (repeatable)", TAKE_OWN,
	  "prune", .check = put_prune },
	{ "exit-code", 'x', NULL, "exit with 1 when something differs" },
	{ 0 },
};

const struct verb verb_apply = { online_apply_apply, apply_options, 1, WORDS_ANY, "which files?" };
const struct verb verb_diff = { diff, diff_options, 1, WORDS_ANY, "which files?" };
