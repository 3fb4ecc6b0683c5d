/* The table of jobs: every job this loader holds, by index and by token.
 *
 * A job enters it when it is granted or adopted, and leaves when the server has acknowledged its
 * end and has its log: loader_job_settled() is the one way out. A job that leaves is on no list of
 * the loader any more, and its memory serves the next grant. Nothing here decides what a job does.
 */

#include "broker/keeper/client.h"
#include "broker/link/link.h"
#include "broker/link/proofs.h"
#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/check.h"

struct job *loader_job_new(struct loader *l)
{
	struct job *j;

	if (l->n_free) {
		j = l->jobs[l->free_jobs[--l->n_free]];
		CHECK(j->phase == JOB_FREE);
		return j;
	}
	size_t cap = l->cap_jobs;
	l->jobs = mem_room(l->jobs, &cap, l->n_jobs + 1, sizeof(struct job *));
	l->free_jobs = mem_room(l->free_jobs, &l->cap_jobs, l->n_jobs + 1, sizeof *l->free_jobs);
	j = mem_new(sizeof *j);
	j->loader = l;
	j->index = l->n_jobs;
	l->jobs[l->n_jobs++] = j;
	return j;
}

struct job *loader_job_find(struct loader *l, uint64_t token)
{
	uint32_t index = map_get(&l->by_token, token);

	if (index == MAP_NONE)
		return NULL;
	CHECK(index < l->n_jobs && l->jobs[index]->pub.token == token);
	return l->jobs[index];
}

void loader_job_enter(struct loader *l, struct job *j)
{
	CHECK(j->phase != JOB_FREE && !j->has_slot);
	CHECK(map_get(&l->by_token, j->pub.token) == MAP_NONE);
	map_add(&l->by_token, j->pub.token, j->index);
	j->has_slot = true;
	if (l->link) { /* else an earlier loader's: HELLO will list it */
		j->entered_seq = link_beat_seq(l->link);
		j->lease_us = link_lease_us(l->link);
	}
	l->active++;
	if (!j->is_process)
		l->in_process++;
}

/* --- who is named ----------------------------------------------------------------- */

bool loader_is_named(const struct loader *l, const struct job *j)
{
	return j->phase != JOB_FREE && j->phase != JOB_ACKED &&
	       !(l->is_keeper_gone && job_is_running_process(j));
}

const uint64_t *loader_held(struct loader *l, size_t *ret_n)
{
	size_t n = 0;

	l->held = mem_room(l->held, &l->held_cap, l->n_jobs, sizeof *l->held);
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		if (loader_is_named(l, l->jobs[i]))
			l->held[n++] = l->jobs[i]->pub.token;
	}
	*ret_n = n;
	return l->held;
}

/* Also those that the beats do not name: their ends may be reported yet. */
void loader_prove(struct loader *l)
{
	struct proofs p = { 0 };

	for (uint32_t i = 0; i < l->n_jobs; i++) {
		const struct job *j = l->jobs[i];

		if (j->phase != JOB_FREE)
			proofs_add(&p, j->pub.token, &j->proof);
	}
	proofs_send(&p, l->link);
	proofs_done(&p);
}

/* --- out -------------------------------------------------------------------------- */

void loader_report_forget(struct loader *l, struct job *j)
{
	if (!j->is_dirty)
		return;
	struct job **at = &l->dirty;

	while (*at != j) {
		CHECK(*at);
		at = &(*at)->dirty_next;
	}
	*at = j->dirty_next;
	if (!*at)
		l->dirty_tail = at;
	j->is_dirty = false;
	j->due = 0;
}

static void forget_text(struct loader *l, struct job *j)
{
	pthread_mutex_lock(&l->mu);
	for (struct job **at = &l->texts; j->has_text && *at; at = &(*at)->text_next) {
		if (*at == j) {
			*at = j->text_next;
			break;
		}
	}
	pthread_mutex_unlock(&l->mu);
}

static void ship_forget(struct loader *l, struct job *j)
{
	if (atomic_load(&j->has_logged))
		forget_text(l, j);
	if (!j->is_shipping)
		return;
	struct job **at = &l->shipping;

	while (*at != j) {
		CHECK(*at);
		at = &(*at)->ship_next;
	}
	*at = j->ship_next;
	for (int i = 0; i < LOGS; i++) {
		if (!j->logs[i].in_flight)
			continue;
		CHECK(l->log_flight >= j->logs[i].sent);
		l->log_flight -= j->logs[i].sent;
	}
	j->is_shipping = false;
}

static void table_leave(struct loader *l, struct job *j)
{
	map_remove(&l->by_token, j->pub.token, j->index);
	loader_report_forget(l, j);
	ship_forget(l, j);
	CHECK(!j->is_dirty && !j->is_shipping && !j->start);
	job_clear(j);
	CHECK(l->n_free < l->n_jobs);
	l->free_jobs[l->n_free++] = j->index;
}

void loader_job_settled(struct loader *l, struct job *j)
{
	if (j->phase != JOB_ACKED || !job_is_shipped(j))
		return;
	CHECK(!j->has_slot);
	/* A keeper that is not up tells the end again later; then it is forgotten. */
	if (j->is_process && j->in_keeper)
		keeper_client_forget(l->keeper, &j->pub.token, 1, NULL);
	table_leave(l, j);
}
