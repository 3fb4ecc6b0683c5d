/* Commits: everything applied since the last one becomes durable in one transaction; only then does
 * anything of it leave the process.
 *
 * commit_seal() gathers the batch into `flight`, which stays as it is until it is known to be in
 * the store. There is one flight at a time; what is applied meanwhile belongs to the next. After a
 * failure nobody knows whether the batch is in: the ledger applies nothing more, asks the store for
 * its position, and repeats the batch if it is not in. A refused epoch or a corrupt store is fatal.
 * When the batch is in, its records count as durable and its answers leave. */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

bool ledger__has_work(const struct ledger *l)
{
	return l->batch_since_us != 0 || l->edits.head || l->records.head || l->answers.head;
}

static void gather_events(struct ledger *l, struct flight *f)
{
	uint64_t first = stream_seen(l->keep) + 1, last = stream_last(l->stream);
	size_t n = (size_t)(last + 1 - first);

	CHECK(last + 1 >= first);
	if (n > f->events_cap) {
		f->events_cap = n * 2;
		f->events = mem_grow(f->events, f->events_cap, sizeof *f->events);
	}
	for (uint64_t no = first; no <= last; no++) {
		const struct transition *tr = stream_at(l->stream, no);
		if (tr->kind == TK_INSTANCE && !tr->left_out)
			f->events[f->b.n_events++] = tr;
	}
	f->b.first = first;
	f->b.last = last;
	f->b.events = f->events;
}

static void grow_images(const struct ledger *l, struct flight *f)
{
	if (l->n_dirty <= f->images_cap)
		return;
	f->images_cap = l->n_dirty * 2;
	f->live = mem_grow(f->live, f->images_cap, sizeof *f->live);
	f->done = mem_grow(f->done, f->images_cap, sizeof *f->done);
	f->reopened = mem_grow(f->reopened, f->images_cap, sizeof *f->reopened);
	if (l->set.waits)
		f->images = mem_grow(f->images, f->images_cap, sizeof *f->images);
}

static void gather_image(struct flight *f, const struct entry *e, const struct instance *image)
{
	struct store_batch *b = &f->b;
	bool is_final = state_final((enum state)e->inst.state);

	/* Out of history first; what is final again goes back in with its new image. */
	if (e->inst.marks & EM_HISTORY)
		f->reopened[b->n_reopened++] = image;
	if (is_final)
		f->done[b->n_done++] = image;
	else if (!(e->inst.marks & EM_HISTORY))
		f->live[b->n_live++] = image;
}

/* The ledger goes on while another thread reads the images: then they are copies. */
static void gather_images(struct ledger *l, struct flight *f)
{
	uint32_t *dirty = f->dirty;
	size_t cap = f->dirty_cap;

	CHECK(f->n_dirty == 0); /* their list becomes the next batch's */
	grow_images(l, f);
	for (size_t k = 0; k < l->n_dirty; k++) {
		struct entry *e = table_at(&l->table, l->dirty[k]);
		const struct instance *image = &e->inst;
		CHECK(e->inst.marks & EM_DIRTY);
		if (l->set.waits) {
			f->images[k] = e->inst;
			image = &f->images[k];
		}
		gather_image(f, e, image);
		bool is_final = state_final((enum state)e->inst.state);
		e->inst.marks = (uint8_t)((e->inst.marks & (EM_FLOW | EM_UNHEARD)) | EM_FLIGHT |
		                          (is_final ? EM_HISTORY : 0));
	}
	f->b.live = f->live;
	f->b.done = f->done;
	f->b.reopened = f->reopened;
	f->dirty = l->dirty;
	f->n_dirty = l->n_dirty;
	f->dirty_cap = l->dirty_cap;
	l->dirty = dirty;
	l->dirty_cap = cap;
	l->n_dirty = 0;
}

static void gather_edits(struct ledger *l, struct flight *f)
{
	const struct edit *e = (const struct edit *)f->edits.head;

	f->tasks = mem_array(l->n_dirty_tasks + 1, sizeof *f->tasks);
	for (size_t k = 0; k < l->n_dirty_tasks; k++) {
		struct ltask *t = ledger__task_of(l, l->dirty_tasks[k]);
		CHECK(t && t->dirty);
		f->tasks[f->b.n_tasks++] = t->row;
		t->dirty = false;
	}
	l->n_dirty_tasks = 0;
	f->b.tasks = f->tasks;
	if (!e)
		return;
	CHECK(!e->letter.next); /* one edit a commit: see on_edit() */
	f->links_of = mem_array(e->n_tasks + 1, sizeof *f->links_of);
	for (size_t k = 0; k < e->n_tasks && !e->keep_links; k++)
		f->links_of[f->b.n_links_of++] = e->tasks[k]->id;
	f->b.links_of = f->links_of;
	f->b.links = e->links;
	f->b.n_links = e->n_links;
	f->b.docs = e->docs;
	f->b.n_docs = e->n_docs;
}

/* What a command did to an instance is kept in the commit that does it: a restart finds both
 * or neither. */
static void gather_outcomes(const struct answers *as, struct flight *f)
{
	for (size_t k = 0; k < as->n && as->command; k++)
		f->items[f->b.n_items++] = (struct store_command_item){
			.command = as->command,
			.key = as->a[k].key,
			.code = as->a[k].code,
			.text = as->a[k].code < 0 ? err_text(as->a[k].code) : ""
		};
}

static void gather_alerts(struct flight *f)
{
	size_t n = 0;

	for (const struct letter *at = f->records.head; at; at = at->next)
		n += ((const struct record *)at)->n_alerts;
	f->alerts = mem_array(n + 1, sizeof *f->alerts);
	for (const struct letter *at = f->records.head; at; at = at->next) {
		const struct record *r = (const struct record *)at;
		for (size_t k = 0; k < r->n_alerts; k++)
			f->alerts[f->b.n_alerts++] = r->alerts[k];
	}
	CHECK(f->b.n_alerts == n);
	f->b.alerts = f->alerts;
}

static void gather_records(struct flight *f)
{
	size_t n = 0, items = 0;

	for (const struct letter *at = f->records.head; at; at = at->next) {
		n++;
		items += ((const struct record *)at)->n_items;
	}
	for (const struct letter *at = f->answers.head; at; at = at->next)
		items += ((const struct answers *)at)->command ? ((const struct answers *)at)->n
		                                               : 0;
	f->commands = mem_array(n + 1, sizeof *f->commands);
	f->items = mem_array(items + 1, sizeof *f->items);
	for (const struct letter *at = f->records.head; at; at = at->next) {
		const struct record *r = (const struct record *)at;
		if (r->command.id)
			f->commands[f->b.n_commands++] = r->command;
		for (size_t k = 0; k < r->n_items; k++)
			f->items[f->b.n_items++] = r->items[k];
	}
	for (const struct letter *at = f->answers.head; at; at = at->next)
		gather_outcomes((const struct answers *)at, f);
	CHECK(f->b.n_commands <= n && f->b.n_items <= items);
	f->b.commands = f->commands;
	f->b.items = f->items;
}

static void forget_rows(struct flight *f)
{
	free(f->tasks);
	free(f->links_of);
	free(f->commands);
	free(f->items);
	free(f->alerts);
	free(f->stats);
	free(f->ranges);
	free(f->taken);
	f->ranges = NULL;
	f->taken = NULL;
	f->tasks = NULL;
	f->links_of = NULL;
	f->commands = NULL;
	f->items = NULL;
	f->alerts = NULL;
	f->stats = NULL;
}

void ledger__flight_done(struct flight *f)
{
	forget_rows(f);
	free(f->dirty);
	free(f->images);
	free(f->live);
	free(f->done);
	free(f->reopened);
	free(f->events);
}

/* It is in: what ended leaves memory, unless it changed again meanwhile. */
static void forget_flight(struct ledger *l, struct flight *f)
{
	for (size_t k = 0; k < f->n_dirty; k++) {
		struct entry *e = table_at(&l->table, f->dirty[k]);
		CHECK(e->inst.marks & EM_FLIGHT);
		e->inst.marks &= (uint8_t)~EM_FLIGHT;
		if (!(e->inst.marks & EM_DIRTY) && state_final((enum state)e->inst.state)) {
			ledger__forget_done(l, e->inst.key);
			table_remove(&l->table, f->dirty[k]);
		}
	}
	f->n_dirty = 0;
	f->is_out = false;
	forget_rows(f);
}

static void release(struct flight *f, uint64_t number)
{
	struct letter *at;

	while ((at = letters_pop(&f->answers))) {
		struct actor *to = at->to;
		if (actor_post_credit(to, at) < 0)
			at->discard(at);
	}
	while ((at = letters_pop(&f->edits))) {
		struct edit *e = (struct edit *)at;
		e->letter.deliver = e->answered;
		if (!e->reply_to || actor_post_credit(e->reply_to, at) < 0)
			edit_free(e);
	}
	while ((at = letters_pop(&f->records))) {
		struct record *r = (struct record *)at;
		r->number = number;
		r->letter.deliver = r->answered;
		if (!r->reply_to || actor_post_credit(r->reply_to, at) < 0)
			record_free(r);
	}
}

/* Saved ranges may cover dates that are planned anew. If this fails, the next save does. */
static void save_replanned(struct ledger *l)
{
	if (!l->replanned || ledger__has_work(l))
		return;
	l->hold = true;
	ledger__housework(l, NULL);
}

/* A commit that moved the number in the leader's row is a proof of the epoch, since a standby sees
 * it as a sign of life. What it cannot see proves nothing: it may take the lease meanwhile. */
static bool shows(const struct ledger *l, const struct flight *f)
{
	return !f->again && !l->down && f->b.last >= f->b.first;
}

static void succeeded(struct ledger *l, struct flight *f, bool was_asked)
{
	uint64_t last = f->b.last;

	CHECK(f->is_out);
	if (was_asked) {
		int64_t took = actor_mono_us(l->me) - f->job.began_us;
		if (shows(l, f))
			l->proof_us = f->job.began_us;
		l->f_commits++;
		l->f_commit_us = (uint64_t)took;
		timing_add(&l->timings.commit, took);
		l->f_commit_us_sum += (uint64_t)took;
	}
	if (was_asked)
		ledger_keep_anchor(l, false);
	if (l->down)
		actor_alarm(l->me, actor_mono_us(l->me)); /* prove the epoch now */
	l->down = false;
	l->f_down = false;
	l->f_code = 0;
	forget_flight(l, f);
	ledger__ranges_durable(l, last);
	l->f_unfinished = l->table.len;
	stream_durable(l->stream, last);
	while (stream_seen(l->keep) < last)
		stream_next(l->keep);
	release(f, last);
	stream_wake(l->stream);
	if (l->waiting.head)
		actor_wake(l->me);
	save_replanned(l);
}

static void commit_failed(struct ledger *l, int code, const struct err *err)
{
	if (code == E_EPOCH || code == E_CORRUPT || code == E_DAMAGED) {
		l->dead = true;
		l->set.fatal(l->set.fatal_ctx, err);
		return;
	}
	if (!l->down)
		log_warn("ledger.store-down", "code=%s text=\"%s\" waiting=%zu", err_name(code),
		         err->text, l->flight.n_dirty);
	l->down = true;
	l->f_down = true;
	l->f_code = code;
	ledger__turn_down_questions(l);
	l->f_retries++;
	actor_alarm(l->me, actor_mono_us(l->me) + l->set.retry_us);
}

/* What the audit ends with stands outside the database too: whoever rewrites the whole chain
 * there does not fit to this line (`sirdar audit verify --anchor`). */
static void tell_anchor(const struct store *s)
{
	char hash[65];
	uint64_t id;

	if (store_audit_tip(s, &id, hash))
		log_info("audit.anchor", "id=%llu hash=%s", (unsigned long long)id, hash);
}

/* After a failure nobody knows whether the last commit is in: ask before repeating it. */
static int commit_or_find(struct store *s, const struct flight *f, struct err *err)
{
	const struct store_batch *b = &f->b;
	uint64_t number;
	uint32_t epoch;

	if (f->again) {
		int r = store_position(s, &number, &epoch, err);
		if (r < 0)
			return r;
		if (epoch != b->epoch)
			return err_set(err, E_EPOCH, "epoch %u leads now, this server has %u",
			               epoch, b->epoch);
		if (number == b->last && b->last >= b->first)
			return 0;
		if (number != b->first - 1)
			return err_set(err, E_CORRUPT, "the store is at %llu, expected %llu",
			               (unsigned long long)number,
			               (unsigned long long)b->first - 1);
	}
	int r = store_commit(s, b, err);

	if (r == 0)
		tell_anchor(s);
	return r;
}

static void commit(struct job *job, struct store *s)
{
	struct flight *f = (struct flight *)job;

	f->err = (struct err){ 0 };
	f->code = commit_or_find(s, f, &f->err);
}

static void committed(struct ledger *l, struct job *job)
{
	struct flight *f = (struct flight *)job;

	if (f->code < 0)
		commit_failed(l, f->code, &f->err);
	else
		succeeded(l, f, true);
}

static void move_letters(struct letters *to, struct letters *from)
{
	*to = *from;
	if (!to->head)
		to->tail = &to->head;
	letters_init(from);
}

/* From here on it stays as it is until it is known to be in. */
static void commit_seal(struct ledger *l, struct flight *f)
{
	CHECK(!f->is_out && !l->busy);
	f->b = (struct store_batch){ .epoch = l->epoch, .at_us = actor_wall_us(l->me) };
	f->job.work = commit;
	f->job.done = committed;
	move_letters(&f->edits, &l->edits);
	move_letters(&f->records, &l->records);
	move_letters(&f->answers, &l->answers);
	gather_events(l, f);
	ledger__gather_ranges(l, f);
	gather_images(l, f);
	gather_edits(l, f);
	gather_records(f);
	gather_alerts(f);
	f->b.n_stats = ledger__gather_stats(l, &f->b, &f->stats);
	f->b.stats = f->stats;
	l->batch_since_us = 0;
	l->brings = l->put_off = 0;
	f->is_out = true;
}

static bool is_empty(const struct store_batch *b)
{
	return b->last < b->first && !b->n_live && !b->n_done && !b->n_tasks && !b->n_docs &&
	       !b->n_commands && !b->n_items && !b->n_alerts;
}

void ledger__commit(struct ledger *l)
{
	struct flight *f = &l->flight;

	if (l->dead || l->busy || (!f->is_out && l->half.ps))
		return;
	if (!f->is_out)
		commit_seal(l, f);
	f->again = l->down;
	if (is_empty(&f->b))
		succeeded(l, f, false);
	else
		ledger__do(l, &f->job);
}

bool ledger__is_still(struct ledger *l)
{
	if (!l->busy && !l->down && ledger__has_work(l))
		ledger__commit(l);
	if (!l->busy && !l->down && !l->flight.is_out && !l->half.ps && !ledger__has_work(l))
		return true;
	l->hold = true;
	return false;
}
