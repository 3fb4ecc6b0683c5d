/* People with commands: random kinds over random selections, asked again until they are over,
 * paused, resumed, cancelled, and dry runs; through the real commander. What a command
 * promises is checked in sim_promises.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_read.h"

enum { ORDERS_MAX = 400, KEYS_MAX = 64 };

static struct order_of orders[ORDERS_MAX];
static size_t n_orders;
static struct letter *early; /* answers that are ahead of the stream */
static struct {
	enum wish kind;
	const char *name;
	uint32_t weight;
} wishes[] = {
	{ W_REDO, "redo", 250 },
	{ W_BACKFILL, "backfill", 250 },
	{ W_KILL, "kill", 90 },
	{ W_FORCE, "force-success", 70 },
	{ W_SKIP, "skip", 70 },
	{ W_FREEZE, "freeze", 40 },
	{ W_UNFREEZE, "unfreeze", 40 },
	{ W_ENQUEUE, "enqueue", 60 },
	{ W_RUN_NOW, "run-now", 60 },
	{ W_PRIORITY, "priority", 40 },
	{ W_DECLARE, "declare-dead", 30 },
};
enum { N_WISHES = sizeof wishes / sizeof wishes[0] };

static void ask(struct order_of *o);

void commands_reset(void)
{
	for (size_t i = 0; i < n_orders; i++) {
		free(orders[i].args);
		free(orders[i].keys);
	}
	while (early) {
		struct letter *l = early;
		early = l->next;
		client_request_free((struct client_request *)l);
	}
	n_orders = 0;
	promises_reset();
}

/* --- answers ---------------------------------------------------------------------------- */

static void read_answer(struct order_of *o, const struct client_request *r)
{
	const struct jval *v = NULL;

	if (jv_parse_args(r->body ? r->body : "", r->body_len, &v, NULL) < 0) {
		break_invariant("C0", "the answer to %s is no JSON: %s", o->request, r->body);
		return;
	}
	o->total = jv_int(v, "total", -2);
	if (!o->dry) {
		uint64_t id = strtoull(jv_str(v, "command"), NULL, 10);
		if (o->id && o->id != id)
			break_invariant("C3", "request %s was command %" PRIu64 ", now %" PRIu64,
			                o->request, o->id, id);
		o->id = id;
		o->done = jv_int(v, "done", -2);
		o->failed = jv_int(v, "failed", -2);
		snprintf(o->state, sizeof o->state, "%s", jv_str(v, "state"));
	}
	o->number = r->number;
	jv_free(v);
}

static bool over(const struct order_of *o)
{
	return o->refused || (o->dry && o->answered) || strcmp(o->state, "done") == 0 ||
	       strcmp(o->state, "failed") == 0 || strcmp(o->state, "cancelled") == 0;
}

static void ask_again(void *a, uint64_t at)
{
	(void)a;
	if (at < n_orders && !over(&orders[at]))
		ask(&orders[at]);
}

/* Told, and all that it was told about has been seen. */
static void told(struct client_request *r)
{
	CHECK(r->id < n_orders);
	struct order_of *o = &orders[r->id];
	bool first = !o->answered;
	o->asked_epoch = 0;
	note("  command %s %s: code %d %s%s", o->request, o->name, r->code, r->text,
	     r->body ? r->body : "");
	if (r->code == E_BUSY || r->code == E_AGAIN || r->code == E_CLOSED) {
		later((int64_t)(50 + rnd(1000)) * MS, ask_again, NULL, r->id);
	} else if (r->code < 0) {
		if (o->id)
			break_invariant("C3", "request %s was taken, and is refused now: %s",
			                o->request, r->text);
		o->refused = true;
	} else {
		o->answered = true;
		read_answer(o, r);
		promises_told(o, first);
		if (!over(o))
			later((int64_t)(100 + rnd(2000)) * MS, ask_again, NULL, r->id);
	}
	client_request_free(r);
}

/* An answer may overtake the records that it is about. */
static void settle(struct letter **at)
{
	while (*at) {
		struct client_request *r = (struct client_request *)*at;
		if (r->code == 0 && r->number > promises_number()) {
			at = &(*at)->next;
			continue;
		}
		*at = (*at)->next;
		told(r);
	}
}

void commands_settle(void)
{
	settle(&early);
}

static void answered(struct letter *l, void *self)
{
	(void)self;
	l->next = early;
	early = l;
	commands_settle();
}

static void ask(struct order_of *o)
{
	if (!server_up() || o->asked_epoch == ledger_epoch_now())
		return;
	struct client_request *r = client_request_new(o->name, o->args, strlen(o->args));
	r->id = (uint64_t)(o - orders);
	r->reply_to = worker_actor();
	r->answered = answered;
	r->request_id = mem_str(o->request);
	r->actor = mem_str("sim");
	r->dry_run = o->dry;
	o->asked_epoch = ledger_epoch_now();
	if (commander_command(server_commander(), r) < 0) {
		o->asked_epoch = 0;
		client_request_free(r);
		later(SEC, ask_again, NULL, (uint64_t)(o - orders));
	}
}

/* After a restart nobody knows what became of what was asked: it is asked again. */
void commands_restarted(void)
{
	commands_settle();
	for (size_t i = 0; i < n_orders; i++)
		if (!over(&orders[i]))
			later((int64_t)rnd(3000) * MS, ask_again, NULL, i);
}

/* --- selections -------------------------------------------------------------------------- */

static void put_date(struct buf *b, int64_t s)
{
	int64_t at = s - WALL_BASE_US / SEC;

	buf_printf(b, "\"2026-03-01T%02d:%02d:%02dZ\"", (int)(at / 3600), (int)(at / 60 % 60),
	           (int)(at % 60));
}

static void add_row(struct order_of *o, struct inst_key key)
{
	if (o->n_keys < KEYS_MAX)
		o->keys[o->n_keys++] = promises_look(key);
}

static void add_key(struct order_of *o, uint32_t task, int64_t date)
{
	add_row(o, (struct inst_key){ date, task, 0 });
}

static void select_range(struct order_of *o, struct buf *b, uint32_t tasks)
{
	int64_t start = WALL_BASE_US / SEC;
	int64_t from = start + (int64_t)rnd(10) * 60, to = from + (int64_t)rnd(6) * 60;

	buf_puts(b, ", \"from\": ");
	put_date(b, from);
	buf_puts(b, ", \"to\": ");
	put_date(b, to);
	for (uint32_t id = 1; id <= TASKS; id++) {
		const struct plan *p = task_now(id)->plan;
		for (int64_t d = plan_next(p, from - 1); tasks & 1u << id && d <= to;
		     d = plan_next(p, d))
			add_key(o, id, d);
	}
}

static void select_dates(struct order_of *o, struct buf *b, uint32_t tasks)
{
	int64_t date = WALL_BASE_US / SEC + (int64_t)rnd(10) * 60;

	buf_puts(b, ", \"dates\": [");
	put_date(b, date);
	buf_puts(b, "]");
	for (uint32_t id = 1; id <= TASKS; id++)
		if (tasks & 1u << id && plan_has(task_now(id)->plan, date))
			add_key(o, id, date);
}

static void select_instances(struct order_of *o, struct buf *b)
{
	size_t n = 1 + rnd(3);

	buf_puts(b, "\"selection\": {\"instances\": [");
	for (size_t i = 0; i < n; i++) {
		struct inst_key key;
		if (!operator_pick(&key))
			break;
		if (task_now(key.task)->dispatch == DISPATCH_BROADCAST && chance(350))
			key.part = 1 + (int32_t)rnd(BROKERS);
		bool known = false;
		for (size_t k = 0; k < o->n_keys; k++)
			known = known || inst_key_eq(o->keys[k].key, key);
		if (known || (o->kind == W_DECLARE && check_runs(key)))
			continue;
		buf_printf(b, "%s{\"id\": \"%u.%" PRId64, o->n_keys ? ", " : "", key.task,
		           key.run_date);
		if (key.part)
			buf_printf(b, ".%d", key.part);
		buf_puts(b, "\"}");
		add_row(o, key);
	}
	buf_puts(b, "]}");
}

static void select_some(struct order_of *o, struct buf *b)
{
	uint32_t tasks = 0, n = 1 + rnd(3);

	if (o->kind == W_DECLARE || chance(250)) {
		select_instances(o, b);
		return;
	}
	if (chance(200)) {
		tasks = UINT32_MAX;
		buf_puts(b, "\"selection\": {\"workflow\": \"sim/w\"");
	} else {
		buf_puts(b, "\"selection\": {\"tasks\": [");
		for (uint32_t i = 0; i < n; i++) {
			uint32_t id = 1 + rnd(TASKS);
			buf_printf(b, "%s\"sim/w/t%u\"", i ? ", " : "", id);
			tasks |= 1u << id;
		}
		buf_puts(b, "]");
	}
	if (chance(800))
		select_range(o, b, tasks);
	else
		select_dates(o, b, tasks);
	buf_puts(b, "}");
}

/* --- kinds --------------------------------------------------------------------------------- */

static void args_redo(struct order_of *o, struct buf *b)
{
	static const char *const modes[] = { "self", "with_downstream", "downstream" };

	o->mode = (int)rnd(3);
	o->kill_running = chance(400);
	o->wait_running = !o->kill_running && chance(250);
	buf_printf(b, ", \"mode\": \"%s\", \"scope\": \"all\", \"running\": \"%s\"", modes[o->mode],
	           o->kill_running   ? "kill"
	           : o->wait_running ? "wait"
	                             : "leave");
	if (chance(200))
		buf_printf(b, ", \"priority\": %u", 1 + rnd(10));
	if (map_mix(o->n_keys, strlen(buf_str(b))) % 4 == 0)
		buf_printf(b, ", \"params\": {\"n\": \"%zu\"}", o->n_keys);
	if (map_mix(strlen(buf_str(b)), o->n_keys) % 5 == 0)
		buf_puts(b, ", \"body\": \"old\"");
	o->failed_parts = parts && o->mode == 0 && !o->kill_running && chance(400);
	if (o->failed_parts)
		buf_puts(b, ", \"failed_parts\": true");
}

static void args_backfill(struct order_of *o, struct buf *b)
{
	o->parallel = chance(swarm.backfills ? 900 : 600) ? 1 + (int)rnd(4) : 0;
	o->leave_finished = chance(300);
	o->kill_running = chance(swarm.backfills ? 800 : 300);
	buf_printf(b, ", \"parallel\": %d, \"finished\": \"%s\", \"running\": \"%s\"", o->parallel,
	           o->leave_finished ? "leave" : "redo", o->kill_running ? "kill" : "leave");
	if (o->parallel && chance(150)) {
		o->may_stop = true;
		buf_puts(b, ", \"stop_on_failure\": true");
	}
}

static struct order_of *order_new(enum wish kind, const char *name)
{
	if (n_orders == ORDERS_MAX)
		return NULL;
	struct order_of *o = &orders[n_orders];
	*o = (struct order_of){ .kind = kind, .name = name };
	o->keys = mem_array(KEYS_MAX, sizeof *o->keys);
	snprintf(o->request, sizeof o->request, "r%zu", n_orders++);
	return o;
}

static void send_order(struct order_of *o, struct buf *b)
{
	o->args = mem_str(buf_str(b));
	o->at_number = promises_number();
	note("order %s %s%s %s", o->request, o->dry ? "(dry) " : "", o->name, o->args);
	buf_done(b);
	ask(o);
}

static void command_of(enum wish kind, const char *name)
{
	struct order_of *o = order_new(kind, name);
	struct buf b;

	if (!o)
		return;
	buf_init(&b);
	buf_puts(&b, "{");
	select_some(o, &b);
	if (kind == W_REDO)
		args_redo(o, &b);
	else if (kind == W_BACKFILL)
		args_backfill(o, &b);
	else if (kind == W_PRIORITY)
		buf_printf(&b, ", \"priority\": %u", 1 + rnd(10));
	buf_puts(&b, "}");
	o->dry = chance(80);
	send_order(o, &b);
}

/* Tasks as wholes: their definitions, and with offline their rows. */
static void command_on_task(void)
{
	static const char *const names[] = { "freeze", "unfreeze", "online", "offline" };
	struct order_of *o = order_new(W_TASK, names[rnd(4)]);
	struct buf b;

	if (!o)
		return;
	buf_init(&b);
	buf_printf(&b, "{\"selection\": {\"tasks\": [\"sim/w/t%u\"]}}", 1 + rnd(TASKS));
	send_order(o, &b);
}

static void steer(struct order_of *target, enum wish kind)
{
	static const char *const names[] = { [W_PAUSE] = "command-pause",
		                             [W_RESUME] = "command-resume",
		                             [W_CANCEL] = "command-cancel" };
	struct order_of *o = order_new(kind, names[kind]);
	struct buf b;

	if (!o)
		return;
	o->target = target->id;
	promises_steered(o);
	buf_init(&b);
	buf_printf(&b, "{\"command\": \"%" PRIu64 "\"}", target->id);
	send_order(o, &b);
}

static bool steer_some(void)
{
	uint32_t n = 0;

	for (size_t i = 0; i < n_orders; i++)
		n += orders[i].id && !orders[i].target && !over(&orders[i]);
	if (n == 0)
		return false;
	n = rnd(n);
	for (size_t i = 0; i < n_orders; i++) {
		struct order_of *o = &orders[i];
		if (!o->id || o->target || over(o) || n-- > 0)
			continue;
		steer(o, strcmp(o->state, "paused") == 0 && chance(700) ? W_RESUME
		         : chance(500)                                  ? W_PAUSE
		                                                        : W_CANCEL);
		break;
	}
	return true;
}

void commands_act(void)
{
	uint32_t sum = 0, at;

	if (chance(300) && steer_some())
		return;
	if (swarm.edits && chance(60)) {
		command_on_task();
		return;
	}
	if (swarm.backfills && chance(700)) {
		command_of(W_BACKFILL, "backfill");
		return;
	}
	for (size_t i = 0; i < N_WISHES; i++)
		sum += wishes[i].weight;
	at = rnd(sum);
	for (size_t i = 0; i < N_WISHES; i++) {
		if (at < wishes[i].weight) {
			command_of(wishes[i].kind, wishes[i].name);
			return;
		}
		at -= wishes[i].weight;
	}
}

/* Healing: what people paused goes on, also when a pause that was asked again came last. */
void commands_mend(void)
{
	size_t n = n_orders;

	for (size_t i = 0; i < n; i++)
		if (strcmp(orders[i].state, "paused") == 0 && !commands_resume_out(orders[i].id))
			steer(&orders[i], W_RESUME);
}

size_t commands_pending(bool print)
{
	size_t n = 0;

	for (size_t i = 0; i < n_orders; i++) {
		/* One that is to stop at a failure waits for what it let go, and that for a
		 * parent, perhaps for ever. */
		if (over(&orders[i]) || (orders[i].may_stop && promises_out(orders[i].id)))
			continue;
		n++;
		if (print)
			note("pending: command %" PRIu64 " %s %s is '%s'", orders[i].id,
			     orders[i].request, orders[i].name, orders[i].state);
	}
	return n;
}

bool commands_resume_out(uint64_t id)
{
	for (size_t i = 0; i < n_orders; i++)
		if (orders[i].target == id && orders[i].kind == W_RESUME && !over(&orders[i]))
			return true;
	return false;
}

const struct order_of *commands_by_id(uint64_t id)
{
	for (size_t i = 0; i < n_orders; i++)
		if (orders[i].id == id && id)
			return &orders[i];
	return NULL;
}
