/* Who is signed in where: listed and ended, one's own by anybody, others' by an administrator. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_sessions.h"
#include "cgi/handlers/handle_users.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/auth.h"
#include "util/alloc.h"
#include "util/json_put.h"
#include "util/log.h"

struct ask {
	const char *whose; /* NULL: everybody's */
	char user[64];     /* of those that were ended */
	int ended;
};

/* This cgi's own tokens of that role are admin's; other tokens that are nobody's have no
 * sessions. */
static const char *self(struct call *c)
{
	return c->user[0] != '\0' ? c->user : c->role == ROLE_ADMIN ? "admin" : "";
}

/* Whose the arguments mean: one's own, else an administrator asks. */
static int sessions_whose(struct call *c, struct ask *a)
{
	const char *user = call_arg(c, "user");
	bool all = false;

	if (call_arg_bool(c, "all", &all) < 0)
		return c->err.code;
	if (user && user[0] == '\0')
		return call_fail(c, E_INVALID, "user", "'user' is empty, want a person's name");
	if (all && user)
		return call_fail(c, E_INVALID, "all", "'all' and 'user' exclude each other");
	a->whose = all ? NULL : user ? user : self(c);
	if (c->role < ROLE_ADMIN && (all || strcmp(a->whose, self(c)) != 0))
		return call_fail(c, E_FORBIDDEN, all ? "all" : "user",
		                 "the sessions of others are an administrator's to see and end");
	return 0;
}

/* --- list --- */

int sessions_get(struct call *c)
{
	static const char *const names[] = { "user", "all", NULL };
	struct ask *a = c->extra = mem_new(sizeof *a);
	char own[SESSION_ID_MAX];

	if (call_args_only(c, names) < 0 || sessions_whose(c, a) < 0)
		return c->err.code;
	auth_session_own(c->cgi->auth, c, own);
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "sessions", '[');
	auth_sessions_put(c->cgi->auth, a->whose, own, &c->out);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

/* --- ended --- */

/* What was ended must not be there again after a crash: it is written before it is answered. */
static int keep_work(struct call *c, struct reader *r)
{
	(void)r;
	return auth_sessions_save(c->cgi->auth, &c->err);
}

static int ended_keep(struct call *c)
{
	c->then = c->after;
	return call_hash(c, keep_work);
}

/* Read or not: they are over here. */
static int ended_read(struct call *c)
{
	c->err = (struct err){ 0 };
	return ended_keep(c);
}

static int ended_audited(struct call *c)
{
	if (c->err.code < 0) /* ended all the same: people leave while no server answers, too */
		log_warn("session.unaudited", "by=%s why=\"%s\"", c->actor, c->err.text);
	c->err = (struct err){ 0 };
	buf_clear(&c->out);
	c->then = ended_read;
	return call_read(c, people_work);
}

int sessions_ended(struct call *c, const char *user, int ended, call_fn then)
{
	char request[sizeof c->request_id + 8], *text;
	cJSON *args;
	int r;

	c->after = then;
	buf_clear(&c->out);
	if (ended == 0)
		return ended_keep(c);
	log_info("session.ended", "user=%s by=%s sessions=%d address=%s", user, c->actor, ended,
	         c->address);
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "user", user);
	cJSON_AddNumberToObject(args, "sessions", ended);
	if (c->ended.len > 0) {
		char *ids = mem_fmt("[%s]", buf_str(&c->ended));

		cJSON_AddItemToObject(args, "ids", cJSON_CreateRaw(ids));
		free(ids);
	}
	text = cJSON_PrintUnformatted(args);
	/* The call may have sent a command already: this is another one. */
	snprintf(request, sizeof request, "%s.end", c->request_id);
	c->then = ended_audited;
	r = call_command(c, "session-end", text, false, request);
	free(text);
	cJSON_Delete(args);
	return r;
}

static int ended_told(struct call *c)
{
	const struct ask *a = c->extra;

	if (c->err.code < 0)
		return c->err.code;
	put_open(&c->out, NULL, '{');
	put_int(&c->out, "ended", a->ended);
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

/* All of a person's but the call's own. */
static int end_all(struct call *c, const char *user)
{
	struct ask *a = c->extra;
	char own[SESSION_ID_MAX];

	auth_session_own(c->cgi->auth, c, own);
	a->ended = auth_sessions_end(c->cgi->auth, c, user, NULL, own, a->user);
	return a->ended == 0 ? ended_told(c) : sessions_ended(c, a->user, a->ended, ended_told);
}

static int read_first(struct call *c)
{
	call_fn then = c->after;

	c->err = (struct err){ 0 }; /* without a store those that are known are ended */
	buf_clear(&c->out);
	return then(c);
}

/* What began at other faces a moment ago is ended, too: they are read anew before. */
static int after_reading(struct call *c, call_fn then)
{
	c->after = then;
	c->then = read_first;
	return call_read(c, people_work);
}

static int end_own(struct call *c)
{
	return end_all(c, self(c));
}

int sessions_delete(struct call *c)
{
	c->extra = mem_new(sizeof(struct ask));
	return after_reading(c, end_own);
}

static int end_users(struct call *c)
{
	return end_all(c, c->params[0]);
}

int user_sessions_delete(struct call *c)
{
	c->extra = mem_new(sizeof(struct ask));
	return after_reading(c, end_users);
}

static int end_one(struct call *c)
{
	struct ask *a = c->extra;

	a->whose = c->role >= ROLE_ADMIN ? NULL : self(c);
	a->ended = auth_sessions_end(c->cgi->auth, c, a->whose, c->params[0], NULL, a->user);
	if (a->ended == 0)
		return call_fail(c, E_NOT_FOUND, "id", "there is no such session");
	return sessions_ended(c, a->user, a->ended, ended_told);
}

int session_delete(struct call *c)
{
	c->extra = mem_new(sizeof(struct ask));
	return after_reading(c, end_one);
}
