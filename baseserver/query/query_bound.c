/* What a query tells to a peer that keeps to some projects: of others nothing, and what is others'
 * is not there. It is answered as what was never made: the same words, and no name of another. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/args.h"
#include "baseserver/query/query_impl.h"
#include "sched/task.h"
#include "util/err.h"
#include "util/json_read.h"

bool query__sees_all(const struct query *q)
{
	return !q->req->projects;
}

bool query__sees(const struct query *q, const char *name)
{
	size_t n = strcspn(name, "/");

	if (query__sees_all(q))
		return true;
	for (const char *p = q->req->projects; *p; p += strcspn(p, "\n") + 1)
		if (strcspn(p, "\n") == n && memcmp(p, name, n) == 0)
			return true;
	return false;
}

bool query__sees_task(const struct query *q, uint32_t task)
{
	const struct cat_task *t = catalog_task(commander_catalog(q->c), task);

	return query__sees_all(q) || (t && query__sees(q, t->def->name));
}

int query__not_there(struct refusal *f)
{
	free(f->json);
	memset(f, 0, sizeof *f);
	return refuse(f, E_NOT_FOUND, "args", NULL,
	              "nothing of that name is in the projects of this peer");
}

/* A name is judged before it is looked up: what is wrong with its dates would tell that it is
 * there. */
bool query__names_own(const struct query *q, const struct jval *instance)
{
	const struct jval *task = jv_get(instance, "task");

	return !task || task->kind != JV_TEXT || query__sees(q, task->text);
}
