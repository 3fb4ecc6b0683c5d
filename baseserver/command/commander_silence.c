/* Silences: for a time nobody is told of some things. What is kept of one is a JSON document; the
 * notifier reads it in the store. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { NAME_MAX_BYTES = 400, REASON_MAX = 500, DAYS_MAX = 366 };

static const char *const words[] = {
#define ALERT(name, word, severity, lasts, en, zh) word,
#include "tbl/alert.def"
#undef ALERT
	NULL
};

/* --- arguments ----------------------------------------------------------------------- */

static size_t slashes(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '/';
	return n;
}

/* A task of that name is there, or one whose name begins with it and a slash. */
static bool is_known(const struct commander *c, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		if (t && strncmp(t->def->name, name, n) == 0 &&
		    (t->def->name[n] == '/' || t->def->name[n] == 0))
			return true;
	}
	return false;
}

/* The narrowest of task, workflow and project is what it covers; the wider ones must agree. */
int order__parse_covers(const struct commander *c, struct order *o, struct refusal *f)
{
	static const struct {
		const char *key, *hint, *list;
		size_t slashes;
	} of[] = { { "task", "retail/daily/load", "sirdar task list", 2 },
		   { "workflow", "retail/daily", "sirdar workflow list", 1 },
		   { "project", "retail", "sirdar workflow list", 0 } };

	for (size_t i = 0; i < 3; i++) {
		const char *name = NULL;
		char at[40];
		int r = arg_text(o->args, "args", of[i].key, NAME_MAX_BYTES, &name, f);
		if (r < 0)
			return r;
		if (!name)
			continue;
		snprintf(at, sizeof at, "args.%s", of[i].key);
		if (slashes(name) != of[i].slashes)
			return refuse(f, E_INVALID, at, of[i].hint, "%s: '%.100s' is no %s's name",
			              at, name, of[i].key);
		if (!is_known(c, name))
			return refuse(f, E_NOT_FOUND, at, of[i].list, "%s: there is no %s '%.100s'",
			              at, of[i].key, name);
		if (o->covers &&
		    (strncmp(o->covers, name, strlen(name)) != 0 || o->covers[strlen(name)] != '/'))
			return refuse(f, E_INVALID, at, NULL, "%s: %.100s is not in %.100s", at,
			              o->covers, name);
		o->covers = o->covers ? o->covers : name;
	}
	return 0;
}

static int parse_word(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "kind", 40, &o->word, f);

	for (size_t i = 0; r == 0 && o->word && words[i]; i++)
		if (strcmp(words[i], o->word) == 0)
			return 0;
	if (r < 0 || !o->word)
		return r;
	const char *near = nearest_of(o->word, words);
	return refuse(f, E_INVALID, "args.kind", near ? near : "failed, late, broker_lost ...",
	              "args.kind: nothing of the kind '%.40s' is ever told%s%s", o->word,
	              near ? ", is this meant: " : "", near ? near : "");
}

static int parse_until(struct order *o, struct refusal *f)
{
	const char *text = NULL, *at = "args.until";
	struct when w;
	int r = arg_text(o->args, "args", "until", 60, &text, f);

	if (r < 0)
		return r;
	if (!text || !when_parse(text, WHEN_NO_NOW, &w) || when_is_local(&w))
		return refuse(f, E_INVALID, at, "for example 2026-03-01T02:30:00Z",
		              "%s: %s%.60s: an instant is expected, in UTC or with an offset", at,
		              text ? "found " : "is missing", text ? text : "");
	o->until_us = w.at * US_PER_S;
	if (when_is_local(&o->from))
		return refuse(f, E_INVALID, "args.from", "for example 2026-03-01T02:30:00Z",
		              "args.from: an instant in UTC or with an offset is expected");
	if (w.at <= o->from.at)
		return refuse(f, E_INVALID, at, NULL, "%s: is not after its beginning", at);
	if (w.at - o->from.at > (int64_t)DAYS_MAX * 86400)
		return refuse(f, E_LIMIT, at, NULL, "%s: a silence of more than %d days", at,
		              DAYS_MAX);
	return 0;
}

int order__parse_silence(const struct commander *c, struct order *o, struct refusal *f)
{
	int r;

	o->note = "";
	if (o->kind == CK_SILENCE_REMOVE) {
		const char *text = NULL;
		r = arg_text(o->args, "args", "silence", 19, &text, f);
		if (r == 0 && (!text || !*text || text[strspn(text, "0123456789")]))
			return refuse(f, E_INVALID, "args.silence", "for example \"12\"",
			              "args.silence: a silence's number in quotes is expected");
		o->silence = r == 0 ? strtoull(text, NULL, 10) : 0;
		return r;
	}
	if ((r = arg_text(o->args, "args", "reason", REASON_MAX, &o->note, f)) < 0 ||
	    (r = order__parse_covers(c, o, f)) < 0 || (r = parse_word(o, f)) < 0 ||
	    (r = parse_until(o, f)) < 0)
		return r;
	if (!o->covers && !o->word)
		return refuse(f, E_INVALID, "args", "project, workflow, task, kind",
		              "args: what nobody is to be told of is missing");
	if (!*o->note)
		return refuse(f, E_INVALID, "args.reason", "for example moving the warehouse",
		              "args.reason: is missing: others must know why they hear nothing");
	return 0;
}

/* --- the edit ------------------------------------------------------------------------ */

static void print_body(const struct cmd *cmd, struct buf *out)
{
	const struct order *o = &cmd->o;

	put_open(out, NULL, '{');
	put_text(out, "covers", o->covers ? o->covers : "");
	put_text(out, "kind", o->word ? o->word : "");
	put_int(out, "from", o->from.at);
	put_int(out, "until", o->until_us / US_PER_S);
	put_text(out, "reason", o->note);
	put_text(out, "by", cmd->actor);
	put_close(out, '}');
}

static void commander_silence_put(struct commander *c, struct cmd *cmd, const char *name,
                                  const char *body)
{
	cmd->edit = mem_new(sizeof *cmd->edit);
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = DOC_SILENCE,
	                                    .name = name,
	                                    .body = body,
	                                    .retired = cmd->kind == CK_SILENCE_REMOVE });
}

static int end_one(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	char name[24];

	snprintf(name, sizeof name, "%" PRIu64, cmd->o.silence);
	const struct doc *s = docs_find(&c->docs[DOC_SILENCE], name);
	if (!s)
		return refuse(f, E_NOT_FOUND, "args.silence", "sirdar silence list",
		              "args.silence: there is no silence %s", name);
	const char *covers = jv_str(doc_json(s), "covers");
	touch__name(cmd, covers);
	if (cmd->o.within && !within__covers(&cmd->o, covers))
		return within__refuse(&cmd->o, "args.silence",
		                      *covers ? covers : "the whole installation", f);
	commander_silence_put(c, cmd, name, "{}");
	return 0;
}

int silence__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	char name[24];
	struct buf body;

	if (cmd->kind == CK_SILENCE_REMOVE)
		return end_one(c, cmd, f);
	snprintf(name, sizeof name, "%" PRIu64, cmd->id);
	if (cmd->resumed && docs_find(&c->docs[DOC_SILENCE], name)) { /* before the restart */
		cmd->edit = mem_new(sizeof *cmd->edit);
		return 0;
	}
	buf_init(&body);
	print_body(cmd, &body);
	commander_silence_put(c, cmd, name, buf_str(&body));
	buf_done(&body);
	return 0;
}
