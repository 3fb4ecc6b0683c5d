/* Documents that say whose jobs a broker may be given (sorter_bound.c): loaded, learned with
 * letters, and named to people. A change puts queues into other classes, and sessions under other
 * ones. It takes back nothing that is granted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/why.h"
#include "baseserver/sort/sorter_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

/* --- documents change ---------------------------------------------------------------------- */

static bool is_at_home(const struct sorter *s, const struct queue *q)
{
	char *project = sorter__bound_project(s, q->def);
	bool is = q->klass->is_trusted == sorter__bound_trusts(s, q->def) &&
	          strcmp(q->klass->project, project) == 0;

	free(project);
	return is;
}

/* Its lanes go where it goes: those of parts by the same rule. */
static void bound_settle(struct sorter *s)
{
	for (size_t i = 0; i < s->queues_cap; i++) {
		struct queue *q = s->queues[i];
		if (q && q->def && !is_at_home(s, q))
			sorter__put_def(s, q->def, q->state, q->frozen);
	}
}

static int bound_learn(struct sorter *s, const struct store_doc *d, struct err *err)
{
	int r = docs_learn(d->kind == DOC_PEER ? &s->peers : &s->trusts, d, err);

	if (r < 0)
		return r;
	if (d->kind == DOC_PEER)
		sorter__bound_list(s);
	for (size_t i = 0; d->kind == DOC_PEER && i < s->n_seats; i++)
		if (strcmp(s->seats[i]->broker_name, d->name) == 0)
			sorter__seat_bind(s, s->seats[i]);
	bound_settle(s);
	return 0;
}

int sorter_load_bounds(struct sorter *s, struct store *store, bool unsaid, struct err *err)
{
	int r = docs_load(&s->peers, store, err);

	CHECK(s->n_seats == 0); /* nobody has greeted */
	if (r == 0)
		r = docs_load(&s->trusts, store, err);
	s->trusts_unsaid = unsaid;
	sorter__bound_list(s);
	bound_settle(s);
	return r;
}

struct bound_news {
	struct letter letter;
	struct store_doc doc; /* owns name and body */
};

static void bound_discard(struct letter *l)
{
	struct bound_news *n = (struct bound_news *)l;

	free((char *)n->doc.name);
	free((char *)n->doc.body);
	free(n);
}

static void on_bound(struct letter *l, void *self)
{
	const struct bound_news *n = (const struct bound_news *)l;
	struct err err = { 0 };

	if (bound_learn(self, &n->doc, &err) < 0)
		log_error("bound.unread", "name=%s text=\"%s\"", n->doc.name, err.text);
	bound_discard(l);
}

void sorter_tell_bound(struct sorter *s, const struct store_doc *d)
{
	struct bound_news *n = mem_new(sizeof *n);

	CHECK(d->kind == DOC_PEER || d->kind == DOC_TRUST);
	n->letter.deliver = on_bound;
	n->letter.discard = bound_discard;
	n->doc = *d;
	n->doc.title = n->doc.actor = NULL;
	n->doc.name = mem_str(d->name);
	n->doc.body = mem_strn(d->body, d->body_len);
	if (actor_post_credit(s->me, &n->letter) < 0)
		bound_discard(&n->letter);
}

/* --- why ------------------------------------------------------------------------------------ */

static void say_untrusted(const struct seat *seat, const char *project, struct why_line *w)
{
	why_set(w, WHY_UNTRUSTED);
	why_text(w, "project", "%s", project);
	why_text(w, "broker", "%s", seat->broker_name);
}

static void say_projects(const struct seat *seat, const char *project, struct why_line *w)
{
	char list[200];
	size_t n = 0;

	list[0] = 0;
	for (char **p = seat->projects; *p && n < sizeof list; p++)
		n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", *p);
	why_set(w, WHY_PEER_PROJECTS);
	why_text(w, "project", "%s", project);
	why_text(w, "broker", "%s", seat->broker_name);
	why_text(w, "projects", "%s", list);
}

/* Trust helps with a broker that may have the project by name: that one is said first. */
bool sorter__bound_explain(const struct sorter *s, const struct klass *k, const struct task *def,
                           struct why_line *w)
{
	const struct seat *plain = NULL, *other = NULL;
	char *project = sorter__project_of(def);

	for (size_t i = 0; i < s->n_seats; i++) {
		const struct seat *seat = s->seats[i];
		if (!sorter__reaches(seat, k) || sorter__bound_allows(seat, k))
			continue;
		if (sorter__bound_names(seat, k->project))
			plain = plain ? plain : seat;
		else
			other = other ? other : seat;
	}
	if (plain)
		say_untrusted(plain, project, w);
	else if (other)
		say_projects(other, project, w);
	free(project);
	return plain || other;
}
