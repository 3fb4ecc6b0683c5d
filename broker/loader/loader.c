/* Life of one taskrunner-loader: it maps the plugin, opens keeper and link, and turns its loop.
 *
 * on_round() sends what gathered in one turn: ended jobs, starts, questions, logs, reports,
 * credit. The loop ends in one of three ways: the loader was told to stop (jobs in this process
 * get stop_ms), it was retired (nothing of its lane is left), or its broker has been away for
 * loader_alone_ms. Processes go on in the jobkeeper. What a job goes through is in grants.c and
 * run.c.
 */
#include "broker/loader/loader.h"

#include <errno.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/link/delegate.h"
#include "broker/link/digest.h"
#include "broker/link/lane.h"
#include "broker/link/link.h"
#include "broker/loader/apart.h"
#include "broker/loader/guest.h"
#include "broker/loader/plugin.h"
#include "broker/loader/pool.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/protocol.h"

/* Signs of life in the time after which a loader counts as frozen. */
#define ALIVE_TIMES 10
#define JOBS_S      0.1 /* between two words of how many jobs there are */

/* --- the link's calls ------------------------------------------------------------- */

static const uint64_t *loader_loader_held(void *ctx, size_t *ret_n)
{
	return loader_held(ctx, ret_n);
}

static bool others(void *ctx)
{
	const struct loader *l = ctx;
	uint32_t lanes[LANES_MAX];

	/* Its own is one of them. */
	return lane_list(l->settings->state_dir, l->type, lanes, LANES_MAX) > 1;
}

static bool keeps_proofs(void *ctx)
{
	const struct loader *l = ctx;

	return !l->keeper || l->keeper_keeps_proofs; /* what has no process ends with us */
}

static void on_up(void *ctx, const Sirdar__Welcome *welcome)
{
	struct loader *l = ctx;

	CHECK(link_is_up(l->link));
	if (welcome->proves)
		loader_prove(l);
	atomic_store(&l->takes_records, link_protocol(l->link) >= PROTOCOL_RECORDS);
	l->granted = l->credit = 0;
	l->is_closed = l->is_settled = false;
	loader_report_all(l);
	loader_ship_again(l);
	loader_send_asks(l, true);
}

/* Others than its log level are for the broker. */
static int take_orders(const Sirdar__Orders *m)
{
	enum log_level level;

	if (strcmp(m->kind, "loglevel") == 0 && log_level_parse(m->text, &level) == 0)
		log_level_set(level);
	return 0;
}

static int on_frame(void *ctx, enum frame_kind kind, const void *message)
{
	struct loader *l = ctx;

	if (kind == FR_JOBS)
		return loader_take_jobs(l, message);
	if (kind == FR_REPORT_ACKS)
		return loader_take_acks(l, message);
	if (kind == FR_KILLS)
		return loader_take_kills(l, message);
	if (kind == FR_PARAM_GIVE)
		return loader_take_params(l, message);
	if (kind == FR_ORDERS)
		return take_orders(message);
	if (kind == FR_PROBE)
		return loader_take_probe(l, message);
	if (kind == FR_LOG_ACK)
		return loader_take_log_ack(l, message);
	return 0; /* of a later version: nothing to us */
}

static void on_beat(void *ctx)
{
	loader_report_overdue(ctx);
}

static const struct link_ops link_calls = {
	.held = loader_loader_held,
	.others = others,
	.keeps_proofs = keeps_proofs,
	.on_up = on_up,
	.on_frame = on_frame,
	.on_lease = loader_on_lease,
	.on_beat = on_beat,
};

static void delegated(void *ctx)
{
	struct loader *l = ctx;

	link_delegated(l->link);
}

static int open_link(struct loader *l, struct err *err)
{
	CHECK(!l->link);
	return link_open(l->loop, &l->about, &link_calls, l, &l->link, err);
}

/* --- the loop --------------------------------------------------------------------- */

static void on_bell(struct ev_loop *loop, ev_async *w, int events)
{
	(void)loop;
	(void)w;
	(void)events; /* on_round() does it all */
}

static void loader_wake(void *ctx)
{
	struct loader *l = ctx;

	ev_async_send(l->loop, &l->bell);
}

static void arm_stop(struct loader *l)
{
	if (ev_is_active(&l->stop_timer))
		return;
	ev_timer_set(&l->stop_timer, (double)l->settings->stop_ms / 1000.0, 0.0);
	ev_timer_start(l->loop, &l->stop_timer);
}

/* The jobs that are left ran in a jobkeeper that is gone. The next loader that holds this lane's
 * lock takes them over. */
static bool is_all_out_of_reach(const struct loader *l)
{
	for (uint32_t i = 0; i < l->n_jobs; i++)
		if (l->jobs[i]->phase == JOB_ACKED || loader_is_named(l, l->jobs[i]))
			return false;
	return l->is_keeper_gone;
}

static void look_for_end(struct loader *l)
{
	CHECK(l->n_free <= l->n_jobs && l->in_process <= l->active);
	if (l->is_retired) {
		l->is_over = l->is_settled && l->n_free == l->n_jobs;
		if (l->is_over || (l->is_left && is_all_out_of_reach(l)))
			ev_break(l->loop, EVBREAK_ALL);
		return;
	}
	if (!l->is_stopping || l->in_process)
		return;
	if (l->unacked == 0 || !l->link)
		ev_break(l->loop, EVBREAK_ALL);
	else
		arm_stop(l); /* whoever hears of the ends must do so by then */
}

/* A burst of short jobs is told once. */
static void on_jobs(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;

	(void)loop;
	(void)events;
	if (l->in_process != l->told_jobs)
		loader_say(l, "jobs %u", l->in_process);
	l->told_jobs = l->in_process;
}

static void count_jobs(struct loader *l)
{
	if (l->in_process != l->told_jobs && !ev_is_active(&l->jobs_timer)) {
		ev_timer_set(&l->jobs_timer, JOBS_S, 0.0);
		ev_timer_start(l->loop, &l->jobs_timer);
	}
}

/* The keeper has told what it holds: HELLO can list it. */
static void loader_greet(struct loader *l)
{
	struct err err;

	if (l->link || !l->is_held_known || open_link(l, &err) == 0)
		return;
	log_error("loader.link", "why=\"%s\"", err.text);
	ev_break(l->loop, EVBREAK_ALL);
}

/* Everything that gathered in this round of the loop leaves as few frames. */
static void on_round(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct loader *l = w->data;

	(void)loop;
	(void)events;
	loader_greet(l);
	loader_take_done(l);
	loader_end_probe(l);
	loader_take_starts(l);
	loader_send_asks(l, false);
	loader_ship_texts(l);
	loader_flush_reports(l);
	loader_send_credit(l);
	count_jobs(l);
	look_for_end(l);
}

static void on_stop_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;

	(void)events;
	log_warn("loader.stop_late", "in_process=%u unacked=%u", l->in_process, l->unacked);
	ev_break(loop, EVBREAK_ALL);
}

/* No more work; what runs goes on. */
static void take_no_more(struct loader *l)
{
	const struct runner_plugin *p = l->plugin;

	if (l->is_stopping)
		return;
	l->is_stopping = true;
	loader_call_begin(l, "drain()");
	if (p && RUNNER_HAS(p, struct runner_plugin, drain))
		p->drain(l->self);
	loader_call_end(l);
}

/* A broker that is started anew tells its predecessor's loaders to end. Where none comes, nobody
 * would: jobs in this process may take their time, then it ends. */
static void on_alone(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;

	(void)loop;
	(void)events;
	log_warn("loader.alone", "in_process=%u unacked=%u", l->in_process, l->unacked);
	l->is_alone = l->is_left = true;
	take_no_more(l);
}

static void on_broker_gone(struct ev_loop *loop, ev_io *w, int events)
{
	struct loader *l = w->data;

	(void)events; /* nothing is read here: the other end was closed */
	ev_io_stop(loop, w);
	ev_timer_set(&l->alone_timer, (double)l->settings->loader_alone_ms / 1000.0, 0.0);
	ev_timer_start(loop, &l->alone_timer);
}

static void on_alive(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;
	char word[32];
	int n = snprintf(word, sizeof word, "alive %d\n", (int)l->settings->loader_silent_ms);

	(void)events;
	CHECK(l->status_fd >= 0 && n < (int)sizeof word);
	w->repeat = (double)l->settings->loader_silent_ms / 1000.0 / ALIVE_TIMES;
	/* A full pipe is a broker that stands still: nothing is lost. */
	if (write(l->status_fd, word, (size_t)n) < 0 && errno == EPIPE)
		w->repeat = 0.0;
	ev_timer_again(loop, w);
}

static void watch_broker(struct loader *l)
{
	if (l->status_fd < 0)
		return;
	ev_timer_start(l->loop, &l->alive_timer);
	ev_io_set(&l->broker_gone, l->status_fd, EV_READ);
	ev_io_start(l->loop, &l->broker_gone);
}

void loader_retire(struct loader *l)
{
	if (l->is_retired || (l->is_stopping && !l->is_alone))
		return;
	log_info("loader.retiring", "in_process=%u active=%u", l->in_process, l->active);
	l->is_alone = l->is_retired = true;
	take_no_more(l);
	CHECK(l->is_stopping);
}

void loader_stop(struct loader *l)
{
	if (l->is_stopping && !l->is_alone)
		return;
	take_no_more(l);
	l->is_alone = l->is_retired = false;
	arm_stop(l);
	log_info("loader.stopping", "in_process=%u active=%u unacked=%u", l->in_process, l->active,
	         l->unacked);
}

size_t loader_reload(struct loader *l, struct param_taskbroker *settings,
                     const struct param_taskbroker *fresh, struct buf *ret_restart)
{
	bool again = link_differs(settings, fresh);

	if (!l)
		return param_reload(&param_taskbroker_table, settings, fresh, ret_restart);
	pthread_mutex_lock(&l->mu); /* job threads read the policy */
	size_t n = param_reload(&param_taskbroker_table, settings, fresh, ret_restart);
	pthread_mutex_unlock(&l->mu);
	l->ship_timer.repeat = (double)settings->output_flush_ms / 1000.0;
	if (ev_is_active(&l->ship_timer)) /* what waits, waits no longer than is said now */
		ev_timer_again(l->loop, &l->ship_timer);
	if (l->status_fd >= 0)
		ev_invoke(l->loop, &l->alive_timer, EV_TIMER);
	if (l->keeper)
		keeper_client_limit(l->keeper, settings->loader_silent_ms);
	if (again)
		link_again(l->link);
	loader_send_credit(l);
	return n;
}

/* --- life ------------------------------------------------------------------------- */

/* Of the very copy that is going to be mapped. */
static int judge_digest(void *ctx, int fd, struct err *err)
{
	const struct loader_args *args = ctx;
	char is[DIGEST_HEX];
	int r = digest_fd(fd, is, err);

	if (r < 0 || strcmp(is, args->sha256) == 0)
		return r;
	return err_set(err, E_FORBIDDEN, "%s has the sha256 %s, registered is %s",
	               args->plugin_path, is, args->sha256);
}

/* A version that was registered: its own file. */
static int map_registered(struct loader *l, const struct loader_args *args, struct err *err)
{
	int r = plugin_map_judged(args->plugin_path, judge_digest, (void *)args, &l->plugin, err);

	if (r == 0 && strcmp(l->plugin->version, args->version) != 0)
		return err_set(err, E_FORBIDDEN, "%s says it is version %.60s, registered is %s",
		               args->plugin_path, l->plugin->version, args->version);
	if (r == 0 && strcmp(l->plugin->name, l->type) != 0)
		return err_set(err, E_FORBIDDEN, "%s says it is a runner %.60s, not %s",
		               args->plugin_path, l->plugin->name, l->type);
	return r;
}

static int map_any(struct loader *l, const struct loader_args *args, struct err *err)
{
	const struct guest_version version = { args->version, args->sha256 };
	const char *path = args->plugin_path, *runners = l->settings->runners_dir;

	if (args->sha256 && !guest_is_manifest(path))
		return map_registered(l, args, err);
	int r = guest_read(path, l->type, runners, args->sha256 ? &version : NULL, &l->guest, err);

	if (r == 0 && l->guest && l->guest->about.argv[0] && args->hold)
		r = args->hold(l, l->guest, err);
	if (r == 0)
		r = plugin_map(l->guest ? l->guest->plugin_path : path, &l->plugin, err);
	return r;
}

/* Of a type that another plugin hosts: its own, where it was registered. */
static const char *version_of(const struct loader *l, const struct loader_args *args)
{
	CHECK(!l->plugin == (args->heir_of != NULL));
	if (!l->plugin)
		return args->heir_of;
	return args->sha256 ? args->version : l->plugin->version;
}

static int load_plugin(struct loader *l, const struct loader_args *args, struct err *err)
{
	if (args->heir_of) {
		loader_say(l, "ready %u 0 %s", RUNNER_ABI_MAJOR, args->heir_of);
		return 0;
	}
	int r = map_any(l, args, err);

	if (r == 0) {
		apart_loaded(l, l->guest ? l->guest->plugin_path : args->plugin_path,
		             l->guest ? NULL : args->sha256);
		r = plugin_open(l->plugin, &l->host, &l->self, err);
	}
	if (r < 0 && l->guest && l->guest->why[0])
		err_set(err, r, "%s", l->guest->why);
	if (r < 0)
		loader_say(l, "refused %s", err->text);
	else
		loader_say(l, "ready %u %u %s", l->plugin->abi_major, l->plugin->abi_minor,
		           version_of(l, args));
	return r;
}

static struct loader *loader_new(const struct param_taskbroker *settings,
                                 const struct loader_args *args, struct ev_loop *loop)
{
	struct loader *l = mem_new(sizeof *l);

	l->settings = settings;
	l->type = args->type;
	l->slots = args->slots;
	l->status_fd = args->status_fd;
	l->loop = loop;
	l->dirty_tail = &l->dirty;
	l->lane = lane_name(args->type, args->lane);
	l->epoch_file = mem_fmt("%s/epoch.%s", settings->state_dir, l->lane);
	/* Seconds are coarse and rising: more than any number of reports a former loader
	 * may have sent on a job that this one takes over. */
	l->seq_base = (uint32_t)(clock_wall_us(&clock_machine) / US_PER_S - 1700000000);
	map_init(&l->by_token);
	loader_host_init(l, args->settings_file);
	link_name_read(settings, l->name, sizeof l->name);
	loader_fence_init(l);
	loader_ship_init(l);
	loader_probe_init(l);
	ev_init(&l->stop_timer, on_stop_timer);
	ev_init(&l->alone_timer, on_alone);
	ev_timer_init(&l->alive_timer, on_alive, 0.0, 1.0);
	ev_init(&l->jobs_timer, on_jobs);
	loader_keeper_init(l);
	l->jobs_timer.data = l;
	ev_init(&l->broker_gone, on_broker_gone);
	l->alone_timer.data = l->alive_timer.data = l->broker_gone.data = l;
	ev_prepare_init(&l->round, on_round);
	ev_async_init(&l->bell, on_bell);
	l->stop_timer.data = l->round.data = l->bell.data = l;
	return l;
}

/* Processes go on without us: their runner's memory is given back. */
static void leave_processes(struct loader *l)
{
	const struct runner_plugin *p = l->plugin;

	for (uint32_t i = 0; p && i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (j->phase != JOB_PROCESS || j->is_adopted || j->stage == STAGE_FINISH ||
		    !RUNNER_HAS(p, struct runner_plugin, finish))
			continue;
		j->pub.flags |= RUNNER_JOB_LEFT;
		loader_call_begin(l, "finish()");
		p->finish(l->self, j->state, &j->pub, &j->result);
		loader_call_end(l);
	}
}

/* Only when no job thread is inside any more; else the process just ends. */
static void loader_free(struct loader *l)
{
	CHECK(!l->in_process);
	link_close(l->link);
	delegate_close(l->delegate);
	keeper_client_close(l->keeper);
	pool_free(l->pool);
	leave_processes(l);
	if (l->plugin) {
		loader_call_begin(l, "close()");
		l->plugin->close(l->self);
		loader_call_end(l);
	}
	loader_unwatch_calls(l);
	ev_prepare_stop(l->loop, &l->round);
	ev_async_stop(l->loop, &l->bell);
	ev_timer_stop(l->loop, &l->fence_timer);
	ev_timer_stop(l->loop, &l->ship_timer);
	ev_timer_stop(l->loop, &l->tick_timer);
	ev_timer_stop(l->loop, &l->stop_timer);
	ev_timer_stop(l->loop, &l->alone_timer);
	ev_timer_stop(l->loop, &l->alive_timer);
	ev_timer_stop(l->loop, &l->jobs_timer);
	ev_timer_stop(l->loop, &l->keeper_timer);
	ev_timer_stop(l->loop, &l->probe_timer);
	ev_io_stop(l->loop, &l->broker_gone);
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		start_free(l->jobs[i]->start);
		job_clear(l->jobs[i]);
		free(l->jobs[i]->store);
		free(l->jobs[i]);
	}
	free(l->jobs);
	free(l->free_jobs);
	free(l->held);
	free(l->chunk);
	free(l->logs_dir);
	free(l->epoch_file);
	free(l->lane);
	loader_host_done(l);
	guest_free(l->guest);
	loader_reports_done(l);
	map_done(&l->by_token);
	pthread_mutex_destroy(&l->mu);
	pthread_mutex_destroy(&l->kill_mu);
	free(l);
}

static int open_all(struct loader *l, const struct loader_args *args, struct err *err)
{
	l->about = (struct link_self){
		.role = LINK_LOADER,
		.settings = l->settings,
		.type = l->type,
		.runner_version = version_of(l, args),
		.lane = args->lane,
		.slots = l->slots,
		.probes = l->plugin && RUNNER_HAS(l->plugin, struct runner_plugin, probe),
		.epoch_file = l->epoch_file,
	};
	CHECK(!l->pool && !l->link && !l->keeper);
	int r = loader_watch_calls(l, err);

	if (r == 0 && args->key_socket)
		r = delegate_open(l->loop, args->key_socket, delegated, l, &l->delegate, err);
	if (r < 0)
		return r;
	l->about.delegate = l->delegate;
	l->pool = pool_new(l->slots, loader_run_job, loader_wake, l);
	ev_prepare_start(l->loop, &l->round);
	ev_async_start(l->loop, &l->bell);
	watch_broker(l);
	if (l->plugin && l->plugin->flags & RUNNER_NO_PROCESS && !l->is_apart)
		return open_link(l, err);
	return loader_open_keeper(l, err);
}

int loader_run(const struct param_taskbroker *settings, const struct loader_args *args,
               struct ev_loop *loop, struct loader **ret_loader, struct err *err)
{
	struct loader *l = loader_new(settings, args, loop);
	int r = load_plugin(l, args, err);

	if (r < 0) {
		l->plugin = NULL;
		goto out;
	}
	r = open_all(l, args, err);
	if (r < 0)
		goto out;
	*ret_loader = l;
	if (args->heir_of)
		loader_retire(l);
	ev_run(loop, 0);
	*ret_loader = NULL;
	loader_say(l, "%s", l->is_over ? "over" : "ending");
	if (l->in_process ||
	    l->trying) /* their threads use it all: only the process's end is safe */
		_exit(0);
out:
	loader_free(l);
	return r;
}
