/* On-call lists: people of whom rules name the list, `oncall:NAME`. All of them are told, or whose
 * turn it is: a day or a week each, in a zone (sched/duty.h). */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "rt/zones.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { PEOPLE_MAX = 50, ZONE_BYTES = 64 };

static const char *const everys[] = { "all", "day", "week", NULL };

/* --- arguments ----------------------------------------------------------------------- */

static int parse_people(const struct order *o, struct refusal *f)
{
	const char *at = "args.people", *hint = "[\"user:ann\", \"mail:bob@example.org\"]";
	const struct jval *list = NULL;
	int r = arg_list(o->args, "args", "people", PEOPLE_MAX, &list, f);

	if (r == 0 && list && !list->first)
		return refuse(f, E_INVALID, at, hint, "%s: nobody stands in it", at);
	for (const struct jval *v = jv_first(list); v && r == 0; v = v->next)
		r = v->kind == JV_TEXT
		            ? rule__recipient(at, v->text, true, f)
		            : refuse(f, E_INVALID, at, hint, "%s: texts are expected, not %s", at,
		                     jv_kind_name(v));
	return r;
}

static int parse_from(const struct order *o, struct refusal *f)
{
	const char *text = NULL, *zone = NULL, *at = "args.start";
	const struct tz *tz;
	struct err err = { 0 };
	struct when w;
	int r = arg_text(o->args, "args", "start", 60, &text, f);

	if (r == 0)
		r = arg_text(o->args, "args", "zone", ZONE_BYTES, &zone, f);
	if (r == 0 && zone && *zone && zones_get(zone, &tz, &err) < 0)
		return refuse(f, E_INVALID, "args.zone", "for example Asia/Shanghai",
		              "args.zone: %s", err.text);
	if (r == 0 && text && *text &&
	    (!when_parse(text, WHEN_NO_NOW, &w) || w.kind != WHEN_LOCAL || w.copy))
		return refuse(f, E_INVALID, at, "for example 2026-03-02 09:00",
		              "%s: the local time of the first handover is expected, found %.60s",
		              at, text);
	return r;
}

int oncall_parse(struct order *o, struct refusal *f)
{
	int every = 0, r = parse_people(o, f);

	if (r == 0)
		r = arg_choice(o->args, "args", "every", everys, &every, f);
	if (r == 0)
		r = parse_from(o, f);
	if (r == 0)
		r = secret__parse_projects(o, f);
	return r < 0 ? r : told__parse_name(o, "oncall", f);
}

/* --- the edit ------------------------------------------------------------------------ */

static const struct jval *oncall_member(const struct cmd *cmd, const struct jval *was,
                                        const char *key)
{
	const struct jval *now = jv_get(cmd->o.args, key);

	return now ? now : jv_get(was, key);
}

static const char *oncall_text(const struct cmd *cmd, const struct jval *was, const char *key)
{
	const struct jval *v = oncall_member(cmd, was, key);

	return jv_is(v, JV_TEXT) ? v->text : "";
}

static void print_people(const struct jval *people, struct buf *out)
{
	put_open(out, "people", '[');
	JV_EACH(v, people)
		put_text(out, NULL, v->text);
	put_close(out, ']');
}

static int print_turns(const struct cmd *cmd, const struct jval *was, struct buf *out,
                       struct refusal *f)
{
	const char *every = oncall_text(cmd, was, "every"), *start = oncall_text(cmd, was, "start");
	const char *zone = oncall_text(cmd, was, "zone");
	bool turns = *every && strcmp(every, "all") != 0;

	if (turns && !*start)
		return refuse(f, E_INVALID, "args.start", "for example 2026-03-02 09:00",
		              "args.start: is missing: when is the first handover?");
	put_text(out, "every", turns ? every : "all");
	if (turns)
		put_text(out, "start", start);
	put_text(out, "zone", *zone ? zone : "UTC");
	return 0;
}

static int oncall_print(const struct cmd *cmd, const struct jval *was, struct buf *out,
                        struct refusal *f)
{
	const struct jval *people = oncall_member(cmd, was, "people");

	if (!people)
		return refuse(f, E_INVALID, "args.people", "for example [\"user:ann\"]",
		              "args.people: is missing");
	put_open(out, NULL, '{');
	print_people(people, out);
	int r = print_turns(cmd, was, out, f);
	secret__print_projects(out, oncall_member(cmd, was, "projects"));
	put_close(out, '}');
	return r;
}

static void oncall_put(struct commander *c, struct cmd *cmd, const char *body)
{
	cmd->edit = mem_new(sizeof *cmd->edit);
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = DOC_ONCALL,
	                                    .name = cmd->o.told,
	                                    .body = body,
	                                    .retired = cmd->kind == CK_ONCALL_REMOVE });
}

static int oncall_remove(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct docs *rules = &c->docs[DOC_RULE];
	char *named = mem_fmt("oncall:%s", cmd->o.told);
	int r = 0;

	for (size_t i = 0; i < rules->n && r == 0; i++)
		if (!rules->items[i].retired &&
		    jv_has(jv_get(doc_json(&rules->items[i]), "to"), named))
			r = refuse(f, E_CONFLICT, "args.oncall", "sirdar rule set --to",
			           "the rule %.64s names this list: change it first",
			           rules->items[i].name);
	free(named);
	if (r == 0)
		oncall_put(c, cmd, "{}");
	return r;
}

int oncall__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *d = docs_find(&c->docs[DOC_ONCALL], cmd->o.told);
	const struct jval *was = d ? doc_json(d) : NULL;
	const char *at = "args.projects";
	struct buf body;

	if (!d && cmd->kind == CK_ONCALL_REMOVE)
		return stored__missing(DOC_ONCALL, cmd->o.told, f);
	int r = d ? channel__within(&cmd->o, "args.oncall", jv_get(was, "projects"), f) : 0;
	r = stored__hidden(c, DOC_ONCALL, cmd, cmd->kind == CK_ONCALL_REMOVE, r, f);
	if (r < 0 || cmd->kind == CK_ONCALL_REMOVE)
		return r < 0 ? r : oncall_remove(c, cmd, f);
	r = channel__within(&cmd->o, at, oncall_member(cmd, was, "projects"), f);
	buf_init(&body);
	if (r == 0)
		r = oncall_print(cmd, was, &body, f);
	if (r == 0)
		oncall_put(c, cmd, buf_str(&body));
	buf_done(&body);
	return r;
}
