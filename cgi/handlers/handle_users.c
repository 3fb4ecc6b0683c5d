/* People and groups: listed, made, changed, removed.
 *
 * They are documents of the server, changed by commands and read here from the roster that each
 * face keeps (who/people.h). A password is hashed by the hash thread of this face before the
 * command leaves, so the server never sees one and no log can have it; answers leave the hash out.
 */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/handle_users.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/auth.h"
#include "cgi/who/outsider.h"
#include "cgi/who/people.h"
#include "util/alloc.h"
#include "util/json_in.h"
#include "util/json_put.h"

/* --- list --- */

/* All of it but the password's hash. */
static int user_put(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;
	struct buf *b = &c->out;
	cJSON *root = doc_open(b, "user", d);
	const char *source = json_text(root, "source");
	int64_t mark;

	put_text(b, "role", json_text(root, "role"));
	put_texts(b, "projects", json_get(root, "projects"));
	put_texts(b, "rights", json_get(root, "rights"));
	put_text(b, "full_name", json_text(root, "full_name"));
	put_text(b, "mail", json_text(root, "mail"));
	put_text(b, "phone", json_text(root, "phone"));
	put_text(b, "chat", json_text(root, "chat"));
	put_bool(b, "disabled", json_true(root, "disabled"));
	put_bool(b, "has_password", json_text(root, "secret") != NULL);
	put_text(b, "source", source ? source : "local");
	put_bool(b, "second_factor", people_factor(c->cgi->people, d->name, &mark) == 1);
	people_effective_put(c->cgi->people, d->name, b);
	doc_close(b, d, root);
	return 0;
}

static const struct doc_noun user_noun = { DOC_USER, "users", "no such user", true, user_put };

int users_get(struct call *c)
{
	return docs_get(c, &user_noun);
}

int user_get(struct call *c)
{
	return doc_get(c, &user_noun);
}

/* `members` are those of the document; who signs in through a directory may belong besides. */
static int group_put(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;
	struct buf *b = &c->out;
	cJSON *root = doc_open(b, "name", d);
	const char *source = json_text(root, "source");

	put_text(b, "description", json_text(root, "description"));
	put_text(b, "role", json_text(root, "role"));
	put_texts(b, "projects", json_get(root, "projects"));
	put_texts(b, "rights", json_get(root, "rights"));
	put_texts(b, "members", json_get(root, "members"));
	people_members_put(c->cgi->people, d->name, "belong", b);
	put_text(b, "source", source ? source : "local");
	put_text(b, "external", json_text(root, "external"));
	doc_close(b, d, root);
	return 0;
}

static const struct doc_noun group_noun = { DOC_GROUP, "groups", "no such group", true, group_put };

int groups_get(struct call *c)
{
	return docs_get(c, &group_noun);
}

int group_get(struct call *c)
{
	return doc_get(c, &group_noun);
}

/* --- changes --- */

int people_work(struct call *c, struct reader *r)
{
	return people_refresh(c->cgi->people, r, &c->err);
}

int sessions_work(struct call *c, struct reader *r)
{
	(void)r;
	auth_sessions_keep(c->cgi->auth, true);
	return 0;
}

int answered_empty(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	buf_puts(&c->out, "{}");
	return reply_json(c, MHD_HTTP_OK);
}

static int command_done(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	c->then = c->after; /* the answer of the command, when the change is known here */
	return call_read(c, people_work);
}

int user_command(struct call *c, const char *kind, const cJSON *args, call_fn then)
{
	c->then = command_done;
	c->after = then;
	return doc_command(c, kind, args);
}

int outsider_enter(struct call *c, const struct outsider *o, call_fn then)
{
	cJSON *changes = NULL;
	int r = outsider_admit(c, o, &changes);

	if (r == 0)
		r = changes ? user_command(c, "user-set", changes, then) : then(c);
	cJSON_Delete(changes);
	return r;
}

struct change {
	char password[513], secret[128];
};

static int hash_work(struct call *c, struct reader *r)
{
	struct change *g = c->extra;
	int code = auth_password_hash(g->password, g->secret, &c->err);

	(void)r;
	sodium_memzero(g->password, sizeof g->password);
	return code;
}

static int user_send(struct call *c)
{
	struct change *g = c->extra;
	cJSON *args = cJSON_Duplicate(c->json, true);
	int r;

	cJSON_DeleteItemFromObjectCaseSensitive(args, "password");
	if (json_get(args, "source")) /* whoever comes next is he */
		cJSON_AddStringToObject(args, "subject", "");
	if (g->secret[0] != '\0')
		cJSON_AddStringToObject(args, "secret", g->secret);
	sodium_memzero(g->secret, sizeof g->secret);
	r = user_command(c, "user-set", args, NULL);
	cJSON_Delete(args);
	return r;
}

static int hashed(struct call *c)
{
	return c->err.code < 0 ? c->err.code : user_send(c);
}

int users_post(struct call *c)
{
	static const char *const keys[] = { "user",     "role",     "projects", "rights",
		                            "mail",     "phone",    "chat",     "full_name",
		                            "disabled", "password", "source",   NULL };
	struct change *g = c->extra = mem_new(sizeof *g);
	const cJSON *given = json_get(c->json, "password");
	const char *password = json_text(c->json, "password");

	if (call_members_only(c, keys) < 0)
		return c->err.code;
	if (!given)
		return user_send(c);
	if (!password || strlen(password) >= sizeof g->password)
		return call_fail(c, E_INVALID, "password", "'password' wants a text of at most %zu",
		                 sizeof g->password - 1);
	snprintf(g->password, sizeof g->password, "%s", password);
	c->then = hashed;
	return call_hash(c, hash_work);
}

int user_delete(struct call *c)
{
	c->then = command_done;
	return doc_remove(c, "user-remove", "user");
}

int groups_post(struct call *c)
{
	static const char *const keys[] = { "name",   "role",     "projects",
		                            "rights", "members",  "description",
		                            "source", "external", NULL };
	cJSON *args;
	int r;

	const char *given = json_text(c->json, "name");

	if (call_members_only(c, keys) < 0)
		return c->err.code;
	if (!given || strlen(given) >= USER_NAME_MAX)
		return call_fail(c, E_INVALID, "name", "'name' wants a text of at most %d bytes",
		                 USER_NAME_MAX - 1);
	args = cJSON_Duplicate(c->json, true);
	cJSON *name = cJSON_DetachItemFromObjectCaseSensitive(args, "name");
	if (name)
		cJSON_AddItemToObject(args, "group", name);
	r = user_command(c, "group-set", args, NULL);
	cJSON_Delete(args);
	return r;
}

int group_delete(struct call *c)
{
	c->then = command_done;
	return doc_remove(c, "group-remove", "group");
}
