/* What the store in memory keeps: the tables of a database as arrays, in the order in which they
 * are asked for, with texts of their own. Writing a batch is all of it at once and cannot fail.
 * Live and finished instances are mem_table's; an instance is in one of the two. Retention drops
 * from the front of history, with the events of each. */
#include "store/mem_disk.h"

#include <stdlib.h>
#include <string.h>

#include "sched/name.h"
#include "util/alloc.h"
#include "util/check.h"

static char *copy_text(const char *s)
{
	return mem_str(s ? s : "");
}

static void drop_text(const char *s)
{
	free((void *)(uintptr_t)s);
}

struct mem_disk *mem_disk_new(void)
{
	struct mem_disk *d = mem_new(sizeof *d);

	d->refs = 1;
	mem_table_init(&d->live);
	mem_table_init(&d->done);
	return d;
}

static struct store_task own_task(const struct store_task *t)
{
	struct store_task own = *t;

	own.name = copy_text(t->name);
	own.type = copy_text(t->type);
	own.owner = copy_text(t->owner);
	own.title = copy_text(t->title);
	own.workflow_title = copy_text(t->workflow_title);
	own.zone = copy_text(t->zone);
	return own;
}

static void free_task(struct store_task *t)
{
	drop_text(t->name);
	drop_text(t->type);
	drop_text(t->owner);
	drop_text(t->title);
	drop_text(t->workflow_title);
	drop_text(t->zone);
}

static struct store_doc own_doc(const struct store_doc *d)
{
	struct store_doc own = *d;

	own.name = copy_text(d->name);
	own.actor = copy_text(d->actor);
	own.body = mem_strn(d->body ? d->body : "", d->body ? d->body_len : 0);
	return own;
}

static void free_doc(struct store_doc *d)
{
	drop_text(d->name);
	drop_text(d->actor);
	drop_text(d->body);
}

static struct store_command own_command(const struct store_command *c)
{
	struct store_command own = *c;

	own.request_id = copy_text(c->request_id);
	own.actor = copy_text(c->actor);
	own.kind = copy_text(c->kind);
	own.args = copy_text(c->args);
	own.error = copy_text(c->error);
	own.cursor = copy_text(c->cursor);
	own.projects = copy_text(c->projects);
	return own;
}

static void free_command(struct store_command *c)
{
	drop_text(c->request_id);
	drop_text(c->actor);
	drop_text(c->kind);
	drop_text(c->args);
	drop_text(c->error);
	drop_text(c->cursor);
	drop_text(c->projects);
}

static struct store_link own_link(const struct store_link *l)
{
	struct store_link own = *l;

	own.window = mem_str(l->window);
	return own;
}

static void free_link(struct store_link *l)
{
	drop_text(l->window);
}

static struct store_command_item own_item(const struct store_command_item *i)
{
	struct store_command_item own = *i;

	own.text = copy_text(i->text);
	return own;
}

static void free_item(struct store_command_item *i)
{
	drop_text(i->text);
}

static struct store_alert own_alert(const struct store_alert *a)
{
	struct store_alert own = *a;

	own.kind = copy_text(a->kind);
	own.subject = copy_text(a->subject);
	own.body = copy_text(a->body);
	own.acked_by = copy_text(a->acked_by);
	own.ack_note = copy_text(a->ack_note);
	return own;
}

static void free_alert(struct store_alert *a)
{
	drop_text(a->kind);
	drop_text(a->subject);
	drop_text(a->body);
	drop_text(a->acked_by);
	drop_text(a->ack_note);
}

/* Insert into, or replace in, an array kept sorted by `order`. These arrays are
 * small in tests, and grow at their end. */
#define PUT(array, n, item, own, drop, order) \
	do { \
		size_t at_ = (n); \
\
		while (at_ > 0 && order(&(array)[at_ - 1], (item)) > 0) \
			at_--; \
		if (at_ > 0 && order(&(array)[at_ - 1], (item)) == 0) { \
			__typeof__(*(array)) old_ = (array)[at_ - 1]; \
\
			(array)[at_ - 1] = own(item); \
			drop(&old_); \
		} else { \
			(array) = mem_grow((array), (n) + 1, sizeof *(array)); \
			memmove(&(array)[at_ + 1], &(array)[at_], ((n)-at_) * sizeof *(array)); \
			(array)[at_] = own(item); \
			(n)++; \
		} \
	} while (0)

#define ORDER(x, y) ((x) < (y) ? -1 : (x) > (y))

static int order_tasks(const struct store_task *a, const struct store_task *b)
{
	return ORDER(a->id, b->id);
}

static int order_docs(const struct store_doc *a, const struct store_doc *b)
{
	int r = ORDER(a->kind, b->kind);

	r = r ? r : ORDER(a->id, b->id);
	bool newest_alone = a->kind == DOC_PREFS || a->kind == DOC_FACTOR || a->kind == DOC_SESSION;
	return r || newest_alone ? r : ORDER(a->version, b->version);
}

static int order_commands(const struct store_command *a, const struct store_command *b)
{
	return ORDER(a->id, b->id);
}

static int order_alerts(const struct store_alert *a, const struct store_alert *b)
{
	return ORDER(a->id, b->id);
}

static int order_items(const struct store_command_item *a, const struct store_command_item *b)
{
	int r = ORDER(a->command, b->command);

	r = r ? r : ORDER(a->key.task, b->key.task);
	r = r ? r : ORDER(a->key.run_date, b->key.run_date);
	return r ? r : ORDER(a->key.part, b->key.part);
}

static void write_links(struct mem_disk *d, const struct store_batch *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n_links; i++) {
		bool goes = false;

		for (size_t k = 0; k < b->n_links_of && !goes; k++)
			goes = d->links[i].to == b->links_of[k];
		if (goes)
			free_link(&d->links[i]);
		else
			d->links[kept++] = d->links[i];
	}
	d->n_links = kept;
	d->links = mem_grow(d->links, kept + b->n_links + 1, sizeof *d->links);
	for (size_t i = 0; i < b->n_links; i++)
		d->links[d->n_links++] = own_link(&b->links[i]);
}

static void free_event(struct transition *t)
{
	free(t->note);
	free(t->data);
}

static void write_event(struct mem_disk *d, const struct transition *t)
{
	if (t->kind != TK_INSTANCE)
		return;
	d->events = mem_room(d->events, &d->cap_events, d->n_events + 1, sizeof *d->events);
	CHECK(d->n_events == 0 || d->events[d->n_events - 1].number < t->number);
	d->events[d->n_events] = *t;
	d->events[d->n_events].ref = NULL;
	d->events[d->n_events].data = mem_str(t->data);
	d->events[d->n_events++].note = mem_str(t->note);
}

static int order_stats(const struct store_stat *a, const struct store_stat *b)
{
	int r = ORDER(a->task, b->task);

	r = r ? r : ORDER(a->day, b->day);
	r = r ? r : ORDER(a->state, b->state);
	return r ? r : ORDER(a->bucket, b->bucket);
}

static void add_stat(struct mem_disk *d, const struct store_stat *s)
{
	size_t lo = 0, hi = d->n_stats;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (order_stats(&d->stats[mid], s) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < d->n_stats && order_stats(&d->stats[lo], s) == 0) {
		d->stats[lo].count += s->count;
		d->stats[lo].sum_us += s->sum_us;
		return;
	}
	d->stats = mem_grow(d->stats, d->n_stats + 1, sizeof *d->stats);
	memmove(&d->stats[lo + 1], &d->stats[lo], (d->n_stats - lo) * sizeof *d->stats);
	d->stats[lo] = *s;
	d->n_stats++;
}

size_t mem_disk_drop_stats(struct mem_disk *d, int32_t day, size_t rows_max)
{
	size_t kept = 0, rows = 0;

	for (size_t i = 0; i < d->n_stats; i++) {
		if (d->stats[i].day < day && rows < rows_max)
			rows++;
		else
			d->stats[kept++] = d->stats[i];
	}
	d->n_stats = kept;
	return rows;
}

static void write_ranges(struct mem_disk *d, const struct store_batch *b)
{
	for (size_t i = 0; i < b->n_ranges; i++) {
		d->ranges = mem_grow(d->ranges, d->n_ranges + 1, sizeof *d->ranges);
		d->ranges[d->n_ranges++] = b->ranges[i];
	}
	for (size_t i = 0; i < b->n_taken; i++)
		for (size_t k = 0; k < d->n_ranges; k++) {
			struct store_range *r = &d->ranges[k];
			if (r->number == b->taken[i].number)
				r->taken = r->taken + b->taken[i].dates < r->dates
				                   ? r->taken + b->taken[i].dates
				                   : r->dates;
		}
}

void mem_disk_add_gap(struct mem_disk *d, const struct store_gap *g, uint64_t oldest)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n_gaps; i++)
		if (d->gaps[i].number >= oldest && (i > 0 || d->n_gaps < STORE_GAPS_MAX))
			d->gaps[kept++] = d->gaps[i];
	d->gaps = mem_grow(d->gaps, kept + 1, sizeof *d->gaps);
	d->gaps[kept] = *g;
	d->n_gaps = kept + 1;
	d->lease.renewed_us = g->to_us;
}

/* What stands in the columns of the other kind of write stays. */
static void write_alert(struct mem_disk *d, const struct store_alert *a)
{
	struct store_alert one = { .acked_by = "", .ack_note = "" };
	const struct store_alert *was = NULL;

	for (size_t i = 0; i < d->n_alerts && !was; i++)
		was = d->alerts[i].id == a->id ? &d->alerts[i] : NULL;
	if (a->ack && !was)
		return;
	const struct store_alert *said = a->ack ? was : a, *acked = a->ack ? a : was ? was : &one;
	one = *said;
	one.ack = false;
	one.acked_us = acked->acked_us;
	one.acked_by = acked->acked_by;
	one.ack_note = acked->ack_note;
	PUT(d->alerts, d->n_alerts, &one, own_alert, free_alert, order_alerts);
}

/* All but the newest so many versions go. */
static void drop_former(struct mem_disk *d, const struct store_doc *newest, uint32_t stay)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_docs; i++) {
		struct store_doc *at = &d->docs[i];
		if (at->kind == newest->kind && at->id == newest->id &&
		    at->version + stay <= newest->version)
			free_doc(at);
		else
			d->docs[n++] = *at;
	}
	d->n_docs = n;
}

static void write_doc(struct mem_disk *d, const struct store_doc *doc)
{
	CHECK(doc->kind < DOC_END);
	PUT(d->docs, d->n_docs, doc, own_doc, free_doc, order_docs);
	if (doc->kind == DOC_DRAFT)
		drop_former(d, doc, STORE_DRAFTS_MAX);
	if (doc->kind == DOC_WORKFLOW && name_is_test(doc->name))
		drop_former(d, doc, 1);
}

void mem_disk_write(struct mem_disk *d, const struct store_batch *b)
{
	for (size_t i = 0; i < b->n_docs; i++)
		write_doc(d, &b->docs[i]);
	for (size_t i = 0; i < b->n_tasks; i++)
		PUT(d->tasks, d->n_tasks, &b->tasks[i], own_task, free_task, order_tasks);
	if (b->n_links_of || b->n_links)
		write_links(d, b);
	for (size_t i = 0; i < b->n_commands; i++)
		PUT(d->commands, d->n_commands, &b->commands[i], own_command, free_command,
		    order_commands);
	for (size_t i = 0; i < b->n_items; i++)
		PUT(d->items, d->n_items, &b->items[i], own_item, free_item, order_items);
	for (size_t i = 0; i < b->n_alerts; i++)
		write_alert(d, &b->alerts[i]);
	for (size_t i = 0; i < b->n_reopened; i++) {
		mem_table_drop(&d->done, b->reopened[i]->key);
		if (!state_final((enum state)b->reopened[i]->state))
			mem_table_put(&d->live, b->reopened[i]);
	}
	for (size_t i = 0; i < b->n_live; i++)
		mem_table_put(&d->live, b->live[i]);
	for (size_t i = 0; i < b->n_done; i++) {
		mem_table_drop(&d->live, b->done[i]->key);
		mem_table_put(&d->done, b->done[i]);
	}
	for (size_t i = 0; i < b->n_events; i++)
		write_event(d, b->events[i]);
	write_ranges(d, b);
	for (size_t i = 0; i < b->n_stats; i++)
		add_stat(d, &b->stats[i]);
	if (b->first && b->last > d->number)
		d->number = b->last;
	if (b->at_us > 0)
		d->lease.renewed_us = b->at_us;
}

void mem_disk_save_outcomes(struct mem_disk *d, const struct store_outcome *o, size_t n,
                            uint64_t upto_number)
{
	CHECK(upto_number <= d->number);
	d->outcomes = mem_grow(d->outcomes, n + 1, sizeof *o);
	if (n)
		memcpy(d->outcomes, o, n * sizeof *o);
	d->n_outcomes = n;
	d->outcome_number = upto_number;
}

struct mem_disk *mem_disk_copy(const struct mem_disk *d)
{
	struct mem_disk *c = mem_disk_new();

	c->epoch = d->epoch;
	c->number = d->number;
	c->lease = d->lease;
	mem_table_done(&c->live);
	mem_table_done(&c->done);
	mem_table_copy(&d->live, &c->live);
	mem_table_copy(&d->done, &c->done);
	for (size_t i = 0; i < d->n_events; i++)
		write_event(c, &d->events[i]);
	for (size_t i = 0; i < d->n_docs; i++)
		PUT(c->docs, c->n_docs, &d->docs[i], own_doc, free_doc, order_docs);
	for (size_t i = 0; i < d->n_tasks; i++)
		PUT(c->tasks, c->n_tasks, &d->tasks[i], own_task, free_task, order_tasks);
	for (size_t i = 0; i < d->n_commands; i++)
		PUT(c->commands, c->n_commands, &d->commands[i], own_command, free_command,
		    order_commands);
	for (size_t i = 0; i < d->n_items; i++)
		PUT(c->items, c->n_items, &d->items[i], own_item, free_item, order_items);
	for (size_t i = 0; i < d->n_alerts; i++)
		PUT(c->alerts, c->n_alerts, &d->alerts[i], own_alert, free_alert, order_alerts);
	write_links(c, &(struct store_batch){ .links = d->links, .n_links = d->n_links });
	mem_disk_save_outcomes(c, d->outcomes, d->n_outcomes, d->outcome_number);
	write_ranges(c, &(struct store_batch){ .ranges = d->ranges, .n_ranges = d->n_ranges });
	for (size_t i = 0; i < d->n_gaps; i++)
		mem_disk_add_gap(c, &d->gaps[i], 0);
	c->lease.renewed_us = d->lease.renewed_us;
	for (size_t i = 0; i < d->n_stats; i++)
		add_stat(c, &d->stats[i]);
	return c;
}

void mem_disk_unref(struct mem_disk *d)
{
	CHECK(!d || d->refs > 0);
	if (!d || --d->refs)
		return;
	mem_table_done(&d->live);
	mem_table_done(&d->done);
	for (size_t i = 0; i < d->n_events; i++)
		free_event(&d->events[i]);
	for (size_t i = 0; i < d->n_docs; i++)
		free_doc(&d->docs[i]);
	for (size_t i = 0; i < d->n_tasks; i++)
		free_task(&d->tasks[i]);
	for (size_t i = 0; i < d->n_commands; i++)
		free_command(&d->commands[i]);
	for (size_t i = 0; i < d->n_items; i++)
		free_item(&d->items[i]);
	for (size_t i = 0; i < d->n_alerts; i++)
		free_alert(&d->alerts[i]);
	free(d->alerts);
	for (size_t i = 0; i < d->n_links; i++)
		free_link(&d->links[i]);
	free(d->events);
	free(d->docs);
	free(d->tasks);
	free(d->commands);
	free(d->items);
	free(d->links);
	free(d->outcomes);
	free(d->nodes);
	free(d->ranges);
	free(d->gaps);
	free(d->stats);
	free(d);
}

static struct transition *find_event(const struct mem_disk *d, uint64_t number)
{
	size_t lo = 0, hi = d->n_events;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->events[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->n_events && d->events[lo].number == number ? &d->events[lo] : NULL;
}

const char *mem_disk_find_data(const struct mem_disk *d, uint64_t last_number, uint32_t generation,
                               enum inst_data kind)
{
	const struct transition *t;

	for (uint64_t n = last_number; n && (t = find_event(d, n)); n = t->prev) {
		if (generation && t->inst.generation != generation)
			return NULL;
		if (t->data && t->data_kind == kind)
			return t->data;
	}
	return NULL;
}

/* Marked first (kind 0), swept at the end. */
static size_t drop_events(struct mem_disk *d, uint64_t number, bool dry_run)
{
	struct transition *t;
	size_t rows = 0;

	for (; number && (t = find_event(d, number)); number = t->prev) {
		if (!dry_run)
			t->kind = 0;
		rows++;
	}
	return rows;
}

static void sweep_events(struct mem_disk *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n_events; i++) {
		if (d->events[i].kind == 0)
			free_event(&d->events[i]);
		else
			d->events[kept++] = d->events[i];
	}
	d->n_events = kept;
}

static size_t drop_history(struct mem_disk *d, int64_t before_us, size_t rows_max, bool dry_run)
{
	size_t n, rows = 0, old = 0;
	const struct instance **list = mem_table_by_number(&d->done, &n);
	struct inst_key *keys = mem_array(n + 1, sizeof *keys);

	for (; old < n && rows < rows_max && list[old]->ended_us < before_us &&
	       list[old]->last_number <= d->outcome_number;
	     old++) {
		keys[old] = list[old]->key;
		rows += 1 + drop_events(d, list[old]->last_number, dry_run);
	}
	for (size_t i = 0; i < old && !dry_run; i++)
		mem_table_drop(&d->done, keys[i]);
	sweep_events(d);
	free(keys);
	free(list);
	return rows;
}

static const struct store_command *command_of(const struct mem_disk *d, uint64_t id)
{
	for (size_t i = 0; i < d->n_commands; i++)
		if (d->commands[i].id == id)
			return &d->commands[i];
	return NULL;
}

static size_t drop_ranges(struct mem_disk *d, int64_t before_us, size_t rows_max, bool dry_run)
{
	size_t rows = 0, kept = 0;

	for (size_t i = 0; i < d->n_ranges; i++) {
		bool goes = d->ranges[i].number <= d->outcome_number &&
		            d->ranges[i].at_us < before_us && rows < rows_max;

		rows += goes;
		if (!goes || dry_run)
			d->ranges[kept++] = d->ranges[i];
	}
	d->n_ranges = kept;
	return rows;
}

static size_t drop_alerts(struct mem_disk *d, int64_t before_us, size_t rows_max, bool dry_run)
{
	size_t kept = 0, rows = 0;

	for (size_t i = 0; i < d->n_alerts; i++) {
		const struct store_alert *a = &d->alerts[i];
		bool goes = a->ended_us > 0 && a->ended_us < before_us && rows < rows_max;

		rows += goes;
		if (goes && !dry_run)
			free_alert(&d->alerts[i]);
		else
			d->alerts[kept++] = d->alerts[i];
	}
	d->n_alerts = kept;
	return rows;
}

/* A range goes before the rows that say otherwise of its dates. */
size_t mem_disk_retain(struct mem_disk *d, int64_t before_us, size_t rows_max, bool dry_run)
{
	size_t rows = drop_ranges(d, before_us, rows_max, dry_run), kept = 0;

	rows += drop_history(d, before_us, rows_max - rows, dry_run);

	for (size_t i = 0; i < d->n_items; i++) {
		const struct store_command *c = command_of(d, d->items[i].command);
		bool goes = c && c->ended_us > 0 && c->ended_us < before_us && rows < rows_max;

		rows += goes;
		if (goes && !dry_run)
			free_item(&d->items[i]);
		else
			d->items[kept++] = d->items[i];
	}
	d->n_items = kept;
	return rows + drop_alerts(d, before_us, rows_max - rows, dry_run);
}
