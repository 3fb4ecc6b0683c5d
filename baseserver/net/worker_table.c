/* What a worker knows of whom: its sessions by their number, the leases of its brokers' jobs by
 * their token, and the definitions they run with. It learns all of it from the greeting and from
 * the durable records (worker__note); the files beside it look up here and act. A lease that is
 * over stays known for a while, because the rest of its log comes after its end.
 *
 * What they find out becomes proposals to the ledger, gathered here until the turn ends. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/pack.h"
#include "baseserver/net/logkeeper.h"
#include "baseserver/net/worker_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

struct conn *worker__conn(const struct worker *w, uint32_t session)
{
	uint32_t at = map_get(&w->by_number, session);

	CHECK(at == MAP_NONE || (at < w->n_places && w->places[at]->number == session));
	return at == MAP_NONE ? NULL : w->places[at];
}

void worker__conn_add(struct worker *w, struct conn *c)
{
	uint32_t at = 0;

	c->next = w->conns;
	if (w->conns)
		w->conns->prev = c;
	w->conns = c;
	while (at < w->n_places && w->places[at])
		at++;
	if (at == w->n_places) {
		w->places = mem_grow(w->places, w->n_places + 1, sizeof *w->places);
		w->n_places++;
	}
	CHECK(c->number == 0); /* it is named once */
	w->places[at] = c;
	do /* sixteen million sessions later the numbers begin anew */
		c->number = w->set.index << 24 | (++w->last_number & 0xffffff);
	while ((c->number & 0xffffff) == 0 || worker__conn(w, c->number));
	map_add(&w->by_number, c->number, at);
}

void worker__conn_remove(struct conn *c)
{
	struct worker *w = c->w;

	if (c->prev)
		c->prev->next = c->next;
	else
		w->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	for (struct conn **at = &w->touched; *at; at = &(*at)->next_touched)
		if (*at == c) {
			*at = c->next_touched;
			break;
		}
	uint32_t place = c->number ? map_get(&w->by_number, c->number) : MAP_NONE;
	if (place != MAP_NONE) {
		CHECK(w->places[place] == c);
		map_remove(&w->by_number, c->number, place);
		w->places[place] = NULL;
	}
}

void worker__touch(struct conn *c)
{
	if (c->touched)
		return;
	c->touched = true;
	c->next_touched = c->w->touched;
	c->w->touched = c;
}

static struct lease *find_lease(const struct worker *w, uint64_t token)
{
	uint32_t at = map_get(&w->by_token, token);

	return at == MAP_NONE ? NULL : slab_at(&w->leases, at);
}

struct lease *worker__lease(const struct worker *w, uint64_t token)
{
	struct lease *l = find_lease(w, token);

	return l && !l->is_over ? l : NULL;
}

struct lease *worker__lease_known(const struct worker *w, uint64_t token)
{
	return find_lease(w, token);
}

struct lease_name worker__lease_name(const struct lease *l)
{
	CHECK(l->token);
	return (struct lease_name){ l->token, l->key, l->generation, l->attempt, l->broker };
}

enum { REPORTS_LETTER = 1024 };

void worker__propose_open(struct worker *w)
{
	struct proposals *ps = w->open;

	w->open = NULL;
	/* Refused: reports are sent again until they are acknowledged. */
	if (ps && ledger_propose(w->peers.ledger, ps) < 0)
		proposals_free(ps);
}

struct proposal *worker__propose(struct worker *w, enum ask ask, struct inst_key key)
{
	if (w->open && w->open->n == w->open->cap)
		worker__propose_open(w);
	if (!w->open)
		w->open = proposals_new(PR_WORKER, REPORTS_LETTER, w->me, w->answered);
	CHECK(w->open->n < w->open->cap); /* so there is a place */
	return proposals_add(w->open, ask, key);
}

static void put_def(struct worker *w, const struct task *def)
{
	if (def->id >= w->defs_cap) {
		size_t cap = (size_t)def->id * 2 + 64;
		w->defs = mem_grow(w->defs, cap, sizeof *w->defs);
		for (size_t i = w->defs_cap; i < cap; i++)
			w->defs[i] = NULL;
		w->defs_cap = cap;
	}
	CHECK(def->id < w->defs_cap);
	task_ref(def);
	task_unref(w->defs[def->id]);
	w->defs[def->id] = def;
}

/* def: what it runs with; NULL: the definition in force. */
static void lease_add(struct worker *w, const struct instance *i, uint32_t slot, uint32_t session,
                      uint64_t machine, const struct task *def)
{
	uint32_t at = slab_take(&w->leases);
	struct lease *l = slab_at(&w->leases, at);

	*l = (struct lease){ .key = i->key,
		             .token = i->token,
		             .machine = machine,
		             .slot = slot,
		             .session = session,
		             .provers = { [BY_LOADER] = session },
		             .broker = i->broker,
		             .generation = i->generation,
		             .attempt = i->attempt };
	if (!def && i->key.task < w->defs_cap)
		def = w->defs[i->key.task];
	l->def = def ? task_ref(def) : NULL;
	map_add(&w->by_token, i->token, at);
}

static void lease_forget(struct worker *w, uint32_t at)
{
	const struct lease *l = slab_at(&w->leases, at);

	CHECK(l->is_over && !l->def); /* no lease ends by being forgotten */
	map_remove(&w->by_token, l->token, at);
	slab_give(&w->leases, at);
}

/* It stays known for a while: the rest of its log comes after its end. */
static struct lease *lease_over(struct worker *w, uint64_t token)
{
	uint32_t at = map_get(&w->by_token, token);

	if (at == MAP_NONE)
		return NULL;
	struct lease *l = slab_at(&w->leases, at);
	task_unref(l->def);
	l->def = NULL;
	l->is_over = true;
	uint32_t *place = &w->over[w->n_over++ % OVER_KEPT];
	if (w->n_over > OVER_KEPT)
		lease_forget(w, *place);
	*place = at;
	return l;
}

struct lease *worker__lease_recall(struct worker *w, const struct instance *i, uint64_t machine)
{
	CHECK(!find_lease(w, i->token) && !inst_holds_slot(i, (enum state)i->state));
	lease_add(w, i, i->slot, 0, machine, NULL);
	struct lease *l = lease_over(w, i->token);
	l->told_end = true;
	return l;
}

/* A machine's failure took an execution of this very attempt: its log is not this one's. */
static void claim_log(struct worker *w, const struct instance *i, uint32_t session)
{
	if (!i->infra || session >> 24 != w->set.index || !w->peers.logkeeper)
		return;
	struct log_put *p = mem_new(sizeof *p);
	p->rule = LOG_CLAIM;
	p->token = i->token;
	p->broker = i->broker;
	p->name = (struct log_name){ i->key, i->generation, i->attempt, 1, i->token };
	if (logkeeper_put(w->peers.logkeeper, p) < 0)
		free(p);
}

void worker__note(struct worker *w, const struct transition *tr)
{
	if (tr->kind == TK_TASK) {
		const struct task_pack *p = tr->row;
		for (size_t i = 0; i < p->n; i++)
			put_def(w, p->items[i].def);
	} else if (tr->kind == TK_INSTANCE) {
		bool had = tr->from != ST_NONE && inst_holds_slot(&tr->inst, (enum state)tr->from);
		bool has = inst_holds_slot(&tr->inst, (enum state)tr->inst.state);
		if (!had && has) {
			CHECK(tr->inst.token); /* who holds a slot holds a lease */
			lease_add(w, &tr->inst, tr->slot, tr->session, tr->machine, tr->ref);
			worker__lease(w, tr->inst.token)->keeps_proof = tr->keeps_proofs;
			claim_log(w, &tr->inst, tr->session);
		} else if (had && !has) {
			lease_over(w, tr->inst.token);
		}
	}
}

static void load_task(void *ctx, const struct ledger_task *t)
{
	put_def(ctx, t->def);
}

static void load_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	struct worker *w = ctx;

	if (!inst_holds_slot(i, (enum state)i->state))
		return;
	const struct task *body = ledger_body(w->peers.ledger, i);
	lease_add(w, i, slot, 0, 0, body);
	struct lease *l = worker__lease(w, i->token);
	l->is_former = true;
	l->any_type = !body || body->version != i->version;
}

void worker__table_init(struct worker *w)
{
	slab_init(&w->leases, sizeof(struct lease));
	map_init(&w->by_token);
	w->over = mem_array(OVER_KEPT, sizeof *w->over);
	map_init(&w->by_number);
	ledger_each_task(w->peers.ledger, load_task, w);
	ledger_each_instance(w->peers.ledger, load_instance, w);
}

void worker__table_done(struct worker *w)
{
	for (size_t i = 0; i < w->defs_cap; i++)
		task_unref(w->defs[i]);
	proposals_free(w->open);
	for (uint32_t i = 0; i < w->leases.used; i++)
		task_unref(((struct lease *)slab_at(&w->leases, i))->def);
	slab_done(&w->leases);
	map_done(&w->by_token);
	free(w->over);
	map_done(&w->by_number);
	free(w->defs);
	free(w->places);
}
