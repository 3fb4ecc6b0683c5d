#include "store/store.h"

#include <inttypes.h>
#include <string.h>

#include "sched/measure.h"
#include "store/store_impl.h"
#include "util/err.h"

static const struct store_ops *const kinds[] = { &store_mem_ops, &store_sqlite_ops };

int store_open(const char *url, struct store **ret_store, struct err *err)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		size_t len = strlen(kinds[i]->prefix);

		if (strncmp(url, kinds[i]->prefix, len) == 0)
			return kinds[i]->open(url + len, ret_store, err);
	}
	return err_set(err, E_INVALID, "store url '%s': want mem: or sqlite:DIRECTORY", url);
}

void store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
}

int store_take_epoch(struct store *s, const char *who, uint32_t *ret_epoch, struct err *err)
{
	return s->ops->take_epoch(s, who, ret_epoch, err);
}

int store_position(struct store *s, uint64_t *ret_number, uint32_t *ret_epoch, struct err *err)
{
	return s->ops->position(s, ret_number, ret_epoch, err);
}

static bool has_numbers(const struct store_batch *b)
{
	return b->first && b->last >= b->first;
}

static int check_image(const struct instance *i, struct err *err)
{
	if (i->state == ST_NONE || i->state >= ST_COUNT || i->reason >= RE_COUNT ||
	    i->origin > OR_BACKFILL || i->intent > KI_USER)
		return err_set(err, E_INVALID,
		               "instance %" PRIu32 "/%" PRId64 "/%" PRId32
		               ": a state, reason, origin or intent that does not exist",
		               i->key.task, i->key.run_date, i->key.part);
	if (i->token > INT64_MAX || i->last_number > INT64_MAX || i->cause > INT64_MAX)
		return err_set(err, E_INVALID, "instance %" PRIu32 ": a number above 2^63",
		               i->key.task);
	return 0;
}

static int check_images(const struct instance *const *list, size_t n, bool final, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = check_image(list[i], err);
		if (r == 0 && state_final((enum state)list[i]->state) != final)
			r = err_set(err, E_INVALID, "instance %" PRIu32 ": %s among the %s",
			            list[i]->key.task, state_name((enum state)list[i]->state),
			            final ? "finished" : "unfinished");
	}
	return r;
}

static int check_events(const struct store_batch *b, struct err *err)
{
	uint64_t before = 0;

	for (size_t i = 0; i < b->n_events; i++) {
		const struct transition *t = b->events[i];

		if (!has_numbers(b) || t->number < b->first || t->number > b->last ||
		    t->number <= before)
			return err_set(err, E_INVALID,
			               "event %" PRIu64 " is out of order or outside its batch",
			               t->number);
		before = t->number;
		if (t->kind == TK_INSTANCE &&
		    (t->to == ST_NONE || t->to >= ST_COUNT || t->from >= ST_COUNT))
			return err_set(err, E_INVALID, "event %" PRIu64 " has no state", t->number);
	}
	return 0;
}

/* Final ones are allowed: forced from history they get a new row there. */
static int check_reopened(const struct store_batch *b, struct err *err)
{
	for (size_t i = 0; i < b->n_reopened; i++)
		if (!state_final((enum state)b->reopened[i]->state)) {
			int r = check_images(&b->reopened[i], 1, false, err);
			if (r < 0)
				return r;
		}
	return 0;
}

static int check_stats(const struct store_batch *b, struct err *err)
{
	if (b->n_stats && !has_numbers(b))
		return err_set(err, E_INVALID, "statistics without transitions");
	for (size_t i = 0; i < b->n_stats; i++) {
		const struct store_stat *s = &b->stats[i];
		bool known = s->state < ST_COUNT &&
		             (state_final((enum state)s->state) || s->state == ST_FAILED);

		if (!known || s->count == 0 || s->bucket < STORE_STAT_UNRUN ||
		    s->bucket >= MEASURE_BUCKETS)
			return err_set(err, E_INVALID,
			               "statistics of task %" PRIu32
			               ": state %u, bucket %d, count %" PRIu32,
			               s->task, s->state, s->bucket, s->count);
	}
	return 0;
}

int store_check_batch(const struct store_batch *b, struct err *err)
{
	int r = check_events(b, err);

	if (r == 0)
		r = check_images(b->live, b->n_live, false, err);
	if (r == 0)
		r = check_images(b->done, b->n_done, true, err);
	if (r == 0)
		r = check_reopened(b, err);
	return r < 0 ? r : check_stats(b, err);
}

int store_check_numbers(const struct store_batch *b, uint64_t stored, struct err *err)
{
	if (!has_numbers(b))
		return 0;
	if (b->last <= stored)
		return 1;
	if (b->first == stored + 1)
		return 0;
	return err_set(err, E_INVALID,
	               "batch of transitions %" PRIu64 "..%" PRIu64
	               " does not follow the stored number %" PRIu64,
	               b->first, b->last, stored);
}

int store_commit(struct store *s, const struct store_batch *b, struct err *err)
{
	int r = store_check_batch(b, err);

	return r < 0 ? r : s->ops->commit(s, b, err);
}

void store_idle(struct store *s)
{
	s->ops->idle(s);
}

int store_load_docs(struct store *s, enum store_doc_kind kind,
                    int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	return s->ops->load_docs(s, kind, each, ctx, err);
}

int store_load_tasks(struct store *s, int (*each)(void *ctx, const struct store_task *t), void *ctx,
                     struct err *err)
{
	return s->ops->load_tasks(s, each, ctx, err);
}

int store_load_live(struct store *s, int (*each)(void *ctx, const struct instance *i), void *ctx,
                    struct err *err)
{
	return s->ops->load_live(s, each, ctx, err);
}

int store_load_outcomes(struct store *s, int (*each)(void *ctx, const struct store_outcome *o),
                        void *ctx, struct err *err)
{
	return s->ops->load_outcomes(s, each, ctx, err);
}

int store_load_commands(struct store *s, bool unfinished_only,
                        int (*each)(void *ctx, const struct store_command *c), void *ctx,
                        struct err *err)
{
	return s->ops->load_commands(s, unfinished_only, each, ctx, err);
}

int store_find_done(struct store *s, struct inst_key key, struct instance *ret, struct err *err)
{
	return s->ops->find_done(s, key, ret, err);
}

int store_find_command(struct store *s, const char *request_id,
                       int (*each)(void *ctx, const struct store_command *c), void *ctx,
                       struct err *err)
{
	return s->ops->find_command(s, request_id, each, ctx, err);
}

int store_save_outcomes(struct store *s, uint32_t epoch, const struct store_outcome *o, size_t n,
                        uint64_t upto_number, struct err *err)
{
	return s->ops->save_outcomes(s, epoch, o, n, upto_number, err);
}

int store_retain(struct store *s, uint32_t epoch, int64_t before_us, size_t rows_max, bool dry_run,
                 size_t *ret_rows, struct err *err)
{
	return s->ops->retain(s, epoch, before_us, rows_max, dry_run, ret_rows, err);
}

int store_load_stats(struct store *s, uint32_t task, int32_t lo, int32_t hi,
                     int (*each)(void *ctx, const struct store_stat *st), void *ctx,
                     struct err *err)
{
	return s->ops->load_stats(s, task, lo, hi, each, ctx, err);
}

int store_drop_stats(struct store *s, uint32_t epoch, int32_t day, size_t rows_max,
                     size_t *ret_rows, struct err *err)
{
	return s->ops->drop_stats(s, epoch, day, rows_max, ret_rows, err);
}
