/* The store in memory: the same verbs on a struct mem_disk, for tests and the simulator. A handle
 * is a process, the disk what outlives it: store_mem_crash() takes the disk from one handle and
 * gives it to the next. Faults can be ordered, before the work or after it with its answer lost.
 * It keeps no tip, no audit, and has no reader. */
#include "store/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/mem_disk.h"
#include "store/store_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

struct mem_store {
	struct store base;
	struct mem_disk *disk; /* NULL: crashed */
	unsigned fault_after, fault_n;
	unsigned read_after, read_n; /* the same for reads of one row */
	int read_code;
	int fault_code;
	enum store_fault_when fault_when;
};

static struct mem_store *mem_of(const struct store *s)
{
	CHECK(s->ops == &store_mem_ops);
	return (struct mem_store *)(uintptr_t)s;
}

static struct store *handle_on(struct mem_disk *d)
{
	struct mem_store *m = mem_new(sizeof *m);

	m->base.ops = &store_mem_ops;
	m->disk = d;
	return &m->base;
}

static int mem_open(const char *rest, struct store **ret_store, struct err *err)
{
	if (*rest)
		return err_set(err, E_INVALID, "store url: nothing goes after mem:");
	*ret_store = handle_on(mem_disk_new());
	return 0;
}

static void mem_close(struct store *s)
{
	mem_disk_unref(mem_of(s)->disk);
	free(s);
}

static int alive(const struct mem_store *m, struct err *err)
{
	return m->disk ? 0 : err_set(err, E_CLOSED, "this process has crashed");
}

/* Is this call one of those that were ordered to fail? */
static bool fault_now(struct mem_store *m)
{
	if (!m->fault_n)
		return false;
	if (m->fault_after) {
		m->fault_after--;
		return false;
	}
	m->fault_n--;
	return true;
}

static int mem_fault(const struct mem_store *m, struct err *err)
{
	return err_set(err, m->fault_code, "ordered fault, %s",
	               m->fault_when == STORE_FAULT_BEFORE ? "nothing stored"
	                                                   : "stored, answer lost");
}

static bool read_fails(struct mem_store *m)
{
	if (!m->read_n)
		return false;
	if (m->read_after) {
		m->read_after--;
		return false;
	}
	m->read_n--;
	return true;
}

static int mem_prove(const struct mem_store *m, uint32_t epoch, struct err *err)
{
	if (m->disk->epoch == epoch)
		return 0;
	return err_set(err, E_EPOCH, "epoch %" PRIu32 " is over, the store has %" PRIu32, epoch,
	               m->disk->epoch);
}

/* What every change begins with; *ret_fails: it is to be made, and its answer lost. */
static int begin_change(struct mem_store *m, uint32_t epoch, bool may_fail, bool *ret_fails,
                        struct err *err)
{
	int r = alive(m, err);

	*ret_fails = r == 0 && may_fail && fault_now(m);
	if (r == 0 && *ret_fails && m->fault_when == STORE_FAULT_BEFORE)
		r = mem_fault(m, err);
	return r == 0 ? mem_prove(m, epoch, err) : r;
}

static int mem_take_epoch(struct store *s, const char *who, uint32_t *ret_epoch, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);
	bool fails = r == 0 && fault_now(m);

	(void)who;
	if (r < 0)
		return r;
	if (fails && m->fault_when == STORE_FAULT_BEFORE)
		return mem_fault(m, err);
	CHECK(m->disk->epoch < UINT32_MAX);
	m->disk->epoch++;
	if (fails)
		return mem_fault(m, err);
	*ret_epoch = m->disk->epoch;
	return 0;
}

static int mem_lease(struct store *s, struct store_lease *ret, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	if (r < 0)
		return r;
	*ret = m->disk->lease;
	ret->epoch = m->disk->epoch;
	ret->number = m->disk->number;
	return 0;
}

static int mem_take_lease(struct store *s, const struct store_lease *seen,
                          const struct store_lease *mine, uint32_t *ret_epoch, struct err *err)
{
	struct mem_store *m = mem_of(s);
	struct store_lease now;
	int r = mem_lease(s, &now, err);

	if (r < 0)
		return r;
	if (now.epoch != seen->epoch || now.beat != seen->beat || now.number != seen->number)
		return err_set(err, E_CONFLICT, "%s leads, epoch %" PRIu32, now.who, now.epoch);
	m->disk->lease = *mine;
	m->disk->lease.renewed_us = now.renewed_us;
	m->disk->lease.beat = now.beat + 1;
	m->disk->epoch++;
	*ret_epoch = m->disk->epoch;
	return 0;
}

static int mem_renew_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	if (r == 0)
		r = mem_prove(m, epoch, err);
	if (r == 0)
		m->disk->lease.beat++;
	if (r == 0 && now_us > 0)
		m->disk->lease.renewed_us = now_us;
	return r;
}

static int mem_add_gap(struct store *s, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
                       struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	if (r == 0)
		r = mem_prove(m, epoch, err);
	if (r == 0)
		mem_disk_add_gap(m->disk, g, oldest);
	return r;
}

static int mem_load_gaps(struct store *s, uint64_t number,
                         int (*each)(void *ctx, const struct store_gap *g), void *ctx,
                         struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_gaps; i++)
		if (m->disk->gaps[i].number >= number)
			r = each(ctx, &m->disk->gaps[i]);
	return r < 0 ? r : 0;
}

static int mem_give_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err)
{
	int r = mem_renew_lease(s, epoch, now_us, err);

	if (r == 0)
		mem_of(s)->disk->lease.lease_ms = 0;
	return r;
}

static int mem_show_node(struct store *s, const struct store_node *n, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->disk->n_nodes; i++)
		if (strcmp(m->disk->nodes[i].who, n->who) == 0) {
			m->disk->nodes[i] = *n;
			return 0;
		}
	m->disk->nodes = mem_grow(m->disk->nodes, m->disk->n_nodes + 1, sizeof *m->disk->nodes);
	m->disk->nodes[m->disk->n_nodes++] = *n;
	return 0;
}

/* Time does not pass in memory. */
static int mem_each_node(struct store *s, int64_t max_age_us,
                         int (*each)(void *ctx, const struct store_node *n), void *ctx,
                         struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	(void)max_age_us;
	for (size_t i = 0; r == 0 && i < m->disk->n_nodes; i++)
		r = each(ctx, &m->disk->nodes[i]);
	return r;
}

static int mem_position(struct store *s, uint64_t *ret_number, uint32_t *ret_epoch, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	if (r < 0)
		return r;
	*ret_number = m->disk->number;
	*ret_epoch = m->disk->epoch;
	return 0;
}

static int mem_commit(struct store *s, const struct store_batch *b, struct err *err)
{
	struct mem_store *m = mem_of(s);
	bool fails;
	int r = begin_change(m, b->epoch, true, &fails, err);

	if (r == 0)
		r = store__check_numbers(b, m->disk->number, err);
	if (r < 0)
		return r;
	if (r == 0)
		mem_disk_write(m->disk, b);
	return fails ? mem_fault(m, err) : 0;
}

static void mem_idle(struct store *s)
{
	(void)s;
}

static int mem_load_docs(struct store *s, enum store_doc_kind kind,
                         int (*each)(void *ctx, const struct store_doc *d), void *ctx,
                         struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_docs; i++) {
		const struct store_doc *d = &m->disk->docs[i], *next = d + 1;
		bool newest = i + 1 == m->disk->n_docs || next->id != d->id ||
		              next->kind != d->kind;

		if (d->kind == kind && newest)
			r = each(ctx, d);
	}
	return r < 0 ? r : 0;
}

static int mem_find_workflow(struct store *s, uint32_t id, uint32_t version,
                             int (*each)(void *ctx, const struct store_doc *d), void *ctx,
                             struct err *err)
{
	struct mem_store *m = mem_of(s);
	enum store_doc_kind kind = workflow_kind(version);
	int r = alive(m, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->disk->n_docs; i++) {
		const struct store_doc *d = &m->disk->docs[i];
		if (d->kind == kind && d->id == id && d->version == version)
			return each(ctx, d);
	}
	return err_set(err, E_NOT_FOUND, "no version %" PRIu32 " of workflow %" PRIu32, version,
	               id);
}

static int mem_load_tasks(struct store *s, int (*each)(void *ctx, const struct store_task *t),
                          void *ctx, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_tasks; i++)
		r = each(ctx, &m->disk->tasks[i]);
	return r < 0 ? r : 0;
}

static int mem_load_live(struct store *s, int (*each)(void *ctx, const struct instance *i),
                         void *ctx, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->live.n; i++)
		if (m->disk->live.rows[i].state != ST_NONE)
			r = each(ctx, &m->disk->live.rows[i]);
	return r < 0 ? r : 0;
}

static int by_slot(const void *a, const void *b)
{
	const struct instance *x = *(const struct instance *const *)a;
	const struct instance *y = *(const struct instance *const *)b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Unfinished rows from slot `from` on, ascending; the caller's to free. */
static const struct instance **live_by_slot(const struct mem_table *t, uint32_t from, size_t *ret_n)
{
	const struct instance **list = mem_array(t->n + 1, sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].state != ST_NONE && t->rows[i].slot >= from)
			list[n++] = &t->rows[i];
	qsort(list, n, sizeof *list, by_slot);
	*ret_n = n;
	return list;
}

static int mem_scan_live(struct store *s, uint32_t from, size_t max,
                         int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
                         struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);
	size_t n = 0;

	if (r < 0)
		return r;
	const struct instance **list = live_by_slot(&m->disk->live, from, &n);
	for (size_t i = 0; r >= 0 && i < n && i < max; i++)
		r = each(ctx, list[i]->slot, list[i]->last_number);
	free(list);
	return r < 0 ? r : 0;
}

static int mem_read_live(struct store *s, const uint32_t *slots, size_t n,
                         int (*each)(void *ctx, const struct instance *i), void *ctx,
                         struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);
	size_t n_rows = 0, at = 0;

	if (r < 0)
		return r;
	const struct instance **list = live_by_slot(&m->disk->live, slots[0], &n_rows);
	for (size_t i = 0; r >= 0 && i < n_rows; i++) {
		while (at < n && slots[at] < list[i]->slot)
			at++;
		if (at < n && slots[at] == list[i]->slot)
			r = each(ctx, list[i]);
	}
	free(list);
	return r < 0 ? r : 0;
}

static int mem_load_outcomes(struct store *s, int (*each)(void *ctx, const struct store_outcome *o),
                             void *ctx, struct err *err)
{
	struct mem_store *m = mem_of(s);
	const struct instance **list;
	size_t n;
	int r = alive(m, err);

	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < m->disk->n_outcomes; i++)
		r = each(ctx, &m->disk->outcomes[i]);
	list = mem_table_by_number(&m->disk->done, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct store_outcome o = { list[i]->key.task,     list[i]->generation,
			                   list[i]->key.run_date, list[i]->key.run_date,
			                   list[i]->state,        list[i]->reason };

		if (list[i]->last_number > m->disk->outcome_number && list[i]->key.part == 0)
			r = each(ctx, &o);
	}
	free(list);
	return r < 0 ? r : 0;
}

static int mem_load_ranges(struct store *s, bool unsaved,
                           int (*each)(void *ctx, const struct store_range *r), void *ctx,
                           struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_ranges; i++)
		if (!unsaved || m->disk->ranges[i].number > m->disk->outcome_number)
			r = each(ctx, &m->disk->ranges[i]);
	return r < 0 ? r : 0;
}

static int mem_find_range(struct store *s, uint32_t task, int64_t run_date, struct store_range *ret,
                          struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = r < 0 ? 0 : m->disk->n_ranges; i-- > 0;) {
		const struct store_range *n = &m->disk->ranges[i];
		if (n->task == task && n->lo <= run_date && n->hi >= run_date) {
			*ret = *n;
			return 0;
		}
	}
	return r < 0 ? r
	             : err_set(err, E_NOT_FOUND, "task %" PRIu32 " has no range over %" PRId64,
	                       task, run_date);
}

static int mem_load_alerts(struct store *s, int (*each)(void *ctx, const struct store_alert *a),
                           void *ctx, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_alerts; i++)
		if (m->disk->alerts[i].ended_us == 0)
			r = each(ctx, &m->disk->alerts[i]);
	return r < 0 ? r : 0;
}

static int mem_load_commands(struct store *s, bool unfinished_only,
                             int (*each)(void *ctx, const struct store_command *c), void *ctx,
                             struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_commands; i++)
		if (!unfinished_only || m->disk->commands[i].ended_us == 0)
			r = each(ctx, &m->disk->commands[i]);
	return r < 0 ? r : 0;
}

static int mem_find_done(struct store *s, struct inst_key key, struct instance *ret,
                         struct err *err)
{
	struct mem_store *m = mem_of(s);
	const struct instance *i;
	int r = alive(m, err);

	if (r == 0 && read_fails(m))
		r = err_set(err, m->read_code, "ordered fault, nothing read");
	if (r < 0)
		return r;
	i = mem_table_find(&m->disk->done, key);
	if (!i)
		return err_set(err, E_NOT_FOUND,
		               "no finished instance of task %" PRIu32 " at %" PRId64
		               ", part %" PRId32,
		               key.task, key.run_date, key.part);
	*ret = *i;
	return 0;
}

static int mem_find_data(struct store *s, uint64_t last_number, uint32_t generation,
                         enum inst_data kind, char **ret_body, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);
	const char *body;

	if (r < 0)
		return r;
	body = mem_disk_find_data(m->disk, last_number, generation, kind);
	if (!body)
		return err_set(err, E_NOT_FOUND, "no data of kind %d at %" PRIu64, (int)kind,
		               last_number);
	*ret_body = mem_str(body);
	return 0;
}

static int mem_find_command(struct store *s, const char *request_id,
                            int (*each)(void *ctx, const struct store_command *c), void *ctx,
                            struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_commands; i++)
		if (strcmp(m->disk->commands[i].request_id, request_id) == 0) {
			r = each(ctx, &m->disk->commands[i]);
			return r < 0 ? r : 0;
		}
	return r < 0 ? r
	             : err_set(err, E_NOT_FOUND, "no command with request id %.80s", request_id);
}

static int mem_save_outcomes(struct store *s, uint32_t epoch, const struct store_outcome *o,
                             size_t n, uint64_t upto_number, struct err *err)
{
	struct mem_store *m = mem_of(s);
	bool fails;
	int r = begin_change(m, epoch, true, &fails, err);

	if (r == 0 && upto_number > m->disk->number)
		r = err_set(err, E_INVALID,
		            "outcomes up to %" PRIu64 ", the store ends at %" PRIu64, upto_number,
		            m->disk->number);
	if (r < 0)
		return r;
	mem_disk_save_outcomes(m->disk, o, n, upto_number);
	return fails ? mem_fault(m, err) : 0;
}

static int mem_retain(struct store *s, uint32_t epoch, const struct store_retention *ask,
                      size_t *ret_rows, struct err *err)
{
	struct mem_store *m = mem_of(s);
	bool fails;
	int r = begin_change(m, epoch, !ask->dry_run, &fails, err);
	size_t rows;

	if (r < 0)
		return r;
	rows = mem_disk_retain(m->disk, ask->before_us, ask->rows_max, ask->dry_run);
	if (fails)
		return mem_fault(m, err);
	*ret_rows = rows;
	return 0;
}

static int mem_load_items(struct store *s, uint64_t command,
                          int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                          struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_items; i++)
		if (m->disk->items[i].command == command)
			r = each(ctx, &m->disk->items[i]);
	return r < 0 ? r : 0;
}

static int mem_load_stats(struct store *s, const struct store_stat_days *days,
                          int (*each)(void *ctx, const struct store_stat *st), void *ctx,
                          struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	for (size_t i = 0; r >= 0 && i < m->disk->n_stats; i++) {
		const struct store_stat *st = &m->disk->stats[i];
		if (st->task == days->task && st->day >= days->lo && st->day <= days->hi)
			r = each(ctx, st);
	}
	return r < 0 ? r : 0;
}

static int mem_drop_stats(struct store *s, uint32_t epoch, int32_t day, size_t rows_max,
                          size_t *ret_rows, struct err *err)
{
	struct mem_store *m = mem_of(s);
	int r = alive(m, err);

	if (r == 0)
		r = mem_prove(m, epoch, err);
	if (r == 0)
		*ret_rows = mem_disk_drop_stats(m->disk, day, rows_max);
	return r;
}

void store_mem_fail(struct store *s, unsigned after, unsigned n, int code,
                    enum store_fault_when when)
{
	struct mem_store *m = mem_of(s);

	m->fault_after = after;
	m->fault_n = n;
	m->fault_code = code;
	m->fault_when = when;
}

void store_mem_fail_reads(struct store *s, unsigned after, unsigned n, int code)
{
	struct mem_store *m = mem_of(s);

	m->read_after = after;
	m->read_n = n;
	m->read_code = code;
}

void store_mem_crash(struct store *s, struct store **ret_next)
{
	struct mem_store *m = mem_of(s);

	CHECK(m->disk);
	*ret_next = handle_on(m->disk);
	m->disk = NULL;
}

void store_mem_copy(const struct store *s, struct store **ret_copy)
{
	CHECK(mem_of(s)->disk);
	*ret_copy = handle_on(mem_disk_copy(mem_of(s)->disk));
}

void store_mem_share(struct store *s, struct store **ret_other)
{
	struct mem_store *m = mem_of(s);

	CHECK(m->disk);
	m->disk->refs++;
	*ret_other = handle_on(m->disk);
}

int store_mem_each_event(const struct store *s, int (*each)(void *ctx, const struct transition *t),
                         void *ctx)
{
	const struct mem_disk *d = mem_of(s)->disk;
	int r = 0;

	CHECK(d);
	for (size_t i = 0; r >= 0 && i < d->n_events; i++)
		r = each(ctx, &d->events[i]);
	return r < 0 ? r : 0;
}

size_t store_mem_count_live(const struct store *s)
{
	CHECK(mem_of(s)->disk);
	return mem_of(s)->disk->live.used;
}

size_t store_mem_count_done(const struct store *s)
{
	CHECK(mem_of(s)->disk);
	return mem_of(s)->disk->done.used;
}

const struct store_ops store_mem_ops = {
	.prefix = "mem:",
	.open = mem_open,
	.close = mem_close,
	.take_epoch = mem_take_epoch,
	.is_exclusive = true,
	.lease = mem_lease,
	.take_lease = mem_take_lease,
	.renew_lease = mem_renew_lease,
	.add_gap = mem_add_gap,
	.load_gaps = mem_load_gaps,
	.give_lease = mem_give_lease,
	.show_node = mem_show_node,
	.each_node = mem_each_node,
	.position = mem_position,
	.commit = mem_commit,
	.idle = mem_idle,
	.load_docs = mem_load_docs,
	.find_workflow = mem_find_workflow,
	.load_tasks = mem_load_tasks,
	.load_live = mem_load_live,
	.scan_live = mem_scan_live,
	.read_live = mem_read_live,
	.load_outcomes = mem_load_outcomes,
	.load_ranges = mem_load_ranges,
	.find_range = mem_find_range,
	.load_commands = mem_load_commands,
	.load_alerts = mem_load_alerts,
	.find_done = mem_find_done,
	.find_data = mem_find_data,
	.find_command = mem_find_command,
	.save_outcomes = mem_save_outcomes,
	.retain = mem_retain,
	.load_items = mem_load_items,
	.load_stats = mem_load_stats,
	.drop_stats = mem_drop_stats,
};
