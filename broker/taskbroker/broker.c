/* Life of the taskbroker: its load to the server, the server's orders, beats for the jobkeeper's
 * jobs.
 *
 * The link opens when the jobkeeper has told what it holds. Only tokens that an acknowledged beat
 * has named are renewed: `listed_seq` is the first beat that named the list at hand. on_round()
 * looks once a turn at what followed from it: a full machine is told at once, and a stopping
 * broker ends when its loaders are gone, or at the latest stop_ms and three seconds later.
 */
#include "broker/taskbroker/broker.h"

#include <sirdar.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/link/machine.h"
#include "rt/notify.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

/* --- load ------------------------------------------------------------------------- */

static void send_load(struct broker *b)
{
	Sirdar__Load m = SIRDAR__LOAD__INIT;
	struct load load;

	if (!b->link || !link_is_up(b->link))
		return;
	load_measure(b, &load);
	m.cpu_permille = load.cpu_permille;
	m.memory_permille = load.memory_permille;
	m.disk_free_bytes = load.disk_free_bytes;
	m.load_permille = load.load_permille;
	m.slots = load_slots(b);
	m.jobs_max = (uint32_t)b->settings->jobs_max;
	m.running = load_running(b);
	b->is_full = m.running >= (uint64_t)b->settings->jobs_max;
	m.accepts = load.why_not[0] == 0;
	m.why_not = load.why_not;
	link_send(b->link, FR_LOAD, &m, NULL);
}

static void on_load_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	keeper_tell(w->data);
	send_load(w->data);
}

static void arm_load(struct broker *b)
{
	b->load_timer.repeat = (double)b->settings->report_ms / 1000.0;
	ev_timer_again(b->loop, &b->load_timer);
}

/* --- orders ----------------------------------------------------------------------- */

static void order_enable(struct type *t, const char *text)
{
	(void)text;
	CHECK(lane_is_current(t));
	version_again(t);
	type_enable(t);
}

static void order_disable(struct type *t, const char *text)
{
	type_stop(t, text[0] ? text : "disabled by order");
}

static void order_drain(struct broker *b, const char *text)
{
	(void)text;
	b->is_drained = true;
	send_load(b);
}

static void order_undrain(struct broker *b, const char *text)
{
	(void)text;
	b->is_drained = false;
	send_load(b);
}

static void order_level(struct broker *b, const char *text)
{
	enum log_level level;

	(void)b;
	if (log_level_parse(text, &level) == 0)
		log_level_set(level);
}

static const struct {
	const char *kind;
	void (*of_type)(struct type *t, const char *text);
	void (*of_broker)(struct broker *b, const char *text);
} orders[] = {
	{ "enable", order_enable, NULL },  { "disable", order_disable, NULL },
	{ "drain", NULL, order_drain },    { "undrain", NULL, order_undrain },
	{ "loglevel", NULL, order_level }, { "plugin", version_order, NULL },
};

static int take_orders(struct broker *b, const Sirdar__Orders *m)
{
	struct type *next;
	size_t i = 0;

	while (i < sizeof orders / sizeof orders[0] && strcmp(orders[i].kind, m->kind) != 0)
		i++;
	log_info("broker.order", "kind=%s type=%s", m->kind, m->type);
	if (i == sizeof orders / sizeof orders[0])
		return 0; /* of a later version */
	if (orders[i].of_broker) {
		orders[i].of_broker(b, m->text);
		return 0;
	}
	for (struct type *t = b->types; t; t = next) {
		next = t->next;
		if (lane_is_current(t) && (!m->type[0] || strcmp(t->name, m->type) == 0))
			orders[i].of_type(t, m->text);
	}
	return 0;
}

/* --- the link's calls ------------------------------------------------------------- */

static const uint64_t *broker_held(void *ctx, size_t *ret_n)
{
	struct broker *b = ctx;

	keeper_look(b);
	CHECK(b->n_held <= b->cap_held);
	*ret_n = b->n_held;
	return b->held;
}

static void on_up(void *ctx, const Sirdar__Welcome *welcome)
{
	struct broker *b = ctx;

	prove_begin(b, welcome->proves);
	delegates_tell(b);
	send_load(b);
	for (struct type *t = b->types; t; t = t->next)
		type_tell(t);
	notify_send("READY=1\nSTATUS=registered");
}

static int on_frame(void *ctx, enum frame_kind kind, const void *message)
{
	return kind == FR_ORDERS ? take_orders(ctx, message) : 0;
}

/* Only tokens that the acknowledged beat has named are leased: an answer that comes after
 * the next beat renews nothing, the next answer does. */
static void on_lease(void *ctx, uint32_t seq, int64_t deadline_us, const uint64_t *unknown,
                     size_t n)
{
	struct broker *b = ctx;

	if (seq == 0)
		b->listed_seq = 0;
	for (size_t i = 0; i < n; i++)
		keeper_client_kill(b->keeper, unknown[i], link_kill_ms(b->link) * (uint64_t)1000, 0,
		                   NULL);
	if (b->n_held && seq >= b->listed_seq && keeper_client_is_up(b->keeper))
		keeper_client_renew(b->keeper, b->held, b->n_held, (uint64_t)deadline_us, NULL);
}

static void on_down(void *ctx, const char *why)
{
	(void)ctx;
	(void)why;
	notify_send("STATUS=looking for a server");
}

/* The list that came in since the last beat is named by this one; another is asked for. */
static void on_beat(void *ctx)
{
	struct broker *b = ctx;

	if (b->is_list_fresh) {
		keeper_take_list(b);
		prove_new(b);
		b->listed_seq = link_beat_seq(b->link) + 1;
	}
	keeper_client_list(b->keeper, KEEPER_LIST, NULL);
}

static const struct link_ops link_calls = {
	.held = broker_held,
	.on_up = on_up,
	.on_frame = on_frame,
	.on_lease = on_lease,
	.on_beat = on_beat,
	.on_down = on_down,
};

/* --- life ------------------------------------------------------------------------- */

/* The jobkeeper has told what it holds: HELLO can list it. */
static void broker_greet(struct broker *b)
{
	struct err err;

	if (b->link || !b->is_held_known || b->is_stopping)
		return;
	if (link_open(b->loop, &b->about, &link_calls, b, &b->link, &err) == 0) {
		delegates_tell(b); /* of a key that the server has, too */
		return;
	}
	log_error("broker.link", "why=\"%s\"", err.text);
	b->failed = err.code;
	broker_stop(b, b->ends_jobs);
}

static void look_for_end(struct broker *b)
{
	if (b->is_stopping && types_are_gone(b) && (!b->with_jobs || keeper_is_gone(b)))
		ev_break(b->loop, EVBREAK_ALL);
}

/* What follows from all that came in this turn of the loop. */
static void on_round(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct broker *b = w->data;

	(void)loop;
	(void)events;
	broker_greet(b);
	/* Said at once when that opens or closes the door. */
	if (b->is_full != (load_running(b) >= (uint64_t)b->settings->jobs_max))
		send_load(b);
	look_for_end(b);
}

static void on_stop_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct broker *b = w->data;

	(void)events;
	CHECK(b->is_stopping);
	log_warn("broker.stop_late", "something did not end in time");
	ev_break(loop, EVBREAK_ALL);
}

void broker_stop(struct broker *b, bool with_jobs)
{
	if (b->is_stopping && b->with_jobs >= with_jobs)
		return;
	b->is_stopping = true;
	b->with_jobs = with_jobs;
	notify_send("STOPPING=1");
	send_load(b);
	for (struct type *t = b->types; t; t = t->next)
		type_stop(t, "the broker stops");
	if (with_jobs)
		keeper_end(b);
	ev_timer_set(&b->stop_timer, (double)b->settings->stop_ms / 1000.0 + 3.0, 0.0);
	ev_timer_start(b->loop, &b->stop_timer);
}

void broker_reload(struct broker *b)
{
	struct err err;

	arm_load(b);
	keeper_client_limit(b->keeper, b->settings->loader_silent_ms);
	keeper_settings_send(b);
	types_reload(b);
	if (types_read(b, &err) < 0)
		log_warn("broker.reload", "why=\"%s\"", err.text);
	b->about.slots = load_slots(b); /* of greetings to come */
	send_load(b);
}

int broker_open(struct broker *b, struct err *err)
{
	ev_timer_init(&b->load_timer, on_load_timer, 0.0, 1.0);
	ev_timer_init(&b->stop_timer, on_stop_timer, 0.0, 0.0);
	ev_prepare_init(&b->round, on_round);
	b->load_timer.data = b->stop_timer.data = b->round.data = b;
	ev_prepare_start(b->loop, &b->round);
	b->life = &judge_life;
	CHECK(!b->epoch_file && !b->link);
	b->epoch_file = mem_fmt("%s/epoch", b->state_dir);
	struct machine machine;
	int r = machine_draw(b->state_dir, &machine, err);

	if (r == 0)
		r = keeper_watch(b, err);
	if (r == 0)
		r = delegates_open(b, err);
	if (r == 0)
		r = types_read(b, err);
	if (r < 0)
		return r;
	b->about = (struct link_self){
		.role = LINK_BROKER,
		.settings = b->settings,
		.type = "",
		.runner_version = "",
		.slots = load_slots(b),
		.epoch_file = b->epoch_file,
	};
	arm_load(b);
	return 0;
}

void broker_close(struct broker *b)
{
	delegates_close(b);
	link_close(b->link);
	types_free(b);
	keeper_unwatch(b);
	ev_timer_stop(b->loop, &b->load_timer);
	ev_timer_stop(b->loop, &b->stop_timer);
	ev_prepare_stop(b->loop, &b->round);
	free(b->epoch_file);
}
