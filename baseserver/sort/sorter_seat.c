/* Sessions of loaders: which classes they serve, how much credit is open, which is chosen.
 *
 * A seat is one loader's session. Its credit is the running total that the loader allows, less
 * what was granted; a class may start something while the sum over its seats (klass.open) is above
 * zero, and is in sorter.startable exactly then. Each change of a seat goes through open_changed(),
 * which keeps that sum. Seats of one broker share a desk, because brokers are ranked by what the
 * whole machine runs.
 *
 * A choice looks at the seats of a class that have room and takes the one of the least rank: by
 * the task's `dispatch` the machine with the least running, the next in turn, a random one, or
 * always the same; or by an expression of the task. The broker where it did not start comes last.
 */
#include <stdlib.h>
#include <string.h>

#include "baseserver/sort/sorter_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/map.h"

static bool same_machines(char **a, const char *const *b, size_t n_b)
{
	size_t n = 0;

	while (a && a[n])
		n++;
	if (n != n_b)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

static bool has_name(char **names, const char *name)
{
	for (; names && *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

bool sorter__reaches(const struct seat *seat, const struct klass *k)
{
	if ((k->broker && k->broker != seat->broker) || strcmp(seat->type, k->type) != 0)
		return false;
	if (k->machines)
		return has_name(k->machines, seat->broker_name);
	return k->group[0] == 0 || has_name(seat->groups, k->group);
}

static bool serves(const struct seat *seat, const struct klass *k)
{
	return sorter__reaches(seat, k) && sorter__bound_allows(seat, k);
}

/* As if its machine had room. */
static uint64_t credit_of(const struct seat *seat)
{
	uint64_t open = seat->accepts && seat->limit > seat->granted ? seat->limit - seat->granted
	                                                             : 0;

	return open < seat->room ? open : seat->room;
}

static uint64_t open_of(const struct sorter *s, const struct seat *seat)
{
	return sorter__machine_is_full(s, seat->host) ? 0 : credit_of(seat);
}

/* In the list of those that may start something, or not. */
void sorter__class_moved(struct sorter *s, struct klass *k)
{
	bool may = k->lanes.some && k->open > 0;

	if (may == (k->at != NULL))
		return;
	if (may) {
		k->at = &s->startable;
		k->next = *k->at;
		if (k->next)
			k->next->at = &k->next;
		*k->at = k;
		return;
	}
	*k->at = k->next;
	if (k->next)
		k->next->at = k->at;
	k->at = NULL;
}

/* What is kept for lanes of a class is kept only while it has credit. */
static void set_open(struct sorter *s, struct klass *k, uint64_t open)
{
	bool turned = (open > 0) != (k->open > 0);

	k->open = open;
	sorter__credit_moved(s, k);
	sorter__class_moved(s, k);
	if (turned)
		sorter__reserves_moved(s);
}

static uint32_t slots_of(const struct seat *seat)
{
	return seat->accepts ? seat->slots : 0;
}

static void seat_down(struct sorter *s, struct klass *k, struct seat *seat)
{
	k->sessions = mem_grow(k->sessions, k->n_sessions + 1, sizeof *k->sessions);
	k->sessions[k->n_sessions++] = seat;
	k->slots += slots_of(seat);
	set_open(s, k, k->open + open_of(s, seat));
}

/* Brokers that serve the same: all of a group, of some machines, or one. */
struct served {
	const struct task *def;
	const char *type, *group;
	const char *const *machines;
	size_t n;
	uint32_t broker;
};

static struct klass *class_get(struct sorter *s, const struct served *w)
{
	bool is_trusted = sorter__bound_trusts(s, w->def);
	char *project = sorter__bound_project(s, w->def);

	const struct klass *alike = NULL;

	for (size_t i = 0; i < s->n_classes; i++) {
		struct klass *k = s->classes[i];
		if (strcmp(k->type, w->type) != 0 || strcmp(k->group, w->group) != 0)
			continue;
		alike = alike ? alike : k;
		if (k->broker == w->broker && k->is_trusted == is_trusted &&
		    strcmp(k->project, project) == 0 &&
		    same_machines(k->machines, w->machines, w->n)) {
			free(project);
			return k;
		}
	}
	struct klass *k = mem_new(sizeof *k);
	k->alike = alike ? alike : k;
	k->broker = w->broker;
	k->is_trusted = is_trusted;
	k->project = project;
	k->type = mem_str(w->type);
	k->group = mem_str(w->group);
	if (w->n) {
		k->machines = mem_array(w->n + 1, sizeof *k->machines);
		for (size_t i = 0; i < w->n; i++)
			k->machines[i] = mem_str(w->machines[i]);
	}
	s->classes = mem_grow(s->classes, s->n_classes + 1, sizeof *s->classes);
	s->classes[s->n_classes++] = k;
	sorter__credit_moved(s, k);
	for (size_t i = 0; i < s->n_seats; i++)
		if (serves(s->seats[i], k))
			seat_down(s, k, s->seats[i]);
	return k;
}

struct klass *sorter__class_of(struct sorter *s, const struct task *def)
{
	return class_get(s, &(struct served){ .def = def,
	                                      .type = def->type,
	                                      .group = def->group,
	                                      .machines = def->machines,
	                                      .n = def->n_machines });
}

struct klass *sorter__class_of_part(struct sorter *s, const struct task *def, int32_t part,
                                    uint32_t broker)
{
	if (def->n_machines == 0 && broker == 0)
		return NULL;
	if (def->n_machines == 0)
		return class_get(
			s, &(struct served){
				   .def = def, .type = def->type, .group = "", .broker = broker });
	if ((size_t)part > def->n_machines)
		return NULL; /* its node was taken out */
	return class_get(s, &(struct served){ .def = def,
	                                      .type = def->type,
	                                      .group = "",
	                                      .machines = &def->machines[part - 1],
	                                      .n = 1 });
}

struct seat *sorter__seat(const struct sorter *s, uint32_t session)
{
	for (size_t i = 0; i < s->n_seats; i++)
		if (s->seats[i]->session == session)
			return s->seats[i];
	return NULL;
}

static void names_drop(char **names)
{
	for (char **n = names; n && *n; n++)
		free(*n);
	free(names);
}

static void seat_free(struct seat *seat)
{
	names_drop(seat->groups);
	names_drop(seat->projects);
	free(seat->type);
	free(seat->broker_name);
	free(seat);
}

static void desk_leave(struct sorter *s, struct seat *seat)
{
	struct desk *d = seat->desk, **at = &s->desks;

	d->running -= seat->running + seat->asked;
	d->liked_by = 0;
	CHECK(d->seats > 0);
	if (--d->seats > 0)
		return;
	CHECK(d->running == 0); /* the sum of its seats' */
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	free(d);
}

static void seat_leave(struct sorter *s, struct seat *seat)
{
	for (size_t i = 0; i < s->n_classes; i++) {
		struct klass *k = s->classes[i];
		for (size_t j = 0; j < k->n_sessions; j++)
			if (k->sessions[j] == seat) {
				k->sessions[j] = k->sessions[--k->n_sessions];
				CHECK(k->open >= open_of(s, seat) && k->slots >= slots_of(seat));
				k->slots -= slots_of(seat);
				set_open(s, k, k->open - open_of(s, seat));
				break;
			}
	}
}

static void seat_join(struct sorter *s, struct seat *seat)
{
	for (size_t i = 0; i < s->n_classes; i++)
		if (serves(seat, s->classes[i]))
			seat_down(s, s->classes[i], seat);
}

void sorter__seat_bind(struct sorter *s, struct seat *seat)
{
	seat_leave(s, seat);
	names_drop(seat->projects);
	seat->projects = sorter__bound_to(s, seat->broker_name);
	seat_join(s, seat);
}

void sorter__seat_gone(struct sorter *s, struct seat *seat)
{
	desk_leave(s, seat);
	seat_leave(s, seat);
	for (size_t i = 0; i < s->n_seats; i++)
		if (s->seats[i] == seat)
			s->seats[i] = s->seats[--s->n_seats];
	seat_free(seat);
}

static void desk_enter(struct sorter *s, struct seat *seat)
{
	struct desk *d = s->desks;

	while (d && d->broker != seat->broker)
		d = d->next;
	if (!d) {
		d = mem_new(sizeof *d);
		d->broker = seat->broker;
		d->next = s->desks;
		s->desks = d;
	}
	d->seats++;
	d->running += seat->running;
	d->liked_by = 0;
	seat->desk = d;
}

struct seat *sorter__seat_enter(struct sorter *s, const struct session_news *n)
{
	struct seat *seat = mem_new(sizeof *seat);
	size_t groups = 0;

	CHECK(!sorter__seat(s, n->session)); /* a second seat would spend the same credit */
	seat->session = n->session;
	seat->broker = n->broker;
	seat->lane = n->lane;
	seat->machine = n->machine;
	seat->keeps_proofs = n->keeps_proofs;
	seat->host = sorter__machine(s, n->broker);
	seat->type = mem_str(n->type);
	seat->broker_name = mem_str(n->broker_name);
	while (n->groups && n->groups[groups])
		groups++;
	seat->groups = mem_array(groups + 1, sizeof *seat->groups);
	for (size_t i = 0; i < groups; i++)
		seat->groups[i] = mem_str(n->groups[i]);
	seat->projects = sorter__bound_to(s, n->broker_name);
	seat->separates = n->separates;
	seat->running = (int32_t)n->held;
	seat->room = STARTS_ANY;
	desk_enter(s, seat);
	s->seats = mem_grow(s->seats, s->n_seats + 1, sizeof *s->seats);
	s->seats[s->n_seats++] = seat;
	seat_join(s, seat);
	return seat;
}

static void open_changed(struct sorter *s, const struct seat *seat, uint64_t was)
{
	uint64_t is = open_of(s, seat);

	for (size_t i = 0; is != was && i < s->n_classes; i++) {
		struct klass *k = s->classes[i];
		if (!serves(seat, k))
			continue;
		CHECK(k->open >= was); /* the sum of its sessions' */
		set_open(s, k, k->open - was + is);
	}
}

static void slots_changed(struct sorter *s, const struct seat *seat, uint32_t was)
{
	uint32_t is = slots_of(seat);

	for (size_t i = 0; is != was && i < s->n_classes; i++) {
		struct klass *k = s->classes[i];
		if (!serves(seat, k))
			continue;
		CHECK(k->slots >= was); /* the sum of its sessions' */
		k->slots += is;
		k->slots -= was;
	}
}

static void seats_turned(struct sorter *s, uint32_t machine)
{
	bool is_full = sorter__machine_is_full(s, machine);

	for (size_t i = 0; i < s->n_seats; i++)
		if (s->seats[i]->host == machine)
			open_changed(s, s->seats[i], is_full ? credit_of(s->seats[i]) : 0);
}

void sorter__place(struct sorter *s, struct ready *r, uint32_t broker)
{
	uint32_t to = broker ? sorter__machine(s, broker) + 1 : 0, from = r->place;

	CHECK(from <= s->n_machines);
	if (from == to)
		return;
	r->place = to;
	if (from && sorter__machine_count(s, from - 1, -1))
		seats_turned(s, from - 1);
	if (to && sorter__machine_count(s, to - 1, 1))
		seats_turned(s, to - 1);
}

void sorter__seat_news(struct sorter *s, struct seat *seat, const struct session_news *n)
{
	if (sorter__machine_jobs_max(s, seat->host, n->jobs_max))
		seats_turned(s, seat->host);
	uint64_t was = open_of(s, seat);
	uint32_t slots = slots_of(seat);
	seat->accepts = n->accepts;
	seat->slots = n->slots;
	slots_changed(s, seat, slots);
	seat->limit = n->limit;
	seat->load = n->load;
	seat->desk->liked_by = 0;
	open_changed(s, seat, was);
}

static void seat_count(struct seat *seat, int32_t running, int32_t asked)
{
	seat->running += running;
	seat->asked += asked;
	seat->desk->running += running + asked;
	seat->desk->liked_by = 0;
}

/* What was asked for runs now: it counts once. */
void sorter__seat_runs(struct seat *seat, int32_t more)
{
	if (more)
		seat_count(seat, more, more > 0 && seat->asked > 0 ? -1 : 0);
}

void sorter__spend(struct sorter *s, struct seat *seat)
{
	uint64_t was = open_of(s, seat);

	CHECK(was > 0); /* nothing is granted beyond a session's credit */
	seat_count(seat, 0, 1);
	seat->granted++;
	seat->room -= seat->room != STARTS_ANY && seat->room > 0;
	open_changed(s, seat, was);
}

void sorter__seat_room(struct sorter *s, struct seat *seat, uint32_t room)
{
	uint64_t was = open_of(s, seat);

	seat->room = room;
	open_changed(s, seat, was);
}

void sorter__regain(struct sorter *s, struct seat *seat)
{
	uint64_t was = open_of(s, seat);

	if (seat->asked > 0)
		seat_count(seat, 0, -1);
	CHECK(seat->granted > 0);
	seat->granted--;
	open_changed(s, seat, was);
}

static uint32_t draw(struct sorter *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 17;
	s->random ^= s->random << 5;
	return s->random;
}

/* Smaller is better. */
static uint64_t rank(struct sorter *s, const struct klass *k, size_t at, const struct ready *r)
{
	const struct seat *seat = k->sessions[at];
	int32_t running;

	switch (r->queue->def->dispatch) {
	case DISPATCH_ROUND_ROBIN:
		return (at + k->n_sessions - k->turn % k->n_sessions) % k->n_sessions;
	case DISPATCH_RANDOM:
		return draw(s);
	case DISPATCH_HASH: /* rendezvous: the same broker as long as it is there */
		return map_mix(map_mix(r->key.task, (uint64_t)r->key.run_date), seat->broker);
	default:
		running = seat->running + seat->asked;
		return (uint64_t)(running > 0 ? running : 0) << 32 | seat->load.load_permille;
	}
}

static struct rank rank_by(const struct expr *e, const struct seat *seat)
{
	struct desk *d = seat->desk;

	if (d->liked_by != expr_hash(e)) {
		struct rank_broker b = { .name = seat->broker_name,
			                 .groups = (const char *const *)seat->groups,
			                 .load = &seat->load,
			                 .running = d->running };
		d->liked = rank_of(e, &b);
		d->liked_by = expr_hash(e);
	}
	return d->liked;
}

/* Chooses the broker whose expression gives the least among those with room, and of its loaders the
 * one with the fewest jobs. The expression is evaluated once for each broker. */
static struct seat *choose_least(const struct sorter *s, const struct klass *k,
                                 const struct ready *r, uint32_t avoid)
{
	struct seat *best = NULL;
	struct rank best_rank = { 0 };

	for (size_t i = 0; i < k->n_sessions; i++) {
		struct seat *seat = k->sessions[i];
		if (open_of(s, seat) == 0 || (avoid && seat->broker == avoid))
			continue;
		if (best && best->broker == seat->broker) {
			if (seat->running + seat->asked < best->running + best->asked)
				best = seat;
			continue;
		}
		struct rank rank = rank_by(r->queue->def->least, seat);
		if (!best || rank_before(&rank, &best_rank)) {
			best = seat;
			best_rank = rank;
		}
	}
	return best;
}

static struct seat *seat_choose(struct sorter *s, struct klass *k, const struct ready *r,
                                uint32_t avoid)
{
	struct seat *best = NULL;
	uint64_t best_rank = 0;
	size_t best_at = 0;

	if (r->queue->def->least)
		return choose_least(s, k, r, avoid);
	for (size_t i = 0; i < k->n_sessions; i++) {
		if (open_of(s, k->sessions[i]) == 0 || (avoid && k->sessions[i]->broker == avoid))
			continue;
		uint64_t got = rank(s, k, i, r);
		if (!best || got < best_rank) {
			best = k->sessions[i];
			best_rank = got;
			best_at = i;
		}
	}
	if (best)
		k->turn = best_at + 1;
	return best;
}

struct seat *sorter__choose(struct sorter *s, struct klass *k, const struct ready *r)
{
	struct seat *elsewhere = r->avoid ? seat_choose(s, k, r, r->avoid) : NULL;

	return elsewhere ? elsewhere : seat_choose(s, k, r, 0);
}

size_t sorter__brokers(const struct klass *k, uint32_t **ret_brokers)
{
	uint32_t *brokers = mem_array(k->n_sessions + 1, sizeof *brokers);
	size_t n = 0;

	for (size_t i = 0; i < k->n_sessions; i++) {
		size_t j = 0;
		while (j < n && brokers[j] != k->sessions[i]->broker)
			j++;
		if (j == n)
			brokers[n++] = k->sessions[i]->broker;
	}
	*ret_brokers = brokers;
	return n;
}

void sorter__seats_free(struct sorter *s)
{
	for (size_t i = 0; i < s->n_seats; i++)
		seat_free(s->seats[i]);
	free(s->seats);
	for (struct desk *d = s->desks, *next; d; d = next) {
		next = d->next;
		free(d);
	}
	for (size_t i = 0; i < s->n_classes; i++) {
		struct klass *k = s->classes[i];
		names_drop(k->machines);
		free(k->project);
		free(k->type);
		free(k->group);
		free(k->sessions);
		shelf__done(&k->lanes);
		free(k);
	}
	free(s->classes);
}
