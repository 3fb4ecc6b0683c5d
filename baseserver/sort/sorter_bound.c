/* Whose jobs a broker may be given. Two bounds, both an administrator's word:
 *
 *   peer     a broker whose peer's document names projects is given those projects' jobs only
 *   trust    a machine that gives projects no users of their own lets jobs of one read those of
 *            another: it is given trusted projects' jobs only
 *
 * Classes differ by both, so that nothing is looked at that may not start: a project has classes of
 * its own only while some broker is bound to it by name. Documents come with letters; a change puts
 * queues into other classes and sessions under other ones. It takes back nothing that is granted.
 * What a machine says of itself only narrows: who lies about separation gets no more than the
 * projects of its document. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/peers.h"
#include "baseserver/model/trust.h"
#include "baseserver/sort/sorter_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/json_read.h"
#include "util/near.h"

void sorter__bounds_init(struct sorter *s)
{
	docs_init(&s->peers, &doc_kinds[DOC_PEER]);
	docs_init(&s->trusts, &doc_kinds[DOC_TRUST]);
	map_init(&s->bound);
	s->trusts_unsaid = true;
}

void sorter__bounds_free(struct sorter *s)
{
	docs_done(&s->peers);
	docs_done(&s->trusts);
	map_done(&s->bound);
}

/* --- of tasks ----------------------------------------------------------------------------- */

char *sorter__project_of(const struct task *def)
{
	return mem_strn(def->name, strcspn(def->name, "/"));
}

/* Two names of one hash both get classes of their own, which is one more than they need. */
char *sorter__bound_project(const struct sorter *s, const struct task *def)
{
	char *project = sorter__project_of(def);

	if (map_get(&s->bound, map_text(project)) == MAP_NONE)
		project[0] = 0;
	return project;
}

bool sorter__bound_trusts(const struct sorter *s, const struct task *def)
{
	return trust_of(&s->trusts, def->name, s->trusts_unsaid);
}

/* --- of brokers ---------------------------------------------------------------------------- */

/* NULL: bound to none. */
static const struct jval *projects_of(const struct peer *p)
{
	return p && p->kind == PEER_BROKER ? p->projects : NULL;
}

char **sorter__bound_to(const struct sorter *s, const char *broker)
{
	const struct jval *list = projects_of(peers_find(&s->peers, broker));
	size_t n = 0;

	if (!list)
		return NULL;
	char **names = mem_array(list->len + 1, sizeof *names);
	JV_EACH(v, list)
		names[n++] = mem_str(v->text);
	return names;
}

bool sorter__bound_names(const struct seat *seat, const char *project)
{
	return !seat->projects || near_is_one(project, (const char *const *)seat->projects);
}

bool sorter__bound_allows(const struct seat *seat, const struct klass *k)
{
	return (k->is_trusted || seat->separates) && sorter__bound_names(seat, k->project);
}

void sorter__bound_list(struct sorter *s)
{
	map_done(&s->bound);
	map_init(&s->bound);
	for (size_t i = 0; i < s->peers.n; i++)
		JV_EACH(v, projects_of(s->peers.items[i].means)) {
			uint64_t key = map_text(v->text);
			if (map_get(&s->bound, key) == MAP_NONE)
				map_add(&s->bound, key, (uint32_t)i);
		}
}
