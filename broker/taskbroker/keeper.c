#include <keeper.pb-c.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/taskbroker/broker.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/log.h"

/* The jobkeeper is started when nobody answers at its socket for this long. It locks its
 * directory, so starting a second one by mistake does no harm. */
#define PATIENCE_MS  50
#define PAUSE_MAX_MS 5000

enum { HELD_RUNNING = 2, HELD_KILLED = 3, HELD_HANGED = 7 }; /* KeeperJob.state */

static void wait_for_it(struct broker *b)
{
	ev_timer_stop(b->loop, &b->keeper_timer);
	ev_timer_set(&b->keeper_timer, b->keeper_pause_ms / 1000.0, 0.0);
	ev_timer_start(b->loop, &b->keeper_timer);
}

static void start_it(struct broker *b)
{
	char *path = mem_fmt("%s/jobkeeper", b->bin_dir);
	char *jobs = mem_fmt("%lld", (long long)b->settings->jobs_max);
	char *output = mem_fmt("%lld", (long long)b->settings->output_bytes_max);
	char *argv[] = { (char *)"jobkeeper",
		         (char *)"--state",
		         b->state_dir,
		         (char *)"--jobs-max",
		         jobs,
		         (char *)"--output-max",
		         output,
		         (char *)"--log-level",
		         b->settings->log_level,
		         NULL };
	struct err err;

	if (spawn_program(path, argv, -1, &b->keeper_pid, &b->keeper_pid_fd, &err) < 0) {
		log_error("broker.keeper_start", "why=\"%s\"", err.text);
	} else {
		log_info("broker.keeper_start", "pid=%d", b->keeper_pid);
		ev_io_set(&b->keeper_ended, b->keeper_pid_fd, EV_READ);
		ev_io_start(b->loop, &b->keeper_ended);
	}
	free(path);
	free(jobs);
	free(output);
}

static void on_keeper_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct broker *b = w->data;

	(void)loop;
	(void)events;
	if (keeper_client_is_up(b->keeper) || b->is_stopping)
		return;
	if (!b->keeper_pid)
		start_it(b);
	b->keeper_pause_ms *= 2;
	if (b->keeper_pause_ms > PAUSE_MAX_MS)
		b->keeper_pause_ms = PAUSE_MAX_MS;
	wait_for_it(b);
}

static void on_keeper_ended(struct ev_loop *loop, ev_io *w, int events)
{
	struct broker *b = w->data;
	int status = 0;

	(void)events;
	ev_io_stop(loop, w);
	waitpid(b->keeper_pid, &status, 0);
	close(b->keeper_pid_fd);
	log_warn("broker.keeper_ended", "pid=%d status=%d", b->keeper_pid, status);
	b->keeper_pid = 0;
	b->keeper_pid_fd = -1;
	broker_look_for_end(b);
}

/* --- news from it ----------------------------------------------------------------- */

static void on_up(void *ctx, const Sirdar__KeeperWelcome *w)
{
	struct broker *b = ctx;

	log_info("broker.keeper_up", "software=%s running=%u", w->software, w->running);
	ev_timer_stop(b->loop, &b->keeper_timer);
	b->keeper_pause_ms = PATIENCE_MS;
	b->n_listing = 0;
	b->is_list_fresh = false;
}

static void on_down(void *ctx, const struct err *why)
{
	struct broker *b = ctx;

	log_warn("broker.keeper_down", "why=\"%s\"", why->text);
	if (!b->is_stopping)
		wait_for_it(b);
}

void keeper_take_list(struct broker *b)
{
	uint64_t *held = b->held;
	size_t cap = b->cap_held;

	b->held = b->listing;
	b->n_held = b->n_listing;
	b->cap_held = b->cap_listing;
	b->listing = held;
	b->cap_listing = cap;
	b->n_listing = 0;
	b->is_list_fresh = false;
}

static void on_held(void *ctx, const Sirdar__KeeperHeld *h)
{
	struct broker *b = ctx;
	struct err err;

	if (b->is_list_fresh || b->n_listing == 0) { /* a new list begins */
		b->n_listing = b->counting = 0;
		b->is_list_fresh = false;
	}
	for (size_t i = 0; i < h->n_job; i++) {
		const Sirdar__KeeperJob *k = h->job[i];

		if (b->n_listing == b->cap_listing) {
			b->cap_listing = b->cap_listing ? b->cap_listing * 2 : 64;
			b->listing = mem_grow(b->listing, b->cap_listing, sizeof *b->listing);
		}
		b->listing[b->n_listing++] = k->token;
		b->counting += k->state <= HELD_KILLED || k->state == HELD_HANGED;
	}
	if (!h->last)
		return;
	b->is_list_fresh = true;
	b->running = b->counting;
	if (!b->link)
		keeper_take_list(b);
	if (!b->link && !b->is_stopping && broker_open_link(b, &err) < 0) {
		log_error("broker.link", "why=\"%s\"", err.text);
		ev_break(b->loop, EVBREAK_ALL);
	}
}

static const struct keeper_client_ops ops = {
	.on_up = on_up,
	.on_down = on_down,
	.on_held = on_held,
};

/* --- life ------------------------------------------------------------------------- */

int keeper_watch(struct broker *b, struct err *err)
{
	char *path = mem_fmt("%s/keeper.sock", b->state_dir);
	int r;

	b->keeper_pause_ms = PATIENCE_MS;
	b->keeper_pid_fd = -1;
	ev_init(&b->keeper_timer, on_keeper_timer);
	ev_init(&b->keeper_ended, on_keeper_ended);
	b->keeper_timer.data = b->keeper_ended.data = b;
	r = keeper_client_open(b->loop, path, "broker", "", &ops, b, &b->keeper, err);
	free(path);
	if (r == 0)
		wait_for_it(b);
	return r;
}

void keeper_list(struct broker *b)
{
	keeper_client_list(b->keeper, 1, NULL);
}

void keeper_end(struct broker *b)
{
	if (b->keeper_pid)
		pidfd_send_signal(b->keeper_pid_fd, SIGTERM, NULL, 0);
}

void keeper_unwatch(struct broker *b)
{
	ev_timer_stop(b->loop, &b->keeper_timer);
	ev_io_stop(b->loop, &b->keeper_ended);
	if (b->keeper_pid_fd >= 0)
		close(b->keeper_pid_fd);
	keeper_client_close(b->keeper);
	free(b->held);
	free(b->listing);
}
