/* Tokens of people and keys of apps. The server keeps what they may do, and a hash; so that
 * every cgi knows them, and none of them when they are removed. Those of this machine alone:
 * auth_token.c. */
#include "cgi/handlers/handle_tokens.h"

#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/handle_users.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/people.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/log.h"

#define TOKEN_DAYS_MAX 3650
#define DAY_S          86400

static const char *const no_args[] = { NULL };

/* --- list --- */

static int list_work(struct call *c, struct reader *r, bool apps)
{
	bool all = apps || c->role == ROLE_ADMIN;
	int code = people_refresh(c->cgi->people, r, &c->err);

	put_open(&c->out, NULL, '{');
	put_open(&c->out, apps ? "apps" : "tokens", '[');
	people_tokens_put(c->cgi->people, all ? NULL : c->user, apps, &c->out);
	if (all)
		auth_tokens_put(c->cgi->auth, apps, &c->out);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	/* Those of this machine are told without a store, too. */
	if (all && (code == E_AGAIN || code == E_IO)) {
		c->err = (struct err){ 0 };
		code = 0;
	}
	return code;
}

static int tokens_work(struct call *c, struct reader *r)
{
	return list_work(c, r, false);
}

static int apps_work(struct call *c, struct reader *r)
{
	return list_work(c, r, true);
}

int tokens_get(struct call *c)
{
	return call_args_only(c, no_args) < 0 ? c->err.code : call_read(c, tokens_work);
}

int apps_get(struct call *c)
{
	return call_args_only(c, no_args) < 0 ? c->err.code : call_read(c, apps_work);
}

/* --- made --- */

int token_members(struct call *c, struct token_new *t, bool name_required)
{
	const cJSON *days = json_get(c->json, "days");
	const char *name = json_text(c->json, "name"), *role = json_text(c->json, "role");

	t->days = json_int(c->json, "days", 0);
	if (days && (!cJSON_IsNumber(days) || t->days < 0 || t->days > TOKEN_DAYS_MAX))
		return call_fail(c, E_INVALID, "days", "'days' wants a number, 0 to %d",
		                 TOKEN_DAYS_MAX);
	if (!name && (name_required || json_get(c->json, "name")))
		return call_fail(c, E_INVALID, "name", "'name' wants a text");
	if (name && strlen(name) >= sizeof t->name)
		return call_fail(c, E_INVALID, "name", "'name' has %zu bytes, want at most %zu",
		                 strlen(name), sizeof t->name - 1);
	snprintf(t->name, sizeof t->name, "%s", name ? name : "");
	if (json_get(c->json, "role") && (!role || !role_from_name(role, &t->role)))
		return call_fail(c, E_INVALID, "role", "want viewer, developer, operator or admin");
	return 0;
}

static void add_list(cJSON *args, const char *key, char **json)
{
	cJSON *list = *json ? cJSON_Parse(*json) : NULL;

	if (list)
		cJSON_AddItemToObject(args, key, list);
	free(*json);
	*json = NULL;
}

/* The administrator gets in while no server answers: then it is one of this machine alone. */
static int local_make_work(struct call *c, struct reader *r)
{
	struct token_new *t = c->extra;
	int code = auth_token_make(c->cgi->param.state_dir,
	                           &(struct token_made){ t->name, t->role, t->days * DAY_S,
	                                                 t->is_app ? TOKEN_APP : TOKEN_BY_LOGIN },
	                           t->token, &c->err);

	(void)r;
	return code == 0 ? auth_tokens_load(c->cgi->auth, &c->err) : code;
}

static int tokens_kept(struct call *c)
{
	struct token_new *t = c->extra;
	bool away = c->err.code == E_AGAIN && t->owner[0] == '\0' && !t->as_app;

	if (c->err.code < 0 && !away)
		return c->err.code;
	c->err = (struct err){ 0 };
	c->then = c->after;
	return away ? call_hash(c, local_make_work) : call_read(c, people_work);
}

int token_keep(struct call *c, struct token_new *t, int (*then)(struct call *c))
{
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	cJSON *args = cJSON_CreateObject();
	char hex[AUTH_HEX_MAX];
	int r;

	auth_token_new(t->is_app, t->token, hex);
	cJSON_AddStringToObject(args, "token", t->name);
	if (t->owner[0] != '\0') {
		cJSON_AddStringToObject(args, "owner", t->owner);
		cJSON_AddNumberToObject(args, "since", (double)t->since);
	}
	cJSON_AddStringToObject(args, "role", role_name(t->role));
	cJSON_AddBoolToObject(args, "app", t->is_app);
	cJSON_AddStringToObject(args, "hash", hex);
	cJSON_AddNumberToObject(args, "created", (double)now);
	if (t->days != 0)
		cJSON_AddNumberToObject(args, "expires", (double)(now + t->days * DAY_S));
	add_list(args, "projects", &t->projects);
	add_list(args, "rights", &t->rights);
	c->then = tokens_kept;
	c->after = then;
	r = doc_command(c, "token-set", args);
	cJSON_Delete(args);
	return r;
}

static int token_told(struct call *c)
{
	struct token_new *t = c->extra;

	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "name", t->name);
	put_text(&c->out, "role", role_name(t->role));
	put_bool(&c->out, "app", t->is_app);
	put_text(&c->out, t->as_app ? "key" : "token", t->token);
	put_close(&c->out, '}');
	sodium_memzero(t->token, sizeof t->token);
	return reply_json(c, MHD_HTTP_CREATED);
}

static char *rights_text(unsigned rights)
{
	struct buf b;
	char *text;

	buf_init(&b);
	put_open(&b, NULL, '{');
	put_rights(&b, "rights", rights);
	put_close(&b, '}');
	cJSON *root = cJSON_Parse(buf_str(&b));
	text = cJSON_PrintUnformatted(json_get(root, "rights"));
	cJSON_Delete(root);
	buf_done(&b);
	return text;
}

/* What the caller says, and that he has it: a token is never more than who makes it. */
static int scope_take(struct call *c, struct token_new *t)
{
	const cJSON *projects = json_get(c->json, "projects"), *list = json_get(c->json, "rights");
	char *has = auth_within(c, ROLE_VIEWER, 0);
	cJSON *mine = has ? cJSON_Parse(has) : NULL;
	const cJSON *v, *m;
	unsigned rights = 0;
	int r = 0;

	cJSON_ArrayForEach(v, projects) {
		bool found = !mine;

		cJSON_ArrayForEach(m, mine)
			found = found ||
			        (cJSON_IsString(v) && strcmp(v->valuestring, m->valuestring) == 0);
		if (!found)
			r = call_fail(c, E_FORBIDDEN, "projects", "%s may change %s, not %.80s",
			              c->actor, has, cJSON_IsString(v) ? v->valuestring : "?");
	}
	cJSON_ArrayForEach(v, list)
		for (unsigned b = RIGHT_BACKFILL; b <= RIGHT_LAST; b <<= 1)
			if (cJSON_IsString(v) && strcmp(v->valuestring, right_name(b)) == 0)
				rights |= b;
	if (r == 0 && (rights & ~c->rights))
		r = call_fail(c, E_FORBIDDEN, "rights", "%s has not this right", c->actor);
	if (projects)
		t->projects = cJSON_PrintUnformatted(projects);
	if (list)
		t->rights = cJSON_PrintUnformatted(list);
	else if (t->owner[0] == '\0')
		t->rights = rights_text(t->role >= ROLE_OPERATOR ? c->rights : 0);
	cJSON_Delete(mine);
	free(has);
	return r;
}

static int token_make(struct call *c, struct token_new *t)
{
	if (t->role == ROLE_NONE)
		t->role = c->role;
	if (t->role > c->role)
		return call_fail(c, E_FORBIDDEN, "role", "%s has the role %s, not %s", c->actor,
		                 role_name(c->role), role_name(t->role));
	if (scope_take(c, t) < 0) {
		free(t->projects);
		free(t->rights);
		return c->err.code;
	}
	return token_keep(c, t, token_told);
}

int tokens_post(struct call *c)
{
	static const char *const keys[] = { "name",     "role",   "days", "app",
		                            "projects", "rights", NULL };
	struct token_new *t = c->extra = mem_new(sizeof *t);

	if (call_members_only(c, keys) < 0 || token_members(c, t, true) < 0 ||
	    call_truth_member(c, "app", &t->is_app) < 0)
		return c->err.code;
	if (c->user[0] == '\0' && c->role < ROLE_ADMIN)
		return call_fail(c, E_FORBIDDEN, "", "%s is a token, not a person", c->actor);
	if (!auth_is_own(c->cgi, c->user))
		snprintf(t->owner, sizeof t->owner, "%s", c->user);
	t->since = c->person ? c->person->since : 0;
	return token_make(c, t);
}

/* An app is nobody's: it goes on when who made it leaves. */
int apps_post(struct call *c)
{
	static const char *const keys[] = { "name", "role", "days", "projects", "rights", NULL };
	struct token_new *t = c->extra = mem_new(sizeof *t);

	if (call_members_only(c, keys) < 0 || token_members(c, t, true) < 0)
		return c->err.code;
	if (t->role == ROLE_NONE)
		return call_fail(c, E_INVALID, "role", "want viewer, developer, operator or admin");
	t->is_app = t->as_app = true;
	return token_make(c, t);
}

/* --- ended --- */

/* --- admin's, when his password is another --- */

static int admins_next(struct call *c);

static int admins_failed(struct call *c)
{
	struct err why = c->err;

	c->err = (struct err){ 0 };
	snprintf(c->hint, sizeof c->hint, "set a password once more when the server answers");
	return call_fail(c, why.code, "tokens",
	                 "the password is changed, but tokens that admin made go on: %.150s",
	                 why.text);
}

static int admins_removed(struct call *c)
{
	if (c->err.code < 0)
		return admins_failed(c);
	c->then = admins_next;
	return call_read(c, people_work);
}

/* One after the other: each is a command, and each has a request of its own. */
static int admins_next(struct call *c)
{
	char name[USER_NAME_MAX], mark[17], request[sizeof c->request_id + sizeof mark + 1], *text;
	bool any = people_token_of_admin(c->cgi->people, name, mark);
	cJSON *args;
	int r;

	/* E_AGAIN: there is no store yet, and nothing in it. */
	if (c->err.code < 0 && (any || c->err.code != E_AGAIN))
		return admins_failed(c);
	c->err = (struct err){ 0 };
	buf_clear(&c->out);
	c->then = NULL;
	if (!any)
		return c->after(c);
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "token", name);
	text = cJSON_PrintUnformatted(args);
	snprintf(request, sizeof request, "%s.%s", c->request_id, mark);
	c->then = admins_removed;
	r = call_command(c, "token-remove", text, false, request);
	free(text);
	cJSON_Delete(args);
	return r;
}

static int admins_local_work(struct call *c, struct reader *r)
{
	(void)r;
	return auth_tokens_end_logins(c->cgi->auth, &c->err);
}

int tokens_of_admin_end(struct call *c, call_fn then)
{
	c->after = then;
	c->then = admins_removed;
	return call_hash(c, admins_local_work);
}

/* --- of this machine: an administrator ends it also while no server answers --- */

static int local_work(struct call *c, struct reader *r)
{
	(void)r;
	return auth_token_delete(c->cgi->auth, c->params[0], &c->err);
}

static int local_audited(struct call *c)
{
	if (c->err.code < 0)
		log_warn("token.unaudited", "token=%s by=%s why=\"%s\"", c->params[0], c->actor,
		         c->err.text);
	c->err = (struct err){ 0 };
	return answered_empty(c);
}

static int local_ended(struct call *c)
{
	const struct token_new *t = c->extra;
	cJSON *args;
	int r;

	if (c->err.code < 0)
		return c->err.code;
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "token", c->params[0]);
	cJSON_AddBoolToObject(args, "app", t->is_app);
	c->then = local_audited;
	r = doc_command(c, "token-end", args);
	cJSON_Delete(args);
	return r;
}

static int token_end(struct call *c)
{
	struct token_new *t = c->extra;
	bool mine = false, admin = c->role == ROLE_ADMIN;
	cJSON *args;
	int r;

	c->err = (struct err){ 0 };
	buf_clear(&c->out);
	c->then = NULL;
	if (people_token_owner(c->cgi->people, c->params[0], t->is_app, t->owner)) {
		mine = admin || (c->user[0] != '\0' && strcmp(t->owner, c->user) == 0);
	} else if (admin && auth_token_is_local(c->cgi->auth, c->params[0], t->is_app)) {
		c->then = local_ended;
		return call_hash(c, local_work);
	}
	if (!mine)
		return call_fail(c, E_NOT_FOUND, "name", "there is no %s of this name",
		                 t->is_app ? "app" : "token");
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "token", c->params[0]);
	r = user_command(c, "token-remove", args, answered_empty);
	cJSON_Delete(args);
	return r;
}

int token_delete(struct call *c)
{
	c->extra = mem_new(sizeof(struct token_new));
	c->then = token_end;
	return call_read(c, people_work);
}

int app_delete(struct call *c)
{
	struct token_new *t = c->extra = mem_new(sizeof *t);

	t->is_app = true;
	c->then = token_end;
	return call_read(c, people_work);
}
