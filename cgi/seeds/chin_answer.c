/* What the steps of chin's paths share: whose id is whose, and the shape of an answer. */
#include <string.h>

#include "cgi/seeds/chin.h"
#include "store/read.h"
#include "util/json_put.h"

static int id_take(void *ctx, const struct store_doc *d)
{
	*(int64_t *)ctx = d->retired ? -1 : (int64_t)d->id;
	return 0;
}

int64_t chin_user_id(struct reader *r, const char *name)
{
	int64_t id = -1;

	if (strcmp(name, "admin") == 0)
		return CHIN_ROOT;
	(void)read_doc(r, &(struct read_which){ DOC_USER, .name = name }, id_take, &id, NULL);
	return id;
}

int chin_owns(struct call *c)
{
	if (c->role == ROLE_ADMIN ||
	    (c->user[0] != '\0' && strcmp(seed_of(c)->owner, c->user) == 0))
		return 0;
	return call_fail(c, E_FORBIDDEN, "task_id", "only the task's owner and root may do this");
}

int chin_answer(struct call *c, const char *info)
{
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "status", "SUCCEED");
	put_text(&c->out, "info", info);
	if (c->details.len > 0)
		put_raw(&c->out, "data", buf_str(&c->details));
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

int chin_done(struct call *c)
{
	return c->err.code < 0 ? c->err.code : chin_answer(c, "");
}
