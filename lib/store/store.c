/* The store's verbs handed on to the database of its url. Here is only what is the same for all:
 * the choice, the check of a batch before it is written, and the words for what a database does
 * not have. Contracts stand in store.h. */
#include "store/store.h"

#include <string.h>

#include "store/module.h"
#include "store/store_impl.h"
#include "util/err.h"

static const struct store_ops *const kinds[] = { &store_mem_ops, &store_sqlite_ops };

/* The verbs of the url's kind, and what follows its prefix. */
static int ops_of(const char *url, const struct store_ops **ret_ops, const char **ret_rest,
                  struct err *err)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		size_t len = strlen(kinds[i]->prefix);

		if (strncmp(url, kinds[i]->prefix, len) == 0) {
			*ret_ops = kinds[i];
			*ret_rest = url + len;
			return 0;
		}
	}
	if (strncmp(url, "mysql:", 6) == 0) {
		*ret_rest = url + 6;
		return store_module_load("mysql", ret_ops, NULL, err);
	}
	return err_set(
		err, E_INVALID,
		"store url '%s': want sqlite:DIRECTORY, mysql://USER@HOST/DATABASE or mem:", url);
}

int store_check(const char *url, struct err *err)
{
	const struct store_ops *ops = NULL;
	const char *rest = NULL;

	return ops_of(url, &ops, &rest, err);
}

int store_open(const char *url, struct store **ret_store, struct err *err)
{
	const struct store_ops *ops = NULL;
	const char *rest = NULL;
	int r = ops_of(url, &ops, &rest, err);

	return r < 0 ? r : ops->open(rest, ret_store, err);
}

int store_open_standby(const char *url, struct store **ret_store, struct err *err)
{
	const struct store_ops *ops = NULL;
	const char *rest = NULL;
	int r = ops_of(url, &ops, &rest, err);

	if (r < 0)
		return r;
	if (!ops->open_standby)
		return err_set(err, E_UNSUPPORTED, "a store of kind %s serves one process",
		               ops->prefix);
	return ops->open_standby(rest, ret_store, err);
}

bool store_is_exclusive(const struct store *s)
{
	return s->ops->is_exclusive;
}

int store_lease(struct store *s, struct store_lease *ret, struct err *err)
{
	return s->ops->lease(s, ret, err);
}

int store_take_lease(struct store *s, const struct store_lease *seen,
                     const struct store_lease *mine, uint32_t *ret_epoch, struct err *err)
{
	return s->ops->take_lease(s, seen, mine, ret_epoch, err);
}

int store_renew_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err)
{
	return s->ops->renew_lease(s, epoch, now_us, err);
}

int store_add_gap(struct store *s, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
                  struct err *err)
{
	return s->ops->add_gap(s, epoch, g, oldest, err);
}

int store_load_gaps(struct store *s, uint64_t number,
                    int (*each)(void *ctx, const struct store_gap *g), void *ctx, struct err *err)
{
	return s->ops->load_gaps(s, number, each, ctx, err);
}

/* What was granted and has not begun may come back and wait again. */
bool store_gap_may_move(const struct instance *i)
{
	return i->state == ST_READY || i->state == ST_DEPEND || i->state == ST_FAILED ||
	       (i->state == ST_RUNNING && !(i->flags & IF_STARTED));
}

void store_gap_apply(const struct store_gap *g, struct instance *i)
{
	if (!store_gap_may_move(i) || i->last_number > g->number)
		return;
	if (i->eff_due_us < g->from_us)
		i->eff_due_us += g->to_us - g->from_us;
	else if (i->eff_due_us < g->to_us)
		i->eff_due_us = g->to_us;
}

int store_give_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err)
{
	return s->ops->give_lease(s, epoch, now_us, err);
}

int store_show_node(struct store *s, const struct store_node *n, struct err *err)
{
	return s->ops->show_node(s, n, err);
}

int store_each_node(struct store *s, int64_t max_age_us,
                    int (*each)(void *ctx, const struct store_node *n), void *ctx, struct err *err)
{
	return s->ops->each_node(s, max_age_us, each, ctx, err);
}

void store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
}

bool store_lacks_days(const struct store *s)
{
	return s->lacks_days;
}

bool store_waits(const struct store *s)
{
	return s->ops->waits;
}

int store_take_epoch(struct store *s, const char *who, uint32_t *ret_epoch, struct err *err)
{
	return s->ops->take_epoch(s, who, ret_epoch, err);
}

int store_now(struct store *s, int64_t *ret_us, struct err *err)
{
	if (!s->ops->now)
		return err_set(err, E_UNSUPPORTED, "this store has no clock of its own");
	return s->ops->now(s, ret_us, err);
}

int store_position(struct store *s, uint64_t *ret_number, uint32_t *ret_epoch, struct err *err)
{
	return s->ops->position(s, ret_number, ret_epoch, err);
}

bool store_audit_tip(const struct store *s, uint64_t *ret_id, char ret_hash[65])
{
	if (!s->audit.known)
		return false;
	*ret_id = s->audit.id;
	memcpy(ret_hash, s->audit.hash, CHAIN_HEX);
	return true;
}

int store_commit(struct store *s, const struct store_batch *b, struct err *err)
{
	int r = batch_check(b, err);

	return r < 0 ? r : s->ops->commit(s, b, err);
}

void store_idle(struct store *s)
{
	s->ops->idle(s);
}

void store_quiet(struct store *s)
{
	if (s->ops->quiet)
		s->ops->quiet(s);
}

int store_load_docs(struct store *s, enum store_doc_kind kind,
                    int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	return s->ops->load_docs(s, kind, each, ctx, err);
}

int store_find_workflow(struct store *s, uint32_t id, uint32_t version,
                        int (*each)(void *ctx, const struct store_doc *d), void *ctx,
                        struct err *err)
{
	return s->ops->find_workflow(s, id, version, each, ctx, err);
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

int store_scan_live(struct store *s, uint32_t from, size_t max,
                    int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
                    struct err *err)
{
	return s->ops->scan_live(s, from, max, each, ctx, err);
}

int store_read_live(struct store *s, const uint32_t *slots, size_t n,
                    int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err)
{
	return n ? s->ops->read_live(s, slots, n, each, ctx, err) : 0;
}

int store_load_outcomes(struct store *s, int (*each)(void *ctx, const struct store_outcome *o),
                        void *ctx, struct err *err)
{
	return s->ops->load_outcomes(s, each, ctx, err);
}

int store_load_ranges(struct store *s, bool unsaved,
                      int (*each)(void *ctx, const struct store_range *r), void *ctx,
                      struct err *err)
{
	return s->ops->load_ranges(s, unsaved, each, ctx, err);
}

int store_find_range(struct store *s, uint32_t task, int64_t run_date, struct store_range *ret,
                     struct err *err)
{
	return s->ops->find_range(s, task, run_date, ret, err);
}

int store_load_commands(struct store *s, bool unfinished_only,
                        int (*each)(void *ctx, const struct store_command *c), void *ctx,
                        struct err *err)
{
	return s->ops->load_commands(s, unfinished_only, each, ctx, err);
}

int store_load_alerts(struct store *s, int (*each)(void *ctx, const struct store_alert *a),
                      void *ctx, struct err *err)
{
	return s->ops->load_alerts(s, each, ctx, err);
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

int store_find_data(struct store *s, uint64_t last_number, uint32_t generation, enum inst_data kind,
                    char **ret_body, struct err *err)
{
	return s->ops->find_data(s, last_number, generation, kind, ret_body, err);
}

int store_save_outcomes(struct store *s, uint32_t epoch, const struct store_outcome *o, size_t n,
                        uint64_t upto_number, struct err *err)
{
	return s->ops->save_outcomes(s, epoch, o, n, upto_number, err);
}

int store_retain(struct store *s, uint32_t epoch, const struct store_retention *ask,
                 size_t *ret_rows, struct err *err)
{
	return s->ops->retain(s, epoch, ask, ret_rows, err);
}

int store_load_items(struct store *s, uint64_t command,
                     int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                     struct err *err)
{
	return s->ops->load_items(s, command, each, ctx, err);
}

int store_load_stats(struct store *s, const struct store_stat_days *days,
                     int (*each)(void *ctx, const struct store_stat *st), void *ctx,
                     struct err *err)
{
	return s->ops->load_stats(s, days, each, ctx, err);
}

int store_drop_stats(struct store *s, uint32_t epoch, int32_t day, size_t rows_max,
                     size_t *ret_rows, struct err *err)
{
	return s->ops->drop_stats(s, epoch, day, rows_max, ret_rows, err);
}
