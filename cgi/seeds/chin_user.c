/* chin's users: made, changed, removed, listed; who signs in gets a session whose token comes in
 * the body. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_sessions.h"
#include "cgi/handlers/handle_tokens.h"
#include "cgi/handlers/handle_users.h"
#include "cgi/handlers/sign_in.h"
#include "cgi/http/cgi.h"
#include "cgi/seeds/chin.h"
#include "cgi/who/auth.h"
#include "cgi/who/factor.h"
#include "cgi/who/people.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

/* --- new, modify, delete --------------------------------------------------------------------- */

static int hash_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	int code = auth_password_hash(s->password, s->secret, &c->err);

	(void)r;
	sodium_memzero(s->password, sizeof s->password);
	return code;
}

/* His own password: the session by which he changed it ends, too, as chin's does. */
static int user_sent(struct call *c)
{
	char user[64];

	if (c->err.code < 0 || !c->person || strcmp(seed_of(c)->name, c->user) != 0 ||
	    !auth_session_close(c->cgi->auth, c, json_text(c->json, "token"), user))
		return chin_done(c);
	return sessions_ended(c, user, 1, chin_done);
}

/* user-set of s->name; a new one may do in chin's project what chin's users may. */
static int user_send(struct call *c)
{
	struct seed *s = seed_of(c);
	cJSON *args;
	int r;

	if (c->err.code < 0)
		return c->err.code;
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "user", s->name);
	cJSON_AddStringToObject(args, "secret", s->secret);
	cJSON_AddStringToObject(args, "mail", json_text(c->json, "email"));
	if (json_get(c->json, "user_name")) {
		cJSON *projects = cJSON_AddArrayToObject(args, "projects");

		cJSON_AddStringToObject(args, "role", role_name(ROLE_DEVELOPER));
		cJSON_AddItemToArray(projects, cJSON_CreateString(seed_project(c)));
	}
	if (c->person && strcmp(s->name, c->user) == 0)
		cJSON_AddNumberToObject(args, "since", (double)c->person->since);
	sodium_memzero(s->secret, sizeof s->secret);
	r = user_command(c, "user-set", args, user_sent);
	cJSON_Delete(args);
	return r;
}

static int password_take(struct call *c, call_fn then)
{
	struct seed *s = seed_of(c);

	snprintf(s->password, sizeof s->password, "%s", json_text(c->json, "password"));
	c->then = then;
	return call_hash(c, hash_work);
}

static int absent_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);

	if (chin_user_id(r, s->name) >= 0)
		return call_fail(c, E_EXISTS, "user_name", "there is a user of this name");
	return 0;
}

static int user_absent(struct call *c)
{
	return c->err.code < 0 ? c->err.code : password_take(c, user_send);
}

int chin_user_new(struct call *c)
{
	snprintf(seed_of(c)->name, NAMES_MAX, "%s", json_text(c->json, "user_name"));
	c->then = user_absent;
	return call_read(c, absent_work);
}

/* The user with the id of the body, into s->name. */
int chin_user_target_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);

	s->id = (uint32_t)json_int(c->json, "user_id", 0);
	if (s->id == CHIN_ROOT) {
		snprintf(s->name, sizeof s->name, "admin");
		return 0;
	}
	if (read_doc(r, &(struct read_which){ DOC_USER, .id = s->id }, seed_take, s, NULL) < 0 ||
	    !s->found)
		return call_fail(c, E_NOT_FOUND, "user_id", "there is no user %u", s->id);
	return 0;
}

static int root_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	int code = auth_password_set(c->cgi->auth, s->password, &c->err);

	(void)r;
	sodium_memzero(s->password, sizeof s->password);
	if (code == 0)
		s->n = (size_t)auth_sessions_end(c->cgi->auth, c, "admin", NULL, NULL, s->owner);
	return code;
}

static int root_over(struct call *c)
{
	return c->err.code < 0 ? c->err.code : tokens_of_admin_end(c, chin_done);
}

static int root_done(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	return sessions_ended(c, "admin", (int)seed_of(c)->n, root_over);
}

int chin_user_modify(struct call *c)
{
	struct seed *s = seed_of(c);

	if (c->role != ROLE_ADMIN && strcmp(s->name, c->user) != 0)
		return call_fail(c, E_FORBIDDEN, "user_id", "only root may change others");
	if (s->id != CHIN_ROOT || auth_is_handed_over(c->cgi))
		return password_take(c, user_send);
	if (json_text(c->json, "email")[0] != '\0')
		return call_fail(c, E_INVALID, "email", "root has no mail here: send an empty one");
	snprintf(s->password, sizeof s->password, "%s", json_text(c->json, "password"));
	c->then = root_done;
	return call_hash(c, root_work);
}

int chin_user_delete(struct call *c)
{
	struct seed *s = seed_of(c);
	cJSON *args;
	int r;

	if (s->id == CHIN_ROOT)
		return call_fail(c, E_FORBIDDEN, "user_id", "root cannot be deleted");
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "user", s->name);
	r = user_command(c, "user-remove", args, chin_done);
	cJSON_Delete(args);
	return r;
}

/* --- query ----------------------------------------------------------------------------------- */

static void times_put(struct buf *b, int64_t created_us, int64_t changed_us)
{
	char at[WHEN_TEXT];

	seed_time(created_us, at);
	put_text(b, "create_time", at);
	seed_time(changed_us, at);
	put_text(b, "update_time", at);
}

static int created_take(void *ctx, const struct store_doc *d)
{
	*(int64_t *)ctx = d->at_us; /* the oldest is last */
	return 0;
}

struct users {
	size_t n;
	struct {
		uint32_t id;
		int64_t changed_us;
		char name[USER_NAME_MAX], mail[201];
	} rows[SEED_ROWS_MAX];
	int64_t skip, take;
};

static int row_take(void *ctx, const struct store_doc *d)
{
	struct users *u = ctx;
	cJSON *root = NULL;

	if (strcmp(d->name, "admin") == 0) /* it is there already, under the number it always had */
		return 0;
	if (u->skip > 0) {
		u->skip--;
		return 0;
	}
	if ((int64_t)u->n == u->take)
		return 0;
	(void)json_parse(d->body, d->body_len, &root, NULL);
	u->rows[u->n].id = d->id;
	u->rows[u->n].changed_us = d->at_us;
	snprintf(u->rows[u->n].name, USER_NAME_MAX, "%s", d->name);
	snprintf(u->rows[u->n].mail, 201, "%s",
	         json_text(root, "mail") ? json_text(root, "mail") : "");
	u->n++;
	json_free(root);
	return 0;
}

/* Without passwords, of which only hashes are kept. */
static void user_put(struct buf *b, uint32_t id, const char *name, const char *mail,
                     int64_t created_us, int64_t changed_us)
{
	put_open(b, NULL, '{');
	put_int(b, "user_id", id);
	put_text(b, "user_name", name);
	put_text(b, "email", mail);
	times_put(b, created_us, changed_us);
	put_close(b, '}');
}

int chin_user_query_work(struct call *c, struct reader *r)
{
	struct users *u = mem_new(sizeof *u);
	int code;

	buf_clear(&c->details);
	code = seed_page(c, &u->skip, &u->take);
	if (code < 0)
		goto out;
	put_open(&c->details, NULL, '[');
	if (u->skip == 0) {
		user_put(&c->details, CHIN_ROOT, "admin", "", 0, 0);
		u->take--;
	} else {
		u->skip--;
	}
	code = read_doc_bodies(r, DOC_USER, row_take, u, &c->err);
	for (size_t i = 0; code == 0 && i < u->n; i++) {
		int64_t created_us = 0;

		code = read_doc_versions(r, DOC_USER, u->rows[i].id, created_take, &created_us,
		                         &c->err);
		user_put(&c->details, u->rows[i].id, u->rows[i].name, u->rows[i].mail, created_us,
		         u->rows[i].changed_us);
	}
	put_close(&c->details, ']');
out:
	free(u);
	return code;
}

/* --- login, logout --------------------------------------------------------------------------- */

/* Users as they are now; the id goes back with the token. */
int chin_login_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	int code = people_refresh(c->cgi->people, r, &c->err);
	int64_t id = chin_user_id(r, json_text(c->json, "user_name"));

	s->id = id > 0 ? (uint32_t)id : 0;
	return code;
}

static int factor_has_no_place(struct call *c)
{
	c->hint[0] = '\0';
	return call_fail(c, E_FORBIDDEN, "password",
	                 "%s needs a second factor, which has no place here: use a token",
	                 seed_of(c)->name);
}

/* admin's own; a person's the server verifies. */
static int verify_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	int code = auth_password_verify(c->cgi->auth, s->name, s->password, &c->err);

	(void)r;
	if (code == 0 &&
	    (factor_mark(c->cgi, s->name, NULL) != 0 || factor_is_missing(c->cgi, s->name, NULL)))
		code = factor_has_no_place(c);
	else
		auth_tried(c->cgi->auth, c, code == 0);
	sodium_memzero(s->password, sizeof s->password);
	return code;
}

static int verified(struct call *c)
{
	struct seed *s = seed_of(c);
	char secret[AUTH_TEXT_MAX];

	if (c->err.code < 0)
		return c->err.code;
	auth_session_open(c->cgi->auth, c, s->name, s->since, "password", secret);
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "status", "SUCCEED");
	snprintf(s->owner, sizeof s->owner, "user_id %u", s->id);
	put_text(&c->out, "info", s->owner);
	put_text(&c->out, "token", secret);
	put_close(&c->out, '}');
	sodium_memzero(secret, sizeof secret);
	return reply_json(c, MHD_HTTP_OK);
}

static int verified_read(struct call *c)
{
	c->err = (struct err){ 0 }; /* without a store it is good all the same */
	return verified(c);
}

static int verified_there(struct call *c)
{
	int r = sign_in_taken(c, &seed_of(c)->since);

	if (r == E_FACTOR || (r == 0 && c->must_enrol))
		return factor_has_no_place(c);
	if (r < 0)
		return r;
	c->then = verified_read;
	return call_read(c, people_work);
}

/* Of who has to have a second factor and has none the password alone is judged: no session
 * begins. */
static int person_ask(struct call *c)
{
	struct seed *s = seed_of(c);
	const struct person *p = NULL;

	(void)people_find(c->cgi->people, s->name, &p);
	c->must_enrol = p && factor_is_missing(c->cgi, s->name, p);
	person_unref(p);
	int r = sign_in_ask(c,
	                    &(struct sign_in){ .user = s->name,
	                                       .password = s->password,
	                                       .via = "password",
	                                       .brief = c->must_enrol },
	                    verified_there);

	sodium_memzero(s->password, sizeof s->password);
	return r;
}

int chin_login(struct call *c)
{
	struct seed *s = seed_of(c);

	snprintf(s->name, sizeof s->name, "%s", json_text(c->json, "user_name"));
	snprintf(s->password, sizeof s->password, "%s", json_text(c->json, "password"));
	if (auth_may_try(c->cgi->auth, c, s->name) < 0)
		return c->err.code;
	if (!auth_is_own(c->cgi, s->name))
		return person_ask(c);
	c->then = verified;
	return call_hash(c, verify_work);
}

static int logged_out(struct call *c)
{
	return c->err.code < 0 ? c->err.code : chin_answer(c, "");
}

int chin_logout(struct call *c)
{
	char user[64];

	if (!auth_session_close(c->cgi->auth, c, json_text(c->json, "token"), user))
		return call_fail(c, E_INVALID, "token", "this token is of no session");
	return sessions_ended(c, user, 1, logged_out);
}
