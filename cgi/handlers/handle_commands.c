/* Commands to the server, and the lists of commands, their items and the audit, which come from
 * the store. Who may give a command is decided here, in three steps: the role that command.def
 * names, the right of the same name for the few kinds that want one, and the projects of the
 * person, which are put into the arguments as `within`. The server judges everything else. A
 * few kinds tell of what this program does itself and have routes of their own: they are
 * refused here. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_commands.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/list.h"
#include "cgi/server/show.h"
#include "cgi/who/auth.h"
#include "cgi/who/people.h"
#include "util/alloc.h"
#include "util/json_in.h"
#include "util/json_put.h"

struct kind {
	const char *name;
	enum role role;
	const char *acts_on; /* "COMMANDS" */
};

/* What the role alone does not allow; an admin has both. */
static const struct {
	const char *kind;
	enum right right;
} rights[] = { { "backfill", RIGHT_BACKFILL }, { "force-success", RIGHT_FORCE_SUCCESS } };

/* Each tells of something that this program does itself, and has a route of its own. */
static const struct {
	const char *kind, *route;
} elsewhere[] = { { "session-begin", "no route: the server itself gives it" },
	          { "session-end", "DELETE /api/v1/sessions" },
	          { "token-end", "DELETE /api/v1/tokens/NAME" },
	          { "sign-ins", "this program itself" },
	          { "preferences-set", "PUT /api/v1/preferences" },
	          { "peer-invite", "POST /api/v1/peers/NAME/invite" },
	          { "peer-key", "no route: the server itself gives it" },
	          { "factor-begin", "POST /api/v1/me/totp" },
	          { "factor-confirm", "POST /api/v1/me/totp/confirm" },
	          { "factor-use", "POST /api/v1/login" },
	          { "factor-remove", "DELETE /api/v1/users/NAME/totp" },
	          { "peer-exposed", "no route: the server itself gives it" } };

/* Each changes what lets somebody in, or with what rights: RF_CREDENTIAL of commands. */
static const char *const credentials[] = { "user-set",      "user-remove",     "group-set",
	                                   "group-remove",  "token-set",       "token-remove",
	                                   "server-set",    "server-remove",   "peer-set",
	                                   "peer-revoke",   "peer-invite",     "peer-approve",
	                                   "project-trust", "project-untrust", "reading-set" };

static const struct kind kinds[] = {
#define COMMAND(NAME, kind, role, acts_on, bulk, text) { kind, ROLE_##role, #acts_on },
#include "tbl/command.def"
#undef COMMAND
};

static const struct kind *kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

static int command_done(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	return reply_json(c, c->ask_dry ? MHD_HTTP_OK : MHD_HTTP_ACCEPTED);
}

/* The caller's request id, else ours: either way it goes back with the answer. */
static int request_id_read(struct call *c, char ret[80])
{
	const char *given = json_text(c->json, "request_id");

	if (json_get(c->json, "request_id") && (!given || strlen(given) < 8 || strlen(given) > 64))
		return call_fail(c, E_INVALID, "request_id", "want a text of 8 to 64 bytes");
	snprintf(ret, 80, "%s", given ? given : c->request_id);
	return 0;
}

static unsigned right_of(const struct kind *kind)
{
	for (size_t i = 0; i < sizeof rights / sizeof rights[0]; i++)
		if (strcmp(rights[i].kind, kind->name) == 0)
			return rights[i].right;
	return 0;
}

static int right_check(struct call *c, const struct kind *kind)
{
	if ((c->rights & right_of(kind)) != right_of(kind)) {
		snprintf(c->hint, sizeof c->hint,
		         "an administrator: sirdar user set %.64s --right %s",
		         c->user[0] != '\0' ? c->user : "NAME", kind->name);
		return call_fail(c, E_FORBIDDEN, "kind", "%s needs the right %s, which %s has not",
		                 kind->name, kind->name, c->actor);
	}
	return 0;
}

/* A person's rights end with his projects: of those the caller names, or all of them. */
static cJSON *within_of(const char *has, const cJSON *asked)
{
	cJSON *mine = cJSON_Parse(has), *both;
	const cJSON *a, *m;

	if (!asked)
		return mine;
	both = cJSON_CreateArray();
	cJSON_ArrayForEach(a, asked)
		cJSON_ArrayForEach(m, mine) {
			if (cJSON_IsString(a) && cJSON_IsString(m) &&
			    strcmp(a->valuestring, m->valuestring) == 0)
				cJSON_AddItemToArray(both, cJSON_Duplicate(a, true));
		}
	cJSON_Delete(mine);
	return both;
}

/* `has` NULL: in all of them. */
static void put_within(cJSON *all, const char *key, const char *has)
{
	cJSON *within = has ? within_of(has, json_get(all, key)) : NULL;

	if (!within)
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(all, key);
	cJSON_AddItemToObject(all, key, within);
}

/* Commands of his own anybody may end who may give some; others' are an operator's of all projects,
 * and whom the server is told projects for steers his own alone. */
static enum role within_role(const struct kind *kind)
{
	return strcmp(kind->acts_on, "COMMANDS") == 0 ? ROLE_OPERATOR : kind->role;
}

static char *args_text(struct call *c, const struct kind *kind, const cJSON *args)
{
	bool saves = json_get(args, "documents") || json_get(args, "document");
	/* Who has that role nowhere is told so by the server, which judges the priority itself. */
	enum role of_priority = json_get(args, "priority") ? kind_find("priority")->role
	                                                   : ROLE_NONE;
	bool lifts = of_priority > kind->role && c->role >= of_priority;
	char *has = auth_within(c, lifts ? of_priority : within_role(kind), right_of(kind)), *text;
	char *unsafe = saves ? auth_within(c, kind->role, RIGHT_UNSAFE) : NULL;
	char *quota = saves ? auth_within(c, kind_find("quota-set")->role, 0) : NULL;
	cJSON *all = args ? cJSON_Duplicate(args, true) : cJSON_CreateObject();

	put_within(all, "within", has);
	put_within(all, "unsafe_within", unsafe);
	put_within(all, "quota_within", quota);
	text = cJSON_PrintUnformatted(all);
	cJSON_Delete(all);
	free(quota);
	free(unsafe);
	free(has);
	return text;
}

char *command_args(struct call *c, const char *kind, const cJSON *args)
{
	return args_text(c, kind_find(kind), args);
}

static int command_may(struct call *c, const struct kind *kind)
{
	if (c->role < kind->role)
		return call_fail(c, E_FORBIDDEN, "kind", "%s needs the role %s, %s has %s",
		                 kind->name, role_name(kind->role), c->actor, role_name(c->role));
	return right_check(c, kind);
}

static int kind_check(struct call *c, const struct kind *kind)
{
	if (command_may(c, kind) < 0)
		return c->err.code;
	for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
		if (strcmp(elsewhere[i].kind, kind->name) == 0)
			return call_fail(c, E_INVALID, "kind", "%s is asked for by %s", kind->name,
			                 elsewhere[i].route);
	for (size_t i = 0; i < sizeof credentials / sizeof credentials[0]; i++)
		if (strcmp(credentials[i], kind->name) == 0)
			return auth_credential(c);
	return 0;
}

static int command_send(struct call *c, const struct kind *kind, const cJSON *args, bool dry)
{
	char request_id[80], *text;
	int r;

	if (kind_check(c, kind) < 0 || request_id_read(c, request_id) < 0)
		return c->err.code;
	text = args_text(c, kind, args);
	c->then = command_done;
	r = call_command(c, kind->name, text, dry, request_id);
	free(text);
	return r;
}

int command_ask(struct call *c, const char *kind, const cJSON *args)
{
	char *text;
	int r;

	if (command_may(c, kind_find(kind)) < 0)
		return c->err.code;
	text = args_text(c, kind_find(kind), args);
	r = call_command(c, kind, text, false, c->request_id);
	free(text);
	return r;
}

int commands_post(struct call *c)
{
	const char *name = json_text(c->json, "kind");
	static const char *const keys[] = { "kind", "args", "dry_run", "request_id", NULL };
	const cJSON *args = json_get(c->json, "args");
	const struct kind *kind;
	bool dry = false;

	if (call_members_only(c, keys) < 0 || call_truth_member(c, "dry_run", &dry) < 0)
		return c->err.code;
	if (!name)
		return call_fail(c, E_INVALID, "kind", "'kind' wants a text");
	if (args && !cJSON_IsObject(args))
		return call_fail(c, E_INVALID, "args", "'args' wants an object");
	kind = kind_find(name);
	if (!kind)
		return call_fail(
			c, E_INVALID, "kind",
			"there is no command '%.40s'; want one such as apply, redo or backfill",
			name);
	return command_send(c, kind, args, dry);
}

/* If-Match is the version that the one document must be at. */
static int if_match(struct call *c)
{
	const char *match = call_header(c, "If-Match");
	cJSON *documents = cJSON_GetObjectItemCaseSensitive(c->json, "documents");
	char *end;
	long version;

	if (!match)
		return 0;
	version = match[0] == '"' ? strtol(match + 1, &end, 10) : -1;
	if (version < 0 || strcmp(end, "\"") != 0)
		return call_fail(c, E_INVALID, "If-Match",
		                 "want a version in quotes, as ETag has it");
	if (cJSON_GetArraySize(documents) != 1 || !cJSON_IsObject(documents->child))
		return call_fail(c, E_INVALID, "If-Match", "If-Match goes with one document");
	cJSON_DeleteItemFromObjectCaseSensitive(documents->child, "version");
	cJSON_AddNumberToObject(documents->child, "version", (double)version);
	return 0;
}

static int matched_done(struct call *c)
{
	if (c->err.code == E_CONFLICT)
		c->error_status = MHD_HTTP_PRECONDITION_FAILED;
	return command_done(c);
}

/* POST /workflows is the command `apply`, its args beside dry_run and request_id. */
int workflows_post(struct call *c)
{
	cJSON *args = cJSON_CreateObject(), *m = c->json->child, *next;
	bool dry = false;
	int r = call_truth_member(c, "dry_run", &dry);

	if (r == 0)
		r = if_match(c);
	if (r < 0) {
		cJSON_Delete(args);
		return r;
	}
	for (; m; m = next) {
		next = m->next;
		if (strcmp(m->string, "dry_run") == 0 || strcmp(m->string, "request_id") == 0)
			continue;
		cJSON_AddItemReferenceToObject(args, m->string, m);
	}
	r = command_send(c, kind_find("apply"), args, dry);
	if (r == 0 && call_header(c, "If-Match"))
		c->then = matched_done;
	cJSON_Delete(args);
	return r;
}

/* --- lists --------------------------------------------------------------------------------- */

struct query {
	struct list list;
	bool open;
	uint64_t id, since;
};

/* What machines were given is for administrators; the ids of these commands tell it, too. */
static bool is_shown(const struct call *c, const struct store_command *s)
{
	return c->role == ROLE_ADMIN || strcmp(s->kind, "peer-exposed") != 0;
}

/* Enough for a sentence about it; documents are not sent with a list. */
enum { ARGS_LISTED = 2000 };

static int command_put(void *ctx, const struct store_command *s)
{
	struct call *c = ctx;

	if (is_shown(c, s))
		show_command(&c->out, s, strlen(s->args) <= ARGS_LISTED);
	return 0;
}

static int commands_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code;

	list_begin(c);
	code = read_commands(r, q->open, &q->list.page, command_put, c, &c->err);
	list_end(c, &q->list);
	return code;
}

int commands_get(struct call *c)
{
	static const char *const names[] = { "limit", "cursor", "order", "open", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 || list_args(c, &q->list, 50) < 0 ||
	    call_arg_bool(c, "open", &q->open) < 0)
		return c->err.code;
	if (!call_arg(c, "order"))
		q->list.page.descending = true;
	return call_read(c, commands_work);
}

/* --- the audit --- */

static int action_put(void *ctx, const struct read_action *a)
{
	show_action(&((struct call *)ctx)->out, a);
	return 0;
}

static int audit_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code;

	list_begin(c);
	code = read_actions(
		r, &(struct read_actions_by){ call_arg(c, "actor"), call_arg(c, "action") },
		&q->list.page, action_put, c, &c->err);
	list_end(c, &q->list);
	return code;
}

int audit_get(struct call *c)
{
	static const char *const names[] = { "limit", "cursor", "order", "actor", "action", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 || list_args(c, &q->list, 100) < 0)
		return c->err.code;
	if (!call_arg(c, "order"))
		q->list.page.descending = true;
	return call_read(c, audit_work);
}

/* --- one command --- */

static int id_param(struct call *c)
{
	struct query *q = c->extra = mem_new(sizeof *q);
	const char *p = c->params[0];
	size_t n = strspn(p, "0123456789");

	if (n == 0 || n > 18 || p[n] != '\0')
		return call_fail(c, E_INVALID, "id", "want a command's number");
	q->id = strtoull(p, NULL, 10);
	return 0;
}

static int command_whole(void *ctx, const struct store_command *s)
{
	struct call *c = ctx;

	if (!is_shown(c, s))
		return call_fail(c, E_FORBIDDEN, "id",
		                 "what a peer was given is shown to administrators");
	show_command(&c->out, s, true);
	return 0;
}

static int command_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;

	return read_command(r, NULL, q->id, command_whole, c, &c->err);
}

int command_get(struct call *c)
{
	static const char *const names[] = { NULL };

	if (call_args_only(c, names) < 0 || id_param(c) < 0)
		return c->err.code;
	return call_read(c, command_work);
}

static int item_put(void *ctx, const struct store_command_item *i)
{
	struct call *c = ctx;

	show_item(&c->out, c->cgi->names, i);
	return 0;
}

static int items_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code;

	list_begin(c);
	code = read_command_items(r, &(struct read_items_of){ q->id, q->open }, &q->list.page,
	                          item_put, c, &c->err);
	list_end(c, &q->list);
	return code;
}

int command_items_get(struct call *c)
{
	static const char *const names[] = { "limit", "cursor", "failed", NULL };
	struct query *q;

	if (call_args_only(c, names) < 0 || id_param(c) < 0)
		return c->err.code;
	q = c->extra;
	if (list_args(c, &q->list, 100) < 0 || call_arg_bool(c, "failed", &q->open) < 0)
		return c->err.code;
	c->names = true;
	return call_read(c, items_work);
}

/* --- the instances of one command --- */

enum { ENDED_MAX = 20, UNFINISHED_MAX = 500, TASKS_MAX = 1000 };

struct members {
	struct call *c;
	struct buf unfinished, ended;
	size_t n_unfinished;
	uint32_t tasks[TASKS_MAX];
	size_t n_tasks;
	bool many; /* more tasks than that */
};

static void task_note(struct members *m, uint32_t task)
{
	for (size_t i = m->n_tasks; i > 0; i--)
		if (m->tasks[i - 1] == task)
			return;
	if (m->n_tasks < TASKS_MAX)
		m->tasks[m->n_tasks++] = task;
	else
		m->many = true;
}

static int member_put(void *ctx, const struct instance *i)
{
	struct members *m = ctx;

	if (state_final((enum state)i->state)) {
		show_instance(&m->ended, m->c->cgi->names, i);
		return 0;
	}
	task_note(m, i->key.task);
	if (m->n_unfinished++ < UNFINISHED_MAX)
		show_instance(&m->unfinished, m->c->cgi->names, i);
	return 0;
}

static void members_show(struct members *m, const struct read_of_command *of)
{
	struct buf *out = &m->c->out;

	out->len--; /* inside the command's object */
	put_open(out, "instances", '{');
	put_id(out, "number", of->number);
	put_int(out, "total", (int64_t)of->total);
	put_int(out, "joined", (int64_t)of->joined);
	put_open(out, "states", '{');
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		if (of->states[st])
			put_int(out, state_name((enum state)st), (int64_t)of->states[st]);
	put_close(out, '}');
	put_open(out, "tasks", '[');
	for (size_t i = 0; i < m->n_tasks && !m->many; i++)
		put_int(out, NULL, m->tasks[i]);
	put_close(out, ']');
	put_bool(out, "more_tasks", m->many);
	put_open(out, "unfinished", '[');
	buf_puts(out, buf_str(&m->unfinished));
	put_close(out, ']');
	put_open(out, "ended", '[');
	buf_puts(out, buf_str(&m->ended));
	put_close(out, ']');
	put_close(out, '}');
	put_close(out, '}');
}

static int members_work(struct call *c, struct reader *r)
{
	const struct query *q = c->extra;
	struct read_command_of of = { .command = q->id,
		                      .since = q->since,
		                      .ended_max = q->since ? READ_ENDED_MAX : ENDED_MAX };
	struct members *m = mem_new(sizeof *m);
	struct read_of_command ret;

	m->c = c;
	buf_init(&m->unfinished);
	buf_init(&m->ended);
	/* First: of one that is over all items are there. */
	int code = read_command(r, NULL, of.command, command_whole, c, &c->err);
	if (code == 0)
		code = read_command_instances(r, &of, &ret, member_put, m, &c->err);
	if (code == 0)
		members_show(m, &ret);
	buf_done(&m->unfinished);
	buf_done(&m->ended);
	free(m);
	return code;
}

int command_instances_get(struct call *c)
{
	static const char *const names[] = { "since", NULL };
	int64_t since;

	if (call_args_only(c, names) < 0 || call_arg_int(c, "since", 0, 0, INT64_MAX, &since) < 0 ||
	    id_param(c) < 0)
		return c->err.code;
	((struct query *)c->extra)->since = (uint64_t)since;
	c->names = true;
	return call_read(c, members_work);
}
