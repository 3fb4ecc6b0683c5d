/* A turn does a piece of the work, some milliseconds of it, however wide the windows are and
 * however many they are: the thread is others' too. What costs is counted in dates that are looked
 * at.
 *
 * An instance whose links are not all attached yet is unread. It waits, as if one more link of it
 * were open; if it was satisfied it leaves that state until they are read. A window is counted in
 * one go, with the outcomes that are known then, so nothing can come in between. What is of a
 * workflow in quarantine stays unread. What a turn leaves
 * (records of the stream, unread instances, doubts) the next one takes up, after a pause as long as
 * the piece took: half of the thread's time is others'. Unread instances stand in a lane of their
 * project, and the project that has had least is served first: who has few dates to look at does
 * not wait for who has many. */
#include <stdlib.h>

#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

enum { LINK_COST = 8 }; /* finding a window and adding an edge, in dates */

bool resolver__enough(const struct resolver *r)
{
	return r->spent >= r->piece;
}

bool resolver__is_behind(const struct resolver *r)
{
	return r->behind || r->n_lanes > 0 || r->next_doubt < r->n_doubts;
}

static void attach_link(struct resolver *r, uint32_t waiting, uint32_t link, bool is_turn)
{
	struct waiting *w = waiting_at(r, waiting);
	uint32_t win = resolver__window(r, w->key.task, link, w->key.run_date,
	                                resolver__scope_of(r, waiting));

	w = waiting_at(r, waiting);
	w->n_links += !is_turn;
	if (win != SLAB_NONE)
		resolver__edge_add(r, waiting, win);
	else if (!is_turn)
		w->met++;
	r->spent += LINK_COST;
}

/* From the first link that is not attached: how many there are, it knows. False: enough. */
static bool attach_links(struct resolver *r, uint32_t waiting, const struct task *def)
{
	struct waiting *w = waiting_at(r, waiting);
	uint32_t links = (uint32_t)def->n_links, n = links + (def->serial == SERIAL_ORDERED);

	CHECK(w->unread && w->n_links <= links);
	for (uint32_t k = w->n_links; k < n && w->key.part == 0 && !w->no_links; k++) {
		if (resolver__enough(r))
			return false;
		attach_link(r, waiting, k, k == links);
	}
	return true;
}

/* True: all is attached; due or not; on the to-do list. */
static bool read_links(struct resolver *r, uint32_t waiting, const struct task *def)
{
	int64_t now = actor_wall_us(r->me);
	bool all = attach_links(r, waiting, def);
	struct waiting *w = waiting_at(r, waiting);

	w->unread = !all;
	w->due = w->eff_due_us <= now;
	if (all && !w->due)
		resolver__timer_set(r, waiting, w->eff_due_us);
	else if (all)
		resolver__look_at_passes(r, waiting, now);
	resolver__want(r, waiting);
	return all;
}

/* What stands before the first / of a name; two that are mixed up share a lane. */
static uint64_t project_of(const struct task *def)
{
	uint64_t hash = 0;

	for (const char *c = def->name; *c && *c != '/'; c++)
		hash = map_mix(hash, (unsigned char)*c);
	return hash;
}

static struct lane *lane_least(const struct resolver *r)
{
	struct lane *least = r->lanes;

	for (size_t i = 1; i < r->n_lanes; i++)
		if (r->lanes[i].spent < least->spent)
			least = &r->lanes[i];
	return least;
}

static struct lane *lane_place(struct resolver *r, uint64_t project)
{
	size_t spent = r->n_lanes ? lane_least(r)->spent : 0;

	for (size_t i = 0; i < r->n_lanes; i++)
		if (r->lanes[i].project == project)
			return &r->lanes[i];
	r->lanes = mem_grow(r->lanes, r->n_lanes + 1, sizeof *r->lanes);
	r->lanes[r->n_lanes] = (struct lane){ .project = project, .spent = spent };
	return &r->lanes[r->n_lanes++];
}

void resolver__attach(struct resolver *r, uint32_t waiting)
{
	struct waiting *w = waiting_at(r, waiting);
	const struct rtask *t = resolver__task(r, w->key.task);

	CHECK(w->edges == EDGE_END && w->n_links == 0); /* or they would be counted twice */
	if (!t || !t->def)
		return;
	w->unread = true;
	/* Until its workflow is released or its command has said which dates it means: either
	 * attaches it anew. Each held member would be given a window that is dropped then. */
	if (t->aside || resolver__scope_held(r, waiting)) {
		resolver__want(r, waiting);
		return;
	}
	if (read_links(r, waiting, t->def))
		return;
	struct lane *lane = lane_place(r, project_of(t->def));
	lane->items = mem_room(lane->items, &lane->cap, lane->n + 1, sizeof *lane->items);
	lane->items[lane->n++] = waiting;
}

/* An instance, or some of its links. */
static void read_lane(struct resolver *r, struct lane *lane)
{
	uint32_t waiting = lane->items[lane->next];
	const struct waiting *w = waiting_at(r, waiting);
	const struct rtask *t = resolver__task(r, w->key.task);
	size_t before = r->spent;

	if (w->unread && !t->aside)
		resolver__work_for(r, w->key.task, CRUMB_DATES);
	if (!w->unread || t->aside || read_links(r, waiting, t->def))
		lane->next++; /* else it goes on with the link that is next */
	lane->spent += r->spent - before + 1;
	if (lane->next < lane->n)
		return;
	free(lane->items);
	CHECK(r->n_lanes > 0);
	*lane = r->lanes[--r->n_lanes];
}

void resolver__read_unread(struct resolver *r)
{
	while (r->n_lanes && !resolver__enough(r))
		read_lane(r, lane_least(r));
}

void resolver__slices_done(struct resolver *r)
{
	for (size_t i = 0; i < r->n_lanes; i++)
		free(r->lanes[i].items);
	free(r->lanes);
	free(r->doubts);
}
