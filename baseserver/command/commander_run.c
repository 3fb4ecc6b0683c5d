/* A command at work, step by step: what it means is counted, then proposed.
 *
 * PH_SURVEY walks the selection for the totals, a slice in each turn of the thread; PH_RUN walks
 * it again and sends letters of proposals to the ledger, a bounded number of instances under way.
 * Each letter that comes back moves the cursor (cmd.last) and becomes a record, which says how far
 * the command is; after a restart it goes on behind that cursor. With `parallel` an instance that
 * was let go counts until it has ended, and members that wait for one another do not block the
 * rest. A cancel halts the feed, waits for what is in flight, and then takes back what has not
 * started. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/civil.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"

enum { SURVEY_SLICE = 2000, SURVEY_BESIDE = 500, SURVEY_LEAST = 100, SURVEY_RESTS = 3 };
enum { LETTER_MAX = 512, WAITS_US = 2 * 1000 * 1000 };
enum { BESIDE_OTHERS = 32 };

static void open_feed(struct commander *c, struct cmd *cmd)
{
	struct order *o = &cmd->o;

	feed_close(cmd->feed);
	cmd->feed_over = cmd->has_begun = false;
	if (cmd->ops->chosen)
		cmd->ops->chosen(c, cmd, o);
	if (cmd->picks) {
		cmd->feed = feed_open_picks(&c->cat, cmd->picks, cmd->n_picks);
		return;
	}
	bool capped = o->parallel > 0 && o->parallel < PARALLEL_NO_CAP;
	cmd->feed = feed_open(&c->cat, &o->sel, commander__sources(o),
	                      o->order == ORDER_DESC ? FEED_BY_DATE_DESC
	                      : capped               ? FEED_BY_DATE
	                                             : FEED_BY_TASK);
}

static bool watches(const struct cmd *cmd)
{
	return cmd->o.parallel > 0 || cmd->o.wait_running;
}

/* --- counting -------------------------------------------------------------------- */

/* Feeds go task by task, dates ascending: the day is nearly always the last one or near it. */
static struct tally_day *tally_day(struct tally *t, const struct item *it)
{
	int64_t at = it->key.run_date, day;
	size_t i = t->n_days;

	day = floor_div(it->task ? tz_to_label(plan_tz(it->task->def->plan), at) : at, DAY_S);
	while (i > 0 && t->days[i - 1].day > day)
		i--;
	if (i > 0 && t->days[i - 1].day == day)
		return &t->days[i - 1];
	t->days = mem_grow(t->days, t->n_days + 1, sizeof *t->days);
	memmove(&t->days[i + 1], &t->days[i], (t->n_days - i) * sizeof *t->days);
	t->n_days++;
	t->days[i] = (struct tally_day){ .day = day };
	return &t->days[i];
}

static uint8_t state_now(const struct commander *c, const struct item *it)
{
	const struct cat_inst *live = catalog_live(&c->cat, it->key);
	const struct outcome_range *r = NULL;

	if (!live && it->task && it->key.part == 0)
		r = outcomes_find(&it->task->outcomes, it->key.run_date);
	return live ? live->state : r ? r->state : ST_NONE;
}

static void count_why(struct tally *t, const struct verdict *v)
{
	size_t i = 0;

	while (i < t->n_why && t->why[i].text != v->text)
		i++;
	if (i == WHY_MAX)
		return;
	if (i == t->n_why)
		t->why[t->n_why++] = (struct tally_why){ v->code, v->text, 0 };
	t->why[i].count++;
}

static void run_count(struct commander *c, struct cmd *cmd, const struct item *it)
{
	struct verdict v = commander__decide(c, cmd, it);
	struct tally *t = &cmd->tally;
	struct tally_day *day = tally_day(t, it);
	struct tally_item shown = { it->key, v.code, v.text, state_now(c, it) };

	if (v.what == VD_WAIT)
		v.runs = true;
	if (v.what == VD_LEAVE || v.what == VD_JOIN) {
		t->left++;
		t->joined += v.what == VD_JOIN;
		day->left++;
		return;
	}
	if (v.what == VD_REFUSE) {
		t->refusals++;
		day->refusals++;
		count_why(t, &v);
		if (t->n_refused < DRY_LIST_MAX)
			t->refused[t->n_refused++] = shown;
		return;
	}
	if (cmd->dry && cmd->ops->strands)
		strand__look(c, it, &v, t);
	struct tally_task *task = tally__task(t, it->key.task);
	task->count++;
	task->made += v.is_new;
	task->running += v.runs;
	task->fresh += !catalog_live(&c->cat, it->key);
	day->count++;
	day->made += v.is_new;
	t->states[shown.state]++;
	t->total++;
	if (t->n_sample < DRY_LIST_MAX)
		t->sample[t->n_sample++] = shown;
}

/* Members of the answer, known once all is counted: what was left as it is, and for which date a
 * run is. NULL: none. */
static char *run_members(const struct commander *c, const struct cmd *cmd)
{
	const struct tally *t = &cmd->tally;
	struct buf out;

	buf_init(&out);
	if (t->left) {
		put_int(&out, "left", t->left);
		put_int(&out, "joined", t->joined);
	}
	if (cmd->ops->picks_dates && cmd->ops->print)
		cmd->ops->print(c, cmd, &out);
	char *text = out.len ? mem_str(buf_str(&out)) : NULL;
	buf_done(&out);
	return text;
}

/* What it saved for its instances goes again. */
static void survey_failed(struct commander *c, struct cmd *cmd, const struct refusal *f)
{
	if (cmd->ops->tries && !cmd->dry)
		trial__end(c, cmd, CS_FAILED, f->text);
	else
		cmd__fail(c, cmd, f);
}

static void counted(struct commander *c, struct cmd *cmd)
{
	struct tally *t = &cmd->tally;

	CHECK(cmd->phase == PH_SURVEY);
	feed_close(cmd->feed);
	cmd->feed = NULL;
	struct refusal f;
	if (quota__unfinished(c, cmd, &f) < 0) {
		survey_failed(c, cmd, &f);
		return;
	}
	if (cmd->dry) {
		cmd__preview(c, cmd);
		return;
	}
	cmd->total = cmd->done + t->total + t->refusals;
	if (cmd->total == 0 && t->left == 0 && !cmd->resumed && !cmd->o.on_tasks) {
		refuse(&f, E_NOT_FOUND, "args.selection", NULL, "nothing is selected%s",
		       cmd->kind == CK_BACKFILL && cmd->o.sel.has_from
		               ? ": no date of the plan of what is selected is among them"
		               : "");
		survey_failed(c, cmd, &f);
		return;
	}
	if (!cmd->resumed && !cmd->o.on_tasks && !cmd->changes)
		cmd->changes = run_members(c, cmd);
	bool waits = watches(cmd) || cmd->ops->retires;
	cmd->answer_early = waits || cmd->total > (int64_t)c->set.batch;
	if (cmd->state == CS_QUEUED)
		cmd->state = CS_RUNNING;
	cmd->phase = PH_RUN;
	if (!cmd->recorded || cmd->answer_early)
		cmd__record(c, cmd, NULL, 0);
	commander__work(c, cmd);
}

/* What commands change before the next commit lengthens it, and nothing starts before it is over:
 * command_batch is of all commands together. */
static void share_batch(struct commander *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_cmds; i++) {
		const struct cmd *cmd = c->cmds[i];
		n += cmd->phase == PH_RUN && cmd->state == CS_RUNNING && !cmd->feed_over;
	}
	c->batch_share = n && c->set.batch / n == 0 ? 1 : c->set.batch / (n ? n : 1);
}

/* What is counted in one turn delays all who share the thread: some 2 ms, of all commands
 * together. While jobs start it is less, and a rest follows, so that long counts take no more than
 * a quarter of the thread; a command's first piece waits for nobody's rest. */
void cmd__survey_share(struct commander *c)
{
	size_t n = 0;

	for (const struct cmd *cmd = c->work; cmd; cmd = cmd->next)
		n += cmd->phase == PH_SURVEY;
	for (size_t i = 0; i < c->n_cmds; i++)
		n += c->cmds[i]->phase == PH_SURVEY;
	c->slice = (commander__some_start(c) ? SURVEY_BESIDE : SURVEY_SLICE) / (n ? n : 1);
	if (c->slice < SURVEY_LEAST)
		c->slice = SURVEY_LEAST;
	share_batch(c);
}

/* Of a kind that takes what depends on the chosen ones. 1: there is more to find. */
static int find_downstream(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	size_t budget = c->slice;
	int r;

	if (cmd->o.mode == REDO_SELF || cmd->picks)
		return 0;
	if (!cmd->down)
		cmd->down = down__open(c, &cmd->o, cmd->o.mode, cmd->o.scope);
	r = down__step(cmd->down, &budget);
	if (r == 0)
		r = down__picks(cmd->down, &budget, &cmd->picks, &cmd->n_picks);
	if (r > 0)
		return r;
	down__close(cmd->down);
	cmd->down = NULL;
	return r < 0 ? down__refuse(f) : 0;
}

void cmd__survey_rest(struct commander *c)
{
	int64_t now = actor_mono_us(c->me);

	if (c->surveyed_us && commander__some_start(c))
		c->survey_us = now + SURVEY_RESTS * c->surveyed_us;
	c->surveyed_us = 0;
}

static void survey_piece(struct commander *c, struct cmd *cmd)
{
	struct refusal f;
	struct item it;

	CHECK(c->slice > 0);             /* of this turn */
	if (cmd->ends_as != CS_QUEUED) { /* cancelled while it was saved */
		cmd->phase = PH_RUN;
		commander__work(c, cmd);
		return;
	}
	if (cmd->preview) {
		cmd__preview(c, cmd);
		return;
	}
	if (!cmd->feed) {
		int r = find_downstream(c, cmd, &f);
		if (r < 0)
			survey_failed(c, cmd, &f);
		if (r > 0)
			actor_wake(c->me);
		if (r != 0)
			return;
		open_feed(c, cmd);
	}
	size_t left = c->slice;
	if (!feed_ready(cmd->feed, &left)) {
		actor_wake(c->me);
		return;
	}
	for (; left > 0; left--) {
		if (!feed_next(cmd->feed, &it)) {
			counted(c, cmd);
			return;
		}
		run_count(c, cmd, &it);
	}
	if (quota__unfinished(c, cmd, &f) < 0) {
		survey_failed(c, cmd, &f);
		return;
	}
	/* Long enough that people want to see it: it is there, its size is not known yet. What
	 * makes instances is not there before it is known that it may: the limit bounds that. */
	bool may = !cmd->ops->fills || cmd->o.parallel > 0;
	if (!cmd->dry && !cmd->recorded && may && cmd->tally.total > 0) {
		cmd->answer_early = true;
		cmd__record(c, cmd, NULL, 0);
	}
	actor_wake(c->me);
}

void cmd__survey(struct commander *c, struct cmd *cmd)
{
	int64_t began = actor_mono_us(c->me);

	if (cmd->surveyed && began < c->survey_us) {
		commander_alarm(c, c->survey_us);
		return;
	}
	cmd->surveyed = true;
	survey_piece(c, cmd);
	c->surveyed_us += actor_mono_us(c->me) - began;
}

/* --- proposing ------------------------------------------------------------------- */

static void add_item(struct flight *fl, struct inst_key key, int code, const char *text)
{
	fl->items = mem_room(fl->items, &fl->items_cap, fl->n_items + 1, sizeof *fl->items);
	fl->items[fl->n_items++] = (struct store_command_item){ fl->cmd->id, key, code,
		                                                mem_str(text) };
}

static void run_fill(struct proposal *p, const struct cmd *cmd, const struct verdict *v,
                     const struct flight *fl)
{
	p->cookie = fl->number;
	p->cause = cmd->id;
	p->reason = v->reason;
	p->origin = v->origin;
	p->intent = v->intent;
	p->priority = v->priority;
	p->kill_running = v->kill_running;
	p->mend = v->mend;
	p->flags = v->flags;
	p->grace_ms = v->grace_ms;
	p->version = v->version;
	p->due = v->due;
	/* What begins anew is another run, without what the one before was given; a redo is the
	 * same run once more. */
	bool renews = (v->ask == ASK_REDO || v->ask == ASK_RUN_NOW) && !cmd->ops->repeats;
	p->data_kind = renews ? ID_OWN : ID_PARAMS;
	if (cmd->o.params)
		p->data = mem_str(cmd->o.params);
}

/* What waited comes first; then the feed. */
static bool next_item(struct commander *c, struct cmd *cmd, struct flight *fl, struct item *ret)
{
	if (cmd->ripe.n) {
		struct inst_key key = cmd->ripe.at[cmd->ripe.n - 1];
		CHECK(keyset_remove(&cmd->ripe, key));
		*ret = (struct item){ key, catalog_task(&c->cat, key.task), true };
		return true;
	}
	if (cmd->feed_over || !feed_next(cmd->feed, ret)) {
		cmd->feed_over = true;
		return false;
	}
	cmd->fed = ret->key;
	fl->index++;
	return true;
}

static void commander_run_take(struct cmd *cmd, struct flight *fl, struct proposals *ps,
                               const struct item *it, const struct verdict *v)
{
	struct inst_key key = it->key;

	if (v->what == VD_WAIT)
		keyset_add(&cmd->waits, key);
	if (v->what == VD_JOIN)
		add_item(fl, key, 0, v->text);
	if (v->what == VD_REFUSE) {
		add_item(fl, key, v->code, v->text);
		fl->done++;
		fl->failed++;
	}
	if (v->what != VD_PROPOSE)
		return;
	if (v->part)
		key.part = v->part;
	run_fill(proposals_add(ps, v->ask, key), cmd, v, fl);
	if (cmd->o.parallel > 0) {
		keyset_add(&cmd->out, key);
		keyset_add(&cmd->asked_for, key);
	}
}

/* One letter at most `max` proposals long. */
static struct proposals *next_letter(struct commander *c, struct cmd *cmd, struct flight *fl,
                                     size_t max)
{
	CHECK(max > 0 && max <= LETTER_MAX);
	struct proposals *ps = proposals_new(PR_COMMANDER, max, c->me, commander_answered);
	struct item it;

	ps->command = cmd->id;
	while (ps->n < max && fl->n_items < LETTER_MAX && next_item(c, cmd, fl, &it)) {
		struct verdict v = commander__decide(c, cmd, &it);
		commander_run_take(cmd, fl, ps, &it, &v);
	}
	fl->last = cmd->fed;
	return ps;
}

static void run_settle(struct commander *c, struct cmd *cmd)
{
	struct flight *fl;

	while ((fl = cmd->flights) && fl->answered) {
		cmd->flights = fl->next;
		if (!cmd->flights)
			cmd->flights_tail = &cmd->flights;
		CHECK(fl->failed <= fl->done);
		cmd->failed += fl->failed;
		cmd->done += fl->done;
		if (cmd->total >= 0 && cmd->done > cmd->total)
			cmd->total = cmd->done;
		cmd->last = fl->last;
		cmd->index = fl->index;
		cmd->has_cursor = fl->last.task != 0;
		cmd__record(c, cmd, fl->items, fl->n_items);
		free(fl);
	}
}

static bool launch(struct commander *c, struct cmd *cmd, size_t max)
{
	CHECK(!c->stuck && !cmd->halted);
	struct flight *fl = mem_new(sizeof *fl);
	size_t before = cmd->index;

	for (struct flight *f = cmd->flights; f; f = f->next)
		before = f->index;
	fl->cmd = cmd;
	fl->number = ++c->last_flight;
	fl->index = before;
	struct proposals *ps = next_letter(c, cmd, fl, max);
	if (fl->index == before && ps->n == 0 && fl->n_items == 0) { /* nothing was left */
		proposals_free(ps);
		free(fl);
		return true;
	}
	*cmd->flights_tail = fl;
	cmd->flights_tail = &fl->next;
	if (ps->n == 0) {
		fl->answered = true;
		proposals_free(ps);
		run_settle(c, cmd);
		return true;
	}
	cmd->in_flight += ps->n;
	log_debug("commander.propose",
	          "command=%" PRIu64 " kind=%s proposals=%zu refused=%zu in_flight=%zu", cmd->id,
	          command_kind_name(cmd->kind), ps->n, fl->n_items, cmd->in_flight);
	return commander_send(c, ps);
}

static bool all_wait(const struct commander *c, const struct cmd *cmd)
{
	for (size_t i = 0; i < cmd->out.n; i++) {
		const struct cat_inst *l = catalog_live(&c->cat, cmd->out.at[i]);
		if (!l || l->state != ST_READY || l->flags & IF_LOOKS)
			return false;
	}
	return cmd->in_flight == 0;
}

/* Parallel: those let go may wait for others that are still held back. When none of them has
 * been active for a while, one more is let go. */
static size_t parallel_room(struct commander *c, struct cmd *cmd)
{
	int64_t now = actor_mono_us(c->me);

	if (cmd->o.parallel == 0)
		return LETTER_MAX;
	if ((int64_t)cmd->out.n < cmd->o.parallel)
		return (size_t)cmd->o.parallel - cmd->out.n;
	if (!all_wait(c, cmd)) {
		cmd->waits_since_us = 0;
		return 0;
	}
	if (cmd->waits_since_us == 0)
		cmd->waits_since_us = now;
	if (now - cmd->waits_since_us < WAITS_US) {
		commander_alarm(c, cmd->waits_since_us + WAITS_US);
		return 0;
	}
	cmd->waits_since_us = 0;
	return 1;
}

static void find_one(struct cmd *cmd, const struct cat_inst *in)
{
	if (in && in->cause == cmd->id && cmd->o.parallel > 0)
		keyset_add(&cmd->out, in->key);
}

/* After a restart: what was let go and has not ended, or has ended badly; what was waited for
 * and no longer runs. */
static void find_out(struct commander *c, struct cmd *cmd)
{
	for (size_t i = 0; i < cmd->settled.n && cmd->o.parallel > 0; i++) {
		struct inst_key key = cmd->settled.at[i];
		const struct cat_task *t = catalog_task(&c->cat, key.task);
		const struct outcome_range *r = t ? outcomes_find(&t->outcomes, key.run_date)
		                                  : NULL;
		find_one(cmd, catalog_live(&c->cat, key));
		if (r && cmd->o.stop_on_failure && !catalog_live(&c->cat, key))
			cmd__stop_if_bad(c, cmd, key, (enum state)r->state);
	}
	for (size_t i = cmd->waits.n; i-- > 0;) {
		struct inst_key key = cmd->waits.at[i];
		const struct cat_inst *in = catalog_live(&c->cat, key);
		if (in && state_holds_slot((enum state)in->state))
			continue;
		keyset_remove(&cmd->waits, key);
		keyset_add(&cmd->ripe, key);
	}
}

/* False: there is more to do before it acts on anything. */
static bool begin_run(struct commander *c, struct cmd *cmd)
{
	size_t left = SURVEY_SLICE;

	if (!cmd->feed)
		open_feed(c, cmd);
	if (cmd->has_begun)
		return true;
	if (!feed_ready(cmd->feed, &left)) {
		actor_wake(c->me);
		return false;
	}
	cmd->has_begun = true;
	cmd__tell_scope(c, cmd);
	cmd->fed = cmd->last;
	if (cmd->has_cursor)
		feed_skip(cmd->feed, cmd->last, cmd->index);
	if (cmd->resumed)
		find_out(c, cmd);
	if (watches(cmd)) {
		CHECK(!cmd->watched);
		cmd->watched = true;
		cmd->watch_next = c->watchers;
		c->watchers = cmd;
	}
	return true;
}

static void run_over(struct commander *c, struct cmd *cmd)
{
	CHECK(cmd->in_flight == 0 && !cmd->flights);
	cmd->total = cmd->done;
	if (cmd->ops->retires) {
		cmd->phase = PH_GONE;
		commander__work(c, cmd);
		return;
	}
	if (cmd->ops->sweep == SWEEP_BEFORE_EDIT && cmd->o.on_tasks) {
		cmd->phase = PH_EDIT;
		feed_close(cmd->feed);
		cmd->feed = NULL;
		return; /* step() goes on with it */
	}
	cmd__over(c, cmd, CS_DONE, "");
}

/* Beside jobs of other projects that start now its steps are small: each start waits for a step to
 * be stored. */
static size_t batch_of(const struct commander *c, const struct cmd *cmd)
{
	const struct cat_task *t = cmd->o.sel.n_tasks ? catalog_task(&c->cat, cmd->o.sel.tasks[0])
	                                              : NULL;
	size_t share = c->batch_share;

	CHECK(share > 0); /* of this turn */
	if (t && commander__others_start(c, t->project))
		share /= BESIDE_OTHERS;
	return share ? share : 1;
}

/* It makes no more of them; what is under way comes first. */
static void end_run(struct commander *c, struct cmd *cmd)
{
	CHECK(cmd->ops->tries);
	if (cmd->in_flight)
		return;
	if (!cmd->feed)
		open_feed(c, cmd);
	cmd->phase = PH_GONE;
	commander__work(c, cmd);
}

void cmd__run(struct commander *c, struct cmd *cmd)
{
	CHECK(cmd->phase == PH_RUN && !cmd->dry);
	if (cmd->ends_as != CS_QUEUED) {
		end_run(c, cmd);
		return;
	}
	if (!begin_run(c, cmd))
		return;
	if (cmd->state != CS_RUNNING || cmd->halted)
		return; /* paused, or about to be cancelled */
	if (cmd->stopping) {
		if (cmd->in_flight)
			return;
		cmd__cancel_rows(c, cmd);
		char *why = mem_str(cmd->error);
		cmd__over(c, cmd, CS_FAILED, why);
		free(why);
		return;
	}
	size_t share = batch_of(c, cmd);
	while ((!cmd->feed_over || cmd->ripe.n) && !c->stuck && cmd->in_flight < share) {
		size_t room = parallel_room(c, cmd), left = share - cmd->in_flight;
		size_t max = room < left ? room : left;
		if (max == 0)
			break;
		if (!launch(c, cmd, max < LETTER_MAX ? max : LETTER_MAX))
			break;
	}
	bool follows = cmd->o.stop_on_failure && cmd->out.n;
	if (cmd->feed_over && !cmd->flights && !follows && !cmd->waits.n && !cmd->ripe.n)
		run_over(c, cmd);
}

static struct flight *flight_find(struct commander *c, uint64_t number)
{
	for (size_t i = 0; i < c->n_cmds; i++)
		for (struct flight *fl = c->cmds[i]->flights; fl; fl = fl->next)
			if (fl->number == number)
				return fl;
	return NULL;
}

/* Answered: it is out, or was refused, or is over already. */
static void let_go(struct commander *c, struct cmd *cmd, const struct answer *a)
{
	const struct cat_task *t = catalog_task(&c->cat, a->key.task);
	bool live = catalog_live(&c->cat, a->key) != NULL;

	keyset_remove(&cmd->asked_for, a->key);
	if ((live && a->code >= 0) || !keyset_remove(&cmd->out, a->key))
		return;
	const struct outcome_range *o = t ? outcomes_find(&t->outcomes, a->key.run_date) : NULL;
	if (o && a->code >= 0 && cmd->o.stop_on_failure)
		cmd__stop_if_bad(c, cmd, a->key, (enum state)o->state);
}

void commander_answered(struct letter *l, void *self)
{
	struct commander *c = self;
	struct answers *as = (struct answers *)l;
	struct flight *fl = as->n ? flight_find(c, as->a[0].cookie) : NULL;

	commander_fold(c); /* what the answers are about is in the stream */
	if (fl) {
		struct cmd *cmd = fl->cmd;
		CHECK(!fl->answered);
		CHECK(cmd->in_flight >= as->proposals);
		cmd->in_flight -= as->proposals;
		for (size_t i = 0; i < as->n; i++) {
			const struct answer *a = &as->a[i];
			fl->done++;
			fl->failed += a->code < 0;
			let_go(c, cmd, a);
		}
		fl->answered = true;
		run_settle(c, cmd);
		commander__work(c, cmd);
	}
	free(as);
}

/* Cancelled: what it made or reopened and has not started will not run. */
void cmd__cancel_rows(struct commander *c, struct cmd *cmd)
{
	struct proposals *ps = NULL;
	size_t max = c->set.batch < LETTER_MAX ? c->set.batch : LETTER_MAX;

	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		for (uint32_t k = t ? t->live : SLAB_NONE; k != SLAB_NONE;) {
			const struct cat_inst *in = catalog_inst(&c->cat, k);
			k = in->next;
			if (in->cause != cmd->id ||
			    (in->state != ST_READY && in->state != ST_DEPEND))
				continue;
			if (ps && ps->n == max && !c->stuck) {
				commander_send(c, ps);
				ps = NULL;
			}
			if (!ps)
				ps = proposals_new(PR_COMMANDER, max, c->me, commander_answered);
			struct proposal *p = proposals_add(ps, ASK_CANCEL, in->key);
			if (!p)
				break;
			p->reason = RE_CANCELLED;
			p->cause = cmd->id;
		}
	}
	if (ps && !c->stuck)
		commander_send(c, ps);
	else
		proposals_free(ps);
}
