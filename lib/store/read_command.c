/* The instances of a command: those that its items name, in the generation that it made, reopened
 * or ended. What is unfinished is found by a scan, for lb_task_run has no index by key; what has
 * ended by the index of history.
 *
 * A row is of the instance's newest generation. Where another command has begun that (`cause`), the
 * walk over the instance's events says how this command's own ended: later ones change nothing of
 * what is shown of it. An instance whose events retention has taken, and one that the command left
 * as it was, is shown as it is now; so are those beyond WALKS_MAX. */
#include <stdlib.h>

#include "store/read_impl.h"
#include "util/alloc.h"
#include "util/err.h"

enum { WALKS_MAX = 20000, WALK_EVENTS_MAX = 500 };

/* What a command's instances are gathered into. */
struct gather {
	struct reader *r;
	const struct read_command_of *of;
	struct read_of_command *ret;
	int (*each)(void *ctx, const struct instance *i);
	void *ctx;
	struct instance *anew; /* rows of which another has begun a later generation */
	size_t n_anew;
	struct instance
		bad[READ_ENDED_MAX]; /* of these its own that are to be told: of->ended_max */
	size_t n_bad;
};

/* Only of a later generation than the first can another command be the cause. */
static bool is_anothers(const struct gather *g, const struct instance *i)
{
	return i->generation > 1 && i->cause != g->of->command;
}

static void keep_anew(struct gather *g, const struct instance *i)
{
	g->anew = mem_grow(g->anew, g->n_anew + 1, sizeof *g->anew);
	g->anew[g->n_anew++] = *i;
}

static int found_put(struct rows *q, struct gather *g, struct err *err)
{
	struct instance row;
	int code = rows_instance(q, &row, err);

	if (code < 0)
		return code;
	if (is_anothers(g, &row) && g->n_anew < WALKS_MAX) {
		keep_anew(g, &row);
		return 0;
	}
	g->ret->states[row.state]++;
	return g->each(g->ctx, &row);
}

static int of_live(struct gather *g, struct err *err)
{
	struct reader *r = g->r;
	struct rows *q = NULL;
	struct buf text = { 0 };

	read__put(r, &text,
	          "SELECT " INSTANCE_COLUMNS " FROM lb_task_run AS t WHERE EXISTS"
	          " (SELECT 1 FROM lb_command_item AS i WHERE i.command_id = ?"
	          " AND i.task_id = t.task_id AND i.curr_run_date = t.curr_run_date"
	          " AND i.part = t.part AND i.code = 0)",
	          "i", (int64_t)g->of->command);
	read__see_tasks(r, &text, "task_id");
	int code = read__query(r, "lb_task_run", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0)
		code = found_put(q, g, err);
	return code;
}

#define OF_COMMAND \
	" FROM lb_command_item AS i JOIN lb_task_run_history AS h" \
	" ON h.curr_run_date = i.curr_run_date AND h.task_id = i.task_id AND h.part = i.part" \
	" WHERE i.command_id = ? AND i.code = 0"

/* Both tables have the column: which one does not matter to whoever is seen. */
static void see_joined(struct reader *r, struct buf *q)
{
	if (!r->sight)
		return;
	buf_puts(q, " AND i.task_id IN (SELECT task_id FROM lb_task WHERE 1");
	read__see_names(r, q, "task_name");
	buf_puts(q, ")");
}

/* Of the newest generation, or of the first. */
#define ITS_OWN " AND (h.generation = 1 OR h.cause = i.command_id)"

static int count_done(struct gather *g, struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };
	int64_t number, n;
	enum state st;

	read__put(g->r, &text, "SELECT h.job_status, count(*)" OF_COMMAND ITS_OWN, "i",
	          (int64_t)g->of->command);
	see_joined(g->r, &text);
	buf_puts(&text, " GROUP BY h.job_status");
	int code = read__query(g->r, "lb_task_run_history", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0) {
		code = rows_int(q, 0, INT32_MIN, INT32_MAX, &number, err);
		if (code == 0)
			code = rows_int(q, 1, 0, INT64_MAX, &n, err);
		if (code == 0 && state_from_number((int)number, &st))
			g->ret->states[st] += (uint64_t)n;
	}
	return code;
}

/* Three numbers from column `at` on. */
static int key_read(struct rows *q, size_t at, struct inst_key *ret, struct err *err)
{
	int64_t v[3] = { 0 };
	int code = 0;

	for (size_t k = 0; k < 3 && code == 0; k++)
		code = rows_int(q, at + k, INT64_MIN, INT64_MAX, &v[k], err);
	*ret = (struct inst_key){ .task = (uint32_t)v[0], .run_date = v[1], .part = (int32_t)v[2] };
	return code;
}

/* The keys of those that have ended and were begun anew by another. */
static int keys_anew(struct gather *g, struct inst_key **ret, size_t *ret_n, struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };
	int64_t number;
	enum state st;

	read__put(g->r, &text,
	          "SELECT h.job_status, i.task_id, i.curr_run_date, i.part" OF_COMMAND
	          " AND h.generation > 1 AND h.cause <> i.command_id",
	          "i", (int64_t)g->of->command);
	see_joined(g->r, &text);
	int code = read__query(g->r, "lb_task_run_history", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0) {
		code = rows_int(q, 0, INT32_MIN, INT32_MAX, &number, err);
		if (code == 0 && *ret_n + g->n_anew < WALKS_MAX) {
			*ret = mem_grow(*ret, *ret_n + 1, sizeof **ret);
			code = key_read(q, 1, &(*ret)[(*ret_n)++], err);
		} else if (code == 0 && state_from_number((int)number, &st)) {
			g->ret->states[st]++;
		}
	}
	return code;
}

/* --- its own generation ---------------------------------------------------------------------- */

/* Of the newest event backwards. */
struct walk {
	uint64_t command;
	uint32_t own;            /* its generation; 0: not found yet */
	uint32_t generation;     /* that of the event before: later in time */
	struct read_event last;  /* the newest of `generation`, or of `own` */
	struct read_event after; /* that of the generation after it */
	bool after_free;    /* which no command of its own began: a redo's kill made way for it */
	bool first_free;    /* of `generation`, so far: its first event has no cause */
	int64_t started_us; /* of `own`; 0: it never ran */
};

static void walk_newer(struct walk *w, const struct read_event *e)
{
	w->after = w->last;
	w->after_free = w->generation && w->first_free;
	w->generation = e->generation;
	w->last = *e;
	w->last.note = NULL;
	w->started_us = 0;
}

/* False: it is known, there is no more to look for. */
static bool walk_event(struct walk *w, const struct read_event *e)
{
	if (e->generation != w->generation) {
		if (w->own)
			return false;
		walk_newer(w, e);
	}
	/* Who was told of its end, or froze it then, changed nothing of how it ended. */
	if (w->last.from == w->last.to) {
		uint64_t newest = w->last.number;
		w->last = *e;
		w->last.number = newest;
		w->last.note = NULL;
	}
	if (!w->started_us && e->event == EV_STARTED)
		w->started_us = e->at_us;
	w->first_free = e->cause == 0;
	if (w->own || e->cause != w->command)
		return true;
	w->own = w->generation;
	if ((e->event != EV_KILL && e->event != EV_INTENT) || !w->after_free)
		return true;
	w->own = w->after.generation; /* it asked for the redo, and waited for the kill */
	w->last = w->after;
	return false;
}

/* How what had not ended did, when it made way for the next generation. */
static enum state way_made(enum state last)
{
	if (state_final(last))
		return last;
	return last == ST_FAILED ? ST_STOP : last == ST_READY ? ST_SKIPPED : ST_KILLED;
}

/* *i as this command left it, if another has begun it anew since. 1: so; 0: it is as it is. */
static int own_find(struct gather *g, struct rows *q, struct instance *i, struct err *err)
{
	struct walk w = { .command = g->of->command };
	struct read_event e = { 0 };
	uint64_t number = inst_chain(i);
	bool more = true;
	int code = 0;

	for (int n = 0; number && more && n < WALK_EVENTS_MAX; n++, number = e.prev) {
		rows_bind(q, 1, (int64_t)number);
		code = rows_step(q, err);
		if (code > 0)
			code = rows_event(q, &e, err);
		else if (code == 0)
			break; /* retention has it */
		if (code < 0)
			return code;
		if (e.prev >= number)
			return err_set(err, E_CORRUPT, "lb_task_event: an event before itself");
		more = walk_event(&w, &e);
	}
	if (!w.own || w.own == i->generation)
		return 0;
	i->state = (uint8_t)way_made((enum state)w.last.to);
	i->reason = state_final((enum state)w.last.to) ? w.last.reason : RE_REDO;
	i->ended_us = w.last.at_us;
	i->started_us = w.started_us;
	i->generation = w.own;
	i->revision = w.last.revision;
	i->version = 0; /* and when it was due: events do not tell */
	i->eff_due_us = 0;
	i->attempt = w.last.attempt;
	i->exit_code = w.last.exit_code;
	i->token = w.last.token;
	i->broker = w.last.broker;
	i->last_number = w.last.number;
	i->cause = g->of->command;
	i->kept = 0;
	i->flags &= (uint16_t)~IF_LOOKS;
	i->former = 0;
	return 1;
}

static void bad_keep(struct gather *g, const struct instance *i)
{
	bool tells = g->of->since ? i->last_number > g->of->since
	                          : i->state == ST_STOP || i->state == ST_KILLED;

	if (tells && g->n_bad < g->of->ended_max)
		g->bad[g->n_bad++] = *i;
}

static int own_put(struct gather *g, struct rows *q, struct instance *i, struct err *err)
{
	int code = own_find(g, q, i, err);

	if (code < 0)
		return code;
	g->ret->states[i->state]++;
	if (code == 0 && !state_final((enum state)i->state))
		return g->each(g->ctx, i);
	bad_keep(g, i);
	return 0;
}

/* All that others have begun anew: unfinished now, or ended. */
static int of_anew(struct gather *g, struct err *err)
{
	struct inst_key *keys = NULL;
	struct rows *q = NULL;
	size_t n = 0;
	struct buf text = { 0 };
	struct instance row;
	int code = keys_anew(g, &keys, &n, err);

	for (size_t k = 0; k < n && code == 0; k++) {
		code = read__find_instance(g->r, keys[k], &row, err);
		if (code == 0)
			keep_anew(g, &row);
	}
	free(keys);
	if (code < 0 || g->n_anew == 0)
		return code;
	buf_puts(&text, "SELECT " EVENT_COLUMNS " FROM lb_task_event WHERE number = ?");
	code = read__query(g->r, "lb_task_event", &text, &q, err);
	for (size_t k = 0; k < g->n_anew && code == 0; k++)
		code = own_put(g, q, &g->anew[k], err);
	rows_close(q);
	return code;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* The last that ended badly, or all that have ended since. */
static int keys_done(struct gather *g, struct inst_key *keys, size_t *ret_n, struct err *err)
{
	const struct read_command_of *of = g->of;
	struct rows *q = NULL;
	struct buf text = { 0 };

	read__put(g->r, &text, "SELECT i.task_id, i.curr_run_date, i.part" OF_COMMAND ITS_OWN, "i",
	          (int64_t)of->command);
	see_joined(g->r, &text);
	if (of->since)
		read__put(g->r, &text, " AND h.last_number > ? ORDER BY h.last_number LIMIT ?",
		          "ii", (int64_t)of->since, (int64_t)(of->ended_max - g->n_bad));
	else
		read__put(g->r, &text,
		          " AND h.job_status IN (5, 8) ORDER BY h.last_number DESC LIMIT ?", "i",
		          (int64_t)(of->ended_max - g->n_bad));
	int code = read__query(g->r, "lb_task_run_history", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0)
		code = key_read(q, 0, &keys[(*ret_n)++], err);
	return code;
}

static int count_items(struct reader *r, uint64_t command, struct read_of_command *ret,
                       struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };
	int64_t n[2] = { 0 };

	read__put(r, &text,
	          "SELECT count(*), count(CASE WHEN text <> '' THEN 1 END) FROM lb_command_item"
	          " WHERE command_id = ? AND code = 0",
	          "i", (int64_t)command);
	read__see_tasks(r, &text, "task_id");
	int code = read__query(r, "lb_command_item", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0) {
		code = 0;
		for (int k = 0; k < 2 && code == 0; k++)
			code = rows_int(q, k, 0, INT64_MAX, &n[k], err);
	}
	ret->total = (uint64_t)n[0];
	ret->joined = (uint64_t)n[1];
	return code;
}

static int of_command(struct gather *g, struct err *err)
{
	struct inst_key keys[READ_ENDED_MAX];
	struct instance row;
	size_t n = 0;
	int code = count_items(g->r, g->of->command, g->ret, err);

	if (code == 0)
		code = of_live(g, err);
	if (code == 0)
		code = count_done(g, err);
	if (code == 0)
		code = of_anew(g, err);
	if (code == 0)
		code = keys_done(g, keys, &n, err);
	for (size_t k = 0; k < g->n_bad && code == 0; k++)
		code = g->each(g->ctx, &g->bad[k]);
	for (size_t k = 0; k < n && code == 0; k++) {
		code = read__find_instance(g->r, keys[k], &row, err);
		if (code == 0)
			code = g->each(g->ctx, &row);
	}
	return code;
}

int read_command_instances(struct reader *r, const struct read_command_of *of,
                           struct read_of_command *ret,
                           int (*each)(void *ctx, const struct instance *i), void *ctx,
                           struct err *err)
{
	*ret = (struct read_of_command){ 0 };
	if (of->ended_max > READ_ENDED_MAX)
		return err_set(err, E_INVALID, "more than %d that have ended", READ_ENDED_MAX);
	int code = read__begin(r, &ret->number, err);
	if (code < 0)
		return code;
	struct gather *g = mem_new(sizeof *g);
	*g = (struct gather){ .r = r, .of = of, .ret = ret, .each = each, .ctx = ctx };
	code = read__end(r, of_command(g, err));
	free(g->anew);
	free(g);
	return code;
}
