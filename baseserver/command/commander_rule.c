/* Rules: who is told of what, beside what the documents of workflows and projects say.
 *
 * * A rule covers a project, a workflow or a task, or everything; or it is of the machines and the
 * server, when its words are of these. It names words of schema/tbl/alert.def, recipients, and
 * after how long. A rule for what happens to tasks of a project may name what is for that project
 * only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/name.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/yaml.h"

enum { WORDS_MAX = 40, TO_MAX = 50, RECIPIENT_BYTES = 400 };
#define AFTER_US_MAX ((int64_t)7 * 86400 * US_PER_S)

/* Words of tasks; of the machines and the server. Tests and nodes are neither. */
static const char *const task_words[] = {
#define ALERT(name, word, severity, lasts, en, zh) word,
#define ALERT_OTHER(...)
#include "tbl/alert.def"
#undef ALERT
	NULL
};
static const char *const other_words[] = {
#define ALERT(name, word, severity, lasts, en, zh)
#define ALERT_OTHER(name, word, severity, lasts, en, zh) word,
#include "tbl/alert.def"
#undef ALERT
	NULL
};
static const char *const no_words[] = { "test", "joined", "left", "changed", NULL };

static const char *const types[] = {
#define CHANNEL(name, text, needs, payload, answer, made) text,
#include "tbl/channel.def"
#undef CHANNEL
	"user", "oncall", NULL
};

static bool is_among(const char *const *words, const char *text, size_t n)
{
	for (size_t i = 0; words[i]; i++)
		if (strlen(words[i]) == n && memcmp(words[i], text, n) == 0)
			return true;
	return false;
}

static bool is_other(const char *word)
{
	return is_among(other_words, word, strlen(word)) && !is_among(no_words, word, strlen(word));
}

/* --- recipients ---------------------------------------------------------------------- */

/* One that the server knows is for the projects of who names it; what it does not know may stand in
 * the notifier's file. */
static int check_known(const struct commander *c, const char *place, const char *text,
                       const char *project, struct refusal *f)
{
	size_t n = strcspn(text, ":");
	bool list = strncmp(text, "oncall:", 7) == 0;
	bool personal = strncmp(text, "mail:", 5) == 0;
	const struct doc *d = docs_find(&c->docs[list ? DOC_ONCALL : DOC_CHANNEL],
	                                personal ? "mail" : text + n + 1);
	const struct jval *projects = d ? jv_get(doc_json(d), "projects") : NULL;

	if (!projects || !jv_is(projects, JV_LIST) || !projects->first || jv_has(projects, "*") ||
	    (project && jv_has(projects, project)))
		return 0;
	return refuse(f, E_FORBIDDEN, place, "args.project",
	              "%s: %.100s is for some projects only, %s%s is not among them", place, text,
	              project ? "" : "all of them", project ? project : "");
}

int rule__recipient(const char *place, const char *text, bool of_list, struct refusal *f)
{
	size_t n = strcspn(text, ":");

	if (strcmp(text, "owner") == 0 && !of_list)
		return 0;
	if (strlen(text) <= RECIPIENT_BYTES && !strpbrk(text, "\r\n") && text[n] && text[n + 1] &&
	    is_among(types, text, n) && !(of_list && strncmp(text, "oncall:", 7) == 0))
		return 0;
	return refuse(f, E_INVALID, place, "for example mail:me@example.org, user:ann, webhook:ops",
	              "%s: '%.80s' is nobody to tell: want mail:ADDRESS, user:NAME, a kind and the "
	              "name of a channel (webhook:ops)%s",
	              place, text, of_list ? "" : ", oncall:LIST or owner");
}

/* --- arguments ----------------------------------------------------------------------- */

static int parse_when(const struct order *o, struct refusal *f)
{
	const struct jval *list = NULL;
	const char *at = "args.when";
	int r = arg_list(o->args, "args", "when", WORDS_MAX, &list, f);

	for (const struct jval *v = jv_first(list); v && r == 0; v = v->next) {
		const char *word = v->kind == JV_TEXT ? v->text : "";
		const char *near = nearest_of(word, task_words);
		if (!is_among(task_words, word, strlen(word)) && !is_other(word))
			r = refuse(f, E_INVALID, at, near ? near : "failed, late, broker_lost ...",
			           "%s: a word of what is told is expected, and '%.40s' is "
			           "none%s%s",
			           at, word, near ? ", is this meant: " : "", near ? near : "");
	}
	return r;
}

static int parse_to(const struct order *o, struct refusal *f)
{
	const struct jval *list = NULL;
	const char *at = "args.to";
	int r = arg_list(o->args, "args", "to", TO_MAX, &list, f);

	for (const struct jval *v = jv_first(list); v && r == 0; v = v->next)
		r = rule__recipient(at, v->kind == JV_TEXT ? v->text : "", false, f);
	return r;
}

/* Is it a path at all? What there is of it says order__parse_covers(). */
static int parse_covers(const struct order *o, const char *key, struct refusal *f)
{
	const char *text = NULL;
	char at[40];
	int r = arg_text(o->args, "args", key, RECIPIENT_BYTES, &text, f);

	snprintf(at, sizeof at, "args.%s", key);
	for (const unsigned char *p = (const unsigned char *)(r == 0 && text ? text : ""); *p; p++)
		if (*p <= 0x20 || *p == 0x7f)
			return refuse(f, E_INVALID, at, "for example retail/daily",
			              "%s: a name is expected, without blanks", at);
	return r;
}

int rule_parse(struct order *o, struct refusal *f)
{
	static const char *const covers[] = { "project", "workflow", "task" };
	const char *after = NULL;
	int64_t us;
	int r = parse_when(o, f);

	if (r == 0)
		r = parse_to(o, f);
	for (size_t i = 0; r == 0 && i < sizeof covers / sizeof covers[0]; i++)
		r = parse_covers(o, covers[i], f);
	if (r == 0)
		r = arg_text(o->args, "args", "after", 40, &after, f);
	if (r == 0 && after && *after &&
	    (!duration_parse_us(after, &us) || us < 0 || us > AFTER_US_MAX))
		return refuse(f, E_INVALID, "args.after", "for example 30m",
		              "args.after: a duration of at most 7 days is expected, such as 30m");
	return r < 0 ? r : told__parse_name(o, "rule", f);
}

int rule_resolve(const struct commander *c, struct order *o, struct refusal *f)
{
	return o->kind == CK_RULE_SET ? order__parse_covers(c, o, f) : 0;
}

/* --- the edit ------------------------------------------------------------------------ */

struct rule_next {
	const struct jval *when, *to;
	const char *covers, *after;
};

static int check_rule(const struct commander *c, const struct rule_next *n, struct refusal *f)
{
	char project[NAME_BYTES_MAX + 1];
	bool of_tasks = false, of_others = false;
	int r = 0;

	if (!jv_first(n->when))
		return refuse(f, E_INVALID, "args.when", "for example [\"failed\", \"late\"]",
		              "args.when: is missing");
	if (!jv_first(n->to))
		return refuse(f, E_INVALID, "args.to", "for example [\"mail:me@example.org\"]",
		              "args.to: is missing");
	for (const struct jval *v = jv_first(n->when); v; v = v->next) {
		of_others = of_others || is_other(v->text);
		of_tasks = of_tasks || !is_other(v->text);
	}
	if (of_others && (*n->covers || *n->after || of_tasks))
		return refuse(
			f, E_INVALID, "args.when", "two rules",
			"args.when: a rule of machines and the server has no project, task or "
			"`after`, and none of what tasks do");
	for (const struct jval *v = jv_first(n->to); v; v = v->next)
		if (of_others && strcmp(v->text, "owner") == 0)
			return refuse(f, E_INVALID, "args.to", "user:NAME",
			              "args.to: machines and the server have no owner");
	snprintf(project, sizeof project, "%.*s", (int)strcspn(n->covers, "/"), n->covers);
	for (const struct jval *v = jv_first(n->to); v && r == 0; v = v->next)
		if (strcmp(v->text, "owner") != 0)
			r = check_known(c, "args.to", v->text, *project ? project : NULL, f);
	return r;
}

static void print_texts(struct buf *out, const char *key, const struct jval *list)
{
	put_open(out, key, '[');
	JV_EACH(v, list)
		put_text(out, NULL, v->text);
	put_close(out, ']');
}

static void rule_put(struct commander *c, struct cmd *cmd, const char *body)
{
	cmd->edit = mem_new(sizeof *cmd->edit);
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = DOC_RULE,
	                                    .name = cmd->o.told,
	                                    .body = body,
	                                    .retired = cmd->kind == CK_RULE_REMOVE });
}

static int may_change(const struct order *o, const char *place, const char *covers,
                      struct refusal *f)
{
	if (!o->within || (*covers && within__covers(o, covers)))
		return 0;
	return within__refuse(o, place, *covers ? covers : "what is for all projects", f);
}

static int rule_set(struct commander *c, struct cmd *cmd, const struct jval *was, struct refusal *f)
{
	const struct jval *args = cmd->o.args;
	struct rule_next n = {
		.when = jv_get(jv_get(args, "when") ? args : was, "when"),
		.to = jv_get(jv_get(args, "to") ? args : was, "to"),
		.covers = cmd->o.covers ? cmd->o.covers : jv_str(was, "covers"),
		.after = jv_get(args, "after") ? jv_str(args, "after") : jv_str(was, "after"),
	};
	struct buf body;
	int r = may_change(&cmd->o, "args.project", n.covers, f);

	if (r == 0)
		r = check_rule(c, &n, f);
	if (r < 0)
		return r;
	buf_init(&body);
	put_open(&body, NULL, '{');
	print_texts(&body, "when", n.when);
	print_texts(&body, "to", n.to);
	put_text(&body, "covers", n.covers);
	put_text(&body, "after", n.after);
	put_close(&body, '}');
	rule_put(c, cmd, buf_str(&body));
	buf_done(&body);
	return 0;
}

int rule__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *d = docs_find(&c->docs[DOC_RULE], cmd->o.told);
	const struct jval *was = d ? doc_json(d) : NULL;
	int r;

	if (!d && cmd->kind == CK_RULE_REMOVE)
		return stored__missing(DOC_RULE, cmd->o.told, f);
	r = d ? may_change(&cmd->o, "args.rule", jv_str(was, "covers"), f) : 0;
	r = stored__hidden(c, DOC_RULE, cmd, cmd->kind == CK_RULE_REMOVE, r, f);
	if (r < 0 || cmd->kind == CK_RULE_SET)
		return r < 0 ? r : rule_set(c, cmd, was, f);
	rule_put(c, cmd, "{}");
	return 0;
}
