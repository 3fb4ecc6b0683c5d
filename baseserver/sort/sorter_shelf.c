/* The order of lanes. A shelf holds them by project and by priority as given, because age never
 * changes the order of those with the same priority.
 *
 *   shelf -- party (a project) -- row (a priority) -- lanes, by effective due
 *       \--- level (a priority) -- rows, by their project's last turn; by their first's due
 *
 * Who comes next: the first of all with age sets the bar, its priority as given. The projects that
 * have something of that priority or a higher one take turns: the one whose last turn is the
 * longest ago is next, with what comes first in its own order. So P projects wait for P - 1 turns
 * at most, however much each of them has and however old it is; who is alone has its own order.
 * A project that comes back goes first once: no turns are saved up, only when the last one was. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/sort/sorter_impl.h"
#include "util/alloc.h"
#include "util/check.h"

/* A project's lanes of one priority. */
struct row {
	struct heap_node turn; /* key: its project's last turn */
	struct heap_node age;  /* key: of its first lane */
	struct party *party;
	struct heap lanes;
};

/* The rows of one priority. */
struct level {
	struct heap turns, ages;
};

/* --- of one project ------------------------------------------------------------------------- */

int64_t sorter__effective(const struct sorter *s, const struct lane *l)
{
	int64_t waited = s->now_us - l->key;
	int64_t effective = l->priority + (waited > 0 ? waited / AGE_STEP_US : 0);

	return effective < PRIORITY_MAX ? effective : PRIORITY_MAX;
}

bool sorter__goes_first(const struct sorter *s, const struct lane *a, const struct lane *b)
{
	int64_t x = sorter__effective(s, a), y = sorter__effective(s, b);

	if (x != y)
		return x > y;
	return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static struct lane *first_of_row(const struct row *row)
{
	return (struct lane *)heap_top(&row->lanes);
}

struct lane *sorter__first_of_party(const struct sorter *s, const struct party *p)
{
	struct lane *best = NULL;

	for (uint32_t some = p->some; some; some &= some - 1) {
		struct lane *l = first_of_row(p->rows[__builtin_ctz(some)]);
		if (!best || sorter__goes_first(s, l, best))
			best = l;
	}
	return best;
}

/* --- in and out ----------------------------------------------------------------------------- */

uint32_t sorter__project(struct sorter *s, const char *task)
{
	char *name = mem_strn(task, strcspn(task, "/"));
	uint64_t h = map_text(name);
	uint32_t at = map_get(&s->project_of, h);

	free(name);
	if (at != MAP_NONE)
		return at;
	at = (uint32_t)s->n_projects++;
	s->project_turns = mem_grow(s->project_turns, s->n_projects, sizeof *s->project_turns);
	s->project_turns[at] = 0;
	map_add(&s->project_of, h, at);
	return at;
}

struct party *shelf__party(struct shelf *sh, uint32_t project)
{
	uint32_t at = map_get(&sh->party_of, project);

	if (at != MAP_NONE)
		return sh->parties[at];
	struct party *p = mem_new(sizeof *p);
	p->project = project;
	p->at = (uint32_t)sh->n_parties++;
	sh->parties = mem_grow(sh->parties, sh->n_parties, sizeof *sh->parties);
	sh->parties[p->at] = p;
	map_add(&sh->party_of, project, p->at);
	return p;
}

static struct row *row_of(struct party *p, int priority)
{
	struct row *row = p->rows[priority];

	if (row)
		return row;
	row = mem_new(sizeof *row);
	row->party = p;
	heap_node_init(&row->turn);
	heap_node_init(&row->age);
	row->turn.tie = p->at;
	p->rows[priority] = row;
	return row;
}

/* Its lanes are others: to where it belongs by age and by turn. */
static void row_moved(struct shelf *sh, struct row *row, int priority)
{
	struct level *v = sh->levels[priority];
	const struct lane *first = first_of_row(row);
	struct party *p = row->party;
	uint32_t bit = 1u << priority;

	CHECK(sh->n_busy >= (p->some != 0));
	sh->n_busy -= p->some != 0;
	if (first) {
		row->age.tie = first->tie;
		heap_set(&v->ages, &row->age, first->key);
		if (!(p->some & bit))
			heap_set(&v->turns, &row->turn, (int64_t)p->turn);
		p->some |= bit;
	} else {
		heap_remove(&v->ages, &row->age);
		heap_remove(&v->turns, &row->turn);
		p->some &= ~bit;
	}
	sh->n_busy += p->some != 0;
	sh->some = v->ages.len > 0 ? sh->some | bit : sh->some & ~bit;
}

void shelf__put(struct shelf *sh, struct lane *l)
{
	struct row *row = row_of(shelf__party(sh, l->queue->project), l->priority);

	if (!sh->levels[l->priority])
		sh->levels[l->priority] = mem_new(sizeof *sh->levels[0]);
	l->node.tie = l->tie;
	heap_set(&row->lanes, &l->node, l->key);
	row_moved(sh, row, l->priority);
}

void shelf__take(struct shelf *sh, struct lane *l)
{
	struct row *row = shelf__party(sh, l->queue->project)->rows[l->priority];

	CHECK(row); /* it was put there */
	heap_remove(&row->lanes, &l->node);
	row_moved(sh, row, l->priority);
}

/* --- turns ---------------------------------------------------------------------------------- */

static struct row *row_of_age(const struct heap_node *n)
{
	return (struct row *)((char *)n - offsetof(struct row, age));
}

static struct lane *first_of_level(const struct shelf *sh, int priority)
{
	const struct heap_node *n = heap_top(&sh->levels[priority]->ages);

	CHECK(n); /* a bit of `some` is set while its level has one */
	return first_of_row(row_of_age(n));
}

static void raise_bar(const struct sorter *s, const struct lane *l, struct bar *bar)
{
	int64_t effective = sorter__effective(s, l);

	if (effective > bar->effective ||
	    (effective == bar->effective && l->priority < bar->priority))
		*bar = (struct bar){ effective, l->priority };
}

void sorter__bar(const struct sorter *s, const struct shelf *sh, struct bar *bar)
{
	for (uint32_t some = sh->some; some; some &= some - 1)
		raise_bar(s, first_of_level(sh, __builtin_ctz(some)), bar);
}

void sorter__party_bar(const struct sorter *s, const struct party *p, struct bar *bar)
{
	for (uint32_t some = p->some; some; some &= some - 1)
		raise_bar(s, first_of_row(p->rows[__builtin_ctz(some)]), bar);
}

struct lane *sorter__next(const struct sorter *s, const struct shelf *sh, const struct bar *bar)
{
	const struct party *best = NULL;

	for (uint32_t some = sh->some >> bar->priority << bar->priority; some; some &= some - 1) {
		const struct heap *turns = &sh->levels[__builtin_ctz(some)]->turns;
		const struct party *p = ((const struct row *)heap_top(turns))->party;
		if (!best || p->turn < best->turn || (p->turn == best->turn && p->at < best->at))
			best = p;
	}
	return best ? sorter__first_of_party(s, best) : NULL;
}

struct lane *sorter__next_of(const struct sorter *s, const struct shelf *sh)
{
	struct bar bar = { .effective = -1 };

	sorter__bar(s, sh, &bar);
	return sorter__next(s, sh, &bar);
}

struct lane *sorter__eldest(const struct sorter *s, const struct shelf *sh)
{
	struct lane *best = NULL;

	for (uint32_t some = sh->some; some; some &= some - 1) {
		struct lane *l = first_of_level(sh, __builtin_ctz(some));
		if (!best || sorter__goes_first(s, l, best))
			best = l;
	}
	return best;
}

static uint64_t turn_of(const struct shelf *sh, const struct lane *l)
{
	uint32_t at = map_get(&sh->party_of, l->queue->project);

	return at == MAP_NONE ? 0 : sh->parties[at]->turn;
}

bool sorter__passes(const struct sorter *s, const struct shelf *sh, const struct lane *l,
                    const struct lane *other)
{
	int64_t x = sorter__effective(s, l), y = sorter__effective(s, other);
	uint64_t turn = turn_of(sh, l), others = turn_of(sh, other);

	if (x > y && other->priority < l->priority)
		return true;
	if (x < y && l->priority < other->priority)
		return false;
	if (turn == others) /* of one project, or neither had one */
		return sorter__goes_first(s, l, other);
	return turn < others;
}

static void party_turned(struct shelf *sh, struct party *p, uint64_t turn)
{
	p->turn = turn;
	for (uint32_t some = p->some; some; some &= some - 1) {
		int priority = __builtin_ctz(some);
		heap_set(&sh->levels[priority]->turns, &p->rows[priority]->turn, (int64_t)turn);
	}
}

/* Pools at which nobody waits keep no turns. */
void sorter__had_turn(struct sorter *s, struct lane *l)
{
	const struct queue *q = l->queue;

	s->turns++;
	s->project_turns[q->project] = s->turns;
	l->klass->last = s->turns;
	party_turned(&l->klass->lanes, l->party, s->turns);
	for (size_t i = 0; i < q->n_takes && sorter_takes(l); i++) {
		struct shelf *at = &l->stands[i]->parked;
		if (at->n_busy > 0)
			party_turned(at, shelf__party(at, q->project), s->turns);
	}
}

/* --- all of it ------------------------------------------------------------------------------ */

int64_t shelf__oldest_us(const struct shelf *sh)
{
	int64_t oldest = 0;

	for (uint32_t some = sh->some; some; some &= some - 1) {
		const struct lane *l = first_of_level(sh, __builtin_ctz(some));
		if (oldest == 0 || l->key < oldest)
			oldest = l->key;
	}
	return oldest;
}

void shelf__done(struct shelf *sh)
{
	for (size_t i = 0; i < sh->n_parties; i++) {
		for (int p = 0; p <= PRIORITY_MAX; p++) {
			if (sh->parties[i]->rows[p])
				heap_done(&sh->parties[i]->rows[p]->lanes);
			free(sh->parties[i]->rows[p]);
		}
		free(sh->parties[i]);
	}
	for (int p = 0; p <= PRIORITY_MAX; p++) {
		if (sh->levels[p]) {
			heap_done(&sh->levels[p]->turns);
			heap_done(&sh->levels[p]->ages);
		}
		free(sh->levels[p]);
	}
	free(sh->parties);
	map_done(&sh->party_of);
}
