/* What a client may read. A face reads everything, for it judges people itself and has the store's
 * read side (docs/decisions/people.md); the notifier asks what its protocol needs; of a client the
 * document's `projects` say what there is: nothing of others is told to it, and what is others' is
 * not there. The frames that ask are rows of worker.c (READS), the questions rows of query.def:
 * each says there how it keeps to that, and none can be added that does not. */
#include <string.h>

#include "baseserver/model/command.h"
#include "baseserver/model/peers.h"
#include "baseserver/net/worker_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_read.h"

static const struct jval *bounds_of(const struct conn *c)
{
	const struct peer *p = c->kind == PEER_FACE ? NULL : peers_find(&c->w->who, c->identity);

	return p ? p->projects : NULL;
}

bool worker__is_bound(const struct conn *c)
{
	return bounds_of(c) != NULL;
}

static bool has_project(const struct jval *projects, const char *name)
{
	size_t n = strcspn(name, "/");

	JV_EACH(v, projects)
		if (v->kind == JV_TEXT && v->len == n && memcmp(v->text, name, n) == 0)
			return true;
	return false;
}

bool worker__may_read(const struct conn *c, uint32_t task)
{
	const struct jval *projects = bounds_of(c);
	const struct task *def = task < c->w->defs_cap ? c->w->defs[task] : NULL;

	CHECK(c->role == ROLE_CLIENT);
	return !projects || (def && has_project(projects, def->name));
}

static int ask_not(const struct conn *c, const char *query, struct err *err)
{
	return err_set(err, E_FORBIDDEN, "peer '%s' is of kind %s and may not ask for %s",
	               c->identity, peer_kind_name(c->kind), query);
}

int worker__may_ask(const struct conn *c, const char *query, struct err *err)
{
	enum query_kind k;

	if (c->kind == PEER_FACE || !query_kind_parse(query, &k))
		return 0;
	if (query_wants_admin(k) || query_tells_of(k) == OF_PEOPLE ||
	    (c->kind == PEER_NOTIFIER && !query_is_tellers(k)))
		return ask_not(c, query, err);
	if (query_tells_of(k) == OF_WHOLE && worker__is_bound(c))
		return err_set(err, E_FORBIDDEN,
		               "peer '%s' keeps to some projects, and %s tells of the whole "
		               "installation: `sirdar peer show %s` has them",
		               c->identity, query, c->identity);
	return 0;
}

/* A line each, as the queries read them. NULL: all. heap */
char *worker__reads(const struct conn *c)
{
	return worker__is_bound(c) ? worker__projects(c) : NULL;
}
