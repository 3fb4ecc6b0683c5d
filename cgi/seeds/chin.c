/* chin's own paths (chin.txt, 4): the table, who asks, and the shape of answers. */
#include "cgi/seeds/chin.h"

#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/seeds/seed_routes.h"
#include "cgi/who/auth.h"
#include "util/json_in.h"

#define TOKEN \
	{ \
		"token", SEED_TEXT, true, 1, 100 \
	}
#define USER \
	{ \
		"user_id", SEED_INT, true, 0, UINT32_MAX \
	}
#define ID(name) \
	{ \
		name, SEED_INT, false, 0, UINT32_MAX \
	}
#define BATCH \
	{ \
		"batch", SEED_TRUTH, true, 0, 0 \
	}
#define PAGE \
	{ "page", SEED_INT, false, 1, INT32_MAX }, \
	{ \
		"page_size", SEED_INT, false, 1, SEED_ROWS_MAX \
	}
#define TASK \
	TOKEN, USER, { "task_name", SEED_TEXT, true, 1, 200 }, \
		{ "command", SEED_TEXT, true, 1, 65536 }, { "father_id", SEED_INTS, true, 0, 0 }, \
		{ "valid", SEED_TRUTH, true, 0, 0 }, { "machine_pool", SEED_INTS, true, 0, 0 }, \
		{ "schedule_type", SEED_TEXT, true, 1, 10 }, \
		{ "schedule_format", SEED_TEXT, true, 1, 40 }, ID("task_id")

/* Path, least role, fields, read first, done then. Who has user_id as the caller's own is told
 * by TARGETS below. */
static const struct seed_row rows[] = {
	{ "/api/task/new", ROLE_DEVELOPER, { TASK }, chin_task_new_work, chin_task_new },
	{ "/api/task/delete",
	  ROLE_DEVELOPER,
	  { TOKEN, USER, { "task_id", SEED_INT, true, 0, UINT32_MAX } },
	  chin_task_delete_work,
	  chin_task_delete },
	{ "/api/task/modify", ROLE_DEVELOPER, { TASK }, chin_task_modify_work, chin_task_new },
	{ "/api/task/query",
	  ROLE_VIEWER,
	  { TOKEN, USER, BATCH, ID("task_id"), PAGE },
	  chin_task_query_work,
	  chin_done },
	{ "/api/log/query",
	  ROLE_VIEWER,
	  { TOKEN,
	    USER,
	    BATCH,
	    { "given_task", SEED_TRUTH, true, 0, 0 },
	    ID("task_id"),
	    { "log_id", SEED_BIG, false, 0, 0 },
	    { "column", SEED_TEXTS, false, 0, 0 },
	    PAGE },
	  chin_log_query_work,
	  chin_log_query },
	{ "/api/action/query",
	  ROLE_VIEWER, /* the seed names nobody who may not */
	  { TOKEN, USER, BATCH, PAGE },
	  chin_action_query_work,
	  chin_done },
	{ "/api/user/new",
	  ROLE_ADMIN,
	  { TOKEN,
	    { "user_name", SEED_TEXT, true, 1, 63 },
	    { "password", SEED_TEXT, true, 1, 512 },
	    { "email", SEED_TEXT, true, 0, 200 } },
	  NULL,
	  chin_user_new,
	  true },
	{ "/api/user/delete",
	  ROLE_ADMIN,
	  { TOKEN, USER },
	  chin_user_target_work,
	  chin_user_delete,
	  true },
	{ "/api/user/modify",
	  ROLE_VIEWER,
	  { TOKEN,
	    USER,
	    { "password", SEED_TEXT, true, 1, 512 },
	    { "email", SEED_TEXT, true, 0, 200 } },
	  chin_user_target_work,
	  chin_user_modify,
	  true },
	{ "/api/user/query", ROLE_VIEWER, { TOKEN, USER, PAGE }, chin_user_query_work, chin_done },
	{ "/api/user/login",
	  ROLE_NONE,
	  { { "user_name", SEED_TEXT, true, 1, 63 }, { "password", SEED_TEXT, true, 1, 512 } },
	  chin_login_work,
	  chin_login },
	{ "/api/user/logout", ROLE_VIEWER, { TOKEN, USER }, NULL, chin_logout },
	{ "/api/machine/delete",
	  ROLE_ADMIN,
	  { TOKEN, USER, { "machine_id", SEED_INT, true, 0, UINT32_MAX } },
	  chin_machine_delete_work,
	  chin_machine_delete },
	{ "/api/machine/query", ROLE_VIEWER, { TOKEN, USER, PAGE }, NULL, chin_machine_query },
};

/* user_id is whom it is about here, elsewhere who asks. */
static const char *const targets[] = { "/api/user/delete", "/api/user/modify", "/api/user/new",
	                               "/api/user/login" };

/* The caller's own id must be his: tokens that belong to nobody are root's. */
static int caller_work(struct call *c, struct reader *r)
{
	const struct seed_row *row = seed_of(c)->row;
	int64_t given = json_int(c->json, "user_id", -1);

	for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
		if (strcmp(targets[i], row->path) == 0)
			return row->work(c, r);
	if (chin_user_id(r, c->user[0] != '\0' ? c->user : "admin") != given)
		return call_fail(c, E_FORBIDDEN, "user_id",
		                 "user_id is not that of the token's user");
	return row->work ? row->work(c, r) : 0;
}

/* What was read failed, or goes on. */
static int worked(struct call *c)
{
	return c->err.code < 0 ? c->err.code : seed_of(c)->row->then(c);
}

int chin_post(struct call *c)
{
	int r = seed_begin(c, rows, sizeof rows / sizeof rows[0], true);
	const struct seed_row *row = seed_of(c)->row;

	if (r < 0)
		return r;
	if (row->role != ROLE_NONE) {
		r = auth_check_secret(c->cgi->auth, c, json_text(c->json, "token"));
		if (r == 0 && c->role < row->role)
			r = call_fail(c, E_FORBIDDEN, "token", "this needs the role %s, %s has %s",
			              role_name(row->role), c->actor, role_name(c->role));
		if (r == 0 && row->is_credential)
			r = auth_credential(c);
	}
	if (r < 0)
		return r;
	if (!row->work && !json_get(c->json, "user_id"))
		return row->then(c);
	c->then = worked;
	return call_read(c, caller_work);
}
