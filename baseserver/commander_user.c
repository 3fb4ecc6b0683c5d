/* People: set, removed. What is kept of one is a JSON document; the password only as the hash that
 * the HTTP face made, and that only there: neither the command's record nor the audit has it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/commander_impl.h"
#include "baseserver/json_read.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"

enum { NAME_MAX_BYTES = 63, TEXT_MAX_BYTES = 200, SECRET_MAX_BYTES = 127, LIST_MAX = 100 };

/* What a person has, and whether a change of it ends sessions (`since` grows). */
static const struct {
	const char *key;
	enum { AS_TEXT, AS_LIST, AS_TRUTH, AS_SECRET, AS_ROLE } as;
	bool ends_sessions;
} members[] = {
	{ "role", AS_ROLE, true },      { "projects", AS_LIST, true },
	{ "rights", AS_LIST, true },    { "mail", AS_TEXT, false },
	{ "phone", AS_TEXT, false },    { "full_name", AS_TEXT, false },
	{ "disabled", AS_TRUTH, true }, { "secret", AS_SECRET, true },
};
enum { N_MEMBERS = sizeof members / sizeof members[0] };

/* --- arguments ----------------------------------------------------------------------- */

static bool name_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-");

	return n && n <= NAME_MAX_BYTES && !s[n] && s[0] != '.' && s[0] != '-';
}

static int parse_lists(const struct order *o, struct refusal *f)
{
	const struct jval *projects = NULL, *rights = NULL;
	int r = arg_list(o->args, "args", "projects", LIST_MAX, &projects, f);

	for (const struct jval *v = projects ? projects->first : NULL; v && r == 0; v = v->next)
		if (v->kind != JV_TEXT || (strcmp(v->text, "*") != 0 && !workflow_name_ok(v->text)))
			r = refuse(f, E_INVALID, "args.projects",
			           "[\"retail\"], or [\"*\"] for all",
			           "args.projects: a project's name is expected, not %s",
			           v->kind == JV_TEXT ? v->text : jv_kind_name(v));
	if (r == 0)
		r = arg_list(o->args, "args", "rights", LIST_MAX, &rights, f);
	for (const struct jval *v = rights ? rights->first : NULL; v && r == 0; v = v->next)
		if (v->kind != JV_TEXT ||
		    (strcmp(v->text, "backfill") != 0 && strcmp(v->text, "force-success") != 0))
			r = refuse(f, E_INVALID, "args.rights", "backfill, force-success",
			           "args.rights: a right is expected, not %.60s",
			           v->kind == JV_TEXT ? v->text : jv_kind_name(v));
	return r;
}

/* Goes into mails and tables: one line. */
static int parse_line(const struct order *o, const char *key, struct refusal *f)
{
	const char *text = NULL;
	char at[40];

	if (arg_text(o->args, "args", key, TEXT_MAX_BYTES, &text, f) < 0)
		return f->code;
	snprintf(at, sizeof at, "args.%s", key);
	for (const char *p = text ? text : ""; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return refuse(f, E_INVALID, at, NULL,
			              "%s: a line without control characters is expected", at);
	return 0;
}

static int parse_member(const struct order *o, size_t i, struct refusal *f)
{
	static const char *const roles[] = { "viewer", "developer", "operator", "admin", NULL };
	const char *text = NULL;
	bool truth;
	int choice;

	switch (members[i].as) {
	case AS_ROLE:
		return arg_choice(o->args, "args", members[i].key, roles, &choice, f);
	case AS_TEXT:
		return parse_line(o, members[i].key, f);
	case AS_TRUTH:
		return arg_truth(o->args, "args", members[i].key, &truth, f);
	case AS_SECRET:
		if (arg_text(o->args, "args", "secret", SECRET_MAX_BYTES, &text, f) < 0)
			return f->code;
		if (text && strncmp(text, "$argon2id$", 10) != 0)
			return refuse(f, E_INVALID, "args.secret", "set the password again",
			              "args.secret: %s",
			              strcmp(text, ARGS_KEPT_OUT) == 0
			                      ? "the password is not kept with a command"
			                      : "an argon2id hash is expected");
		return 0;
	default:
		return 0; /* lists: parse_lists() */
	}
}

int order_parse_user(struct order *o, struct refusal *f)
{
	int r = 0;

	for (size_t i = 0; i < N_MEMBERS && r == 0; i++)
		r = parse_member(o, i, f);
	if (r == 0)
		r = parse_lists(o, f);
	if (r == 0)
		r = arg_text(o->args, "args", "user", NAME_MAX_BYTES, &o->user, f);
	if (r < 0)
		return r;
	if (!o->user || !name_ok(o->user))
		return refuse(f, E_INVALID, "args.user", "letters, digits, . _ @ -",
		              "args.user: %s%.64s%s", o->user ? "'" : "",
		              o->user ? o->user : "is missing",
		              o->user ? "' is no user's name" : "");
	if (strcmp(o->user, "admin") == 0)
		return refuse(f, E_CONFLICT, "args.user", "sirdar passwd",
		              "args.user: admin is the cgi's own, with a password of its own");
	return 0;
}

static void print_value(struct buf *out, const char *key, const struct jval *v, bool secret)
{
	switch (v->kind) {
	case JV_TEXT:
		put_text(out, key, secret ? ARGS_KEPT_OUT : v->text);
		break;
	case JV_TRUTH:
		put_bool(out, key, v->truth);
		break;
	case JV_NUMBER:
		put_int(out, key, v->number);
		break;
	case JV_LIST:
		put_open(out, key, '[');
		for (const struct jval *i = v->first; i; i = i->next)
			print_value(out, NULL, i, false);
		put_close(out, ']');
		break;
	case JV_OBJECT:
		put_open(out, key, '{');
		for (const struct jval *i = v->first; i; i = i->next)
			print_value(out, i->key, i, false);
		put_close(out, '}');
		break;
	default:
		put_null(out, key);
	}
}

bool args_hide(enum command_kind kind)
{
	return kind == CK_USER_SET || kind == CK_SERVER_SET;
}

char *args_shown(const struct order *o)
{
	const char *hidden = o->kind == CK_USER_SET ? "secret" : "password";
	struct buf out;
	char *text;

	buf_init(&out);
	put_open(&out, NULL, '{');
	for (const struct jval *v = o->args->first; v; v = v->next)
		print_value(&out, v->key, v, strcmp(v->key, hidden) == 0);
	put_close(&out, '}');
	text = mem_str(buf_str(&out));
	buf_done(&out);
	return text;
}

/* --- what is known ------------------------------------------------------------------- */

static struct known_user *find(const struct commander *c, const char *name)
{
	for (size_t i = 0; i < c->n_users; i++)
		if (strcmp(c->users[i].name, name) == 0)
			return &c->users[i];
	return NULL;
}

void user_learn(struct commander *c, const struct store_doc *d)
{
	struct known_user *u = find(c, d->name);

	if (!u) {
		c->users = mem_grow(c->users, c->n_users + 1, sizeof *c->users);
		u = &c->users[c->n_users++];
		*u = (struct known_user){ .name = mem_str(d->name) };
	}
	free(u->body);
	u->body = mem_strn(d->body, d->body_len);
	u->id = d->id;
	u->version = d->version;
	u->retired = d->retired;
	if (d->id > c->last_user)
		c->last_user = d->id;
}

void users_forget(struct commander *c)
{
	for (size_t i = 0; i < c->n_users; i++) {
		free(c->users[i].name);
		free(c->users[i].body);
	}
	free(c->users);
}

/* --- the edit ------------------------------------------------------------------------ */

static bool list_same(const struct jval *a, const struct jval *b)
{
	a = a->first;
	b = b->first;
	while (a && b && strcmp(a->text, b->text) == 0) {
		a = a->next;
		b = b->next;
	}
	return !a && !b;
}

static bool value_same(const struct jval *a, const struct jval *b)
{
	if (!a || !b || a->kind != b->kind)
		return a == b;
	return a->kind == JV_TEXT    ? strcmp(a->text, b->text) == 0
	       : a->kind == JV_TRUTH ? a->truth == b->truth
	                             : list_same(a, b);
}

/* What is not said stays. ret_differs: anything did change. */
static void print_body(const struct jval *args, const struct jval *was, struct buf *out,
                       bool *ret_differs)
{
	const struct jval *since = was ? jv_get(was, "since") : NULL;
	int64_t n = since ? since->number : 0;
	bool ends = false;

	*ret_differs = false;
	put_open(out, NULL, '{');
	for (size_t i = 0; i < N_MEMBERS; i++) {
		const struct jval *now = jv_get(args, members[i].key);
		const struct jval *old = was ? jv_get(was, members[i].key) : NULL;
		const struct jval *v = now ? now : old;
		if (v)
			print_value(out, members[i].key, v, false);
		if (now && !value_same(now, old)) {
			*ret_differs = true;
			ends = ends || members[i].ends_sessions;
		}
	}
	put_int(out, "since", n + ends);
	put_close(out, '}');
}

static void add_doc(struct commander *c, const struct cmd *cmd, const struct known_user *was,
                    const char *body, struct edit *e)
{
	e->docs = mem_grow(e->docs, e->n_docs + 1, sizeof *e->docs);
	e->docs[e->n_docs++] = (struct store_doc){ .kind = DOC_USER,
		                                   .id = was ? was->id : ++c->last_user,
		                                   .version = was ? was->version + 1 : 1,
		                                   .retired = cmd->kind == CK_USER_REMOVE,
		                                   .name = mem_str(cmd->o.user),
		                                   .body = mem_str(body),
		                                   .body_len = strlen(body),
		                                   .actor = mem_str(cmd->actor),
		                                   .at_us = cmd->o.now_us };
}

static int64_t since_of(const struct known_user *u)
{
	struct jdoc *doc = NULL;
	int64_t since = 0;

	if (jdoc_parse(u->body, strlen(u->body), &doc, NULL) < 0)
		return 0;
	const struct jval *v = jv_get(jdoc_root(doc), "since");
	if (v && v->kind == JV_NUMBER)
		since = v->number;
	jdoc_free(doc);
	return since;
}

static int check_new(const struct jval *args, struct refusal *f)
{
	if (!jv_get(args, "role"))
		return refuse(f, E_INVALID, "args.role", "viewer, developer, operator, admin",
		              "args.role: a new user needs one");
	return 0;
}

int user_begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct known_user *was = find(c, cmd->o.user);
	bool is = was && !was->retired, differs;
	struct jdoc *doc = NULL;
	struct buf body;

	if (cmd->kind == CK_USER_REMOVE && !is)
		return refuse(f, E_NOT_FOUND, "args.user", "sirdar user list",
		              "args.user: there is no user '%.64s'", cmd->o.user);
	if (cmd->kind == CK_USER_SET && !is && check_new(cmd->o.args, f) < 0)
		return f->code;
	cmd->edit = mem_new(sizeof *cmd->edit);
	if (cmd->kind == CK_USER_REMOVE) {
		char *gone = mem_fmt("{\"since\":%lld}", (long long)since_of(was) + 1);
		add_doc(c, cmd, was, gone, cmd->edit); /* nothing is kept; `since` goes on */
		free(gone);
		return 0;
	}
	if (was && jdoc_parse(was->body, strlen(was->body), &doc, NULL) < 0)
		doc = NULL;
	buf_init(&body);
	print_body(cmd->o.args, doc ? jdoc_root(doc) : NULL, &body, &differs);
	if (differs || !is)
		add_doc(c, cmd, was, buf_str(&body), cmd->edit);
	buf_done(&body);
	jdoc_free(doc);
	return 0;
}
