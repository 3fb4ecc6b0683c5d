/* The jobkeeper, seen from the taskbroker: started, watched, asked what it holds.
 *
 * It is started when nobody answers at its socket; it locks its directory, so that a second one
 * does no harm. One that is a service of its own (keeper_dir) is neither started nor ended here.
 * Its list comes in pieces into `listing`, and becomes `held`, which the beats name, only when it
 * is whole. While the keeper is away for fence_ms, `held` is nothing: nobody could report what it
 * ran. Its jobs are never started or ended here, except by a stop that asks for it.
 */
#include <inttypes.h>
#include <keeper.pb-c.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/keeper/remains.h"
#include "broker/link/lane.h"
#include "broker/taskbroker/broker.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

/* It is started when nobody answers at its socket for this long. */
#define PATIENCE_MS  50
#define PAUSE_MAX_MS 5000

enum { HELD_RUNNING = 2, HELD_KILLED = 3, HELD_HANGED = 7 }; /* KeeperJob.state */

static void wait_for_it(struct broker *b)
{
	ev_timer_stop(b->loop, &b->keeper_timer);
	ev_timer_set(&b->keeper_timer, b->keeper_pause_ms / 1000.0, 0.0);
	ev_timer_start(b->loop, &b->keeper_timer);
}

/* Files for jobs of other users must be where those can go, which our own state is not. "" when
 * the keeper's own place will do. */
static char *files_place(const struct broker *b)
{
	struct stat st;
	struct err err;

	if (b->settings->files_dir[0])
		return mem_str(b->settings->files_dir);
	if (geteuid() != 0 || stat(b->state_dir, &st) < 0)
		return mem_str("");
	char *path = mem_fmt("/run/sirdar/files-%llx-%llx", (unsigned long long)st.st_dev,
	                     (unsigned long long)st.st_ino);
	if (fs_mkdirs(path, 0711, &err) < 0) {
		log_warn("broker.files_dir",
		         "%s: jobs of other users will not reach files given to them; set "
		         "files_dir",
		         err.text);
		path[0] = 0;
	}
	return path;
}

static bool is_journal(const struct stat *st)
{
	const char *named = getenv("JOURNAL_STREAM"); /* device:inode, of systemd */
	char is[64];

	snprintf(is, sizeof is, "%ju:%ju", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
	return named && strcmp(named, is) == 0;
}

/* Where its log goes once it has begun; "": where ours goes. It outlives us, and whoever reads what
 * we print to its end would wait for its end: a file and the journal have no such reader. */
static char *log_place(const struct broker *b)
{
	struct stat st;

	if (fstat(STDERR_FILENO, &st) < 0 || S_ISREG(st.st_mode) || is_journal(&st) ||
	    (S_ISCHR(st.st_mode) && !isatty(STDERR_FILENO)))
		return mem_str("");
	return mem_fmt("%s/keeper.log", b->state_dir);
}

static void watch_it(struct broker *b)
{
	ev_io_set(&b->keeper_ended, b->keeper_pid_fd, EV_READ);
	ev_io_start(b->loop, &b->keeper_ended);
}

static void start_it(struct broker *b)
{
	CHECK(b->keeper_pid_fd < 0 && !b->is_stopping);
	const struct param_taskbroker *p = b->settings;
	char *path = mem_fmt("%s/jobkeeper", b->bin_dir), *files = files_place(b),
	     *log = log_place(b);
	char *options[] = {
		mem_str("jobkeeper"),
		mem_fmt("--state=%s", b->state_dir),
		mem_fmt("--jobs-max=%" PRId64, p->jobs_max),
		mem_fmt("--output-max=%" PRId64, p->output_bytes_max),
		mem_fmt("--output-rate=%" PRId64, p->output_rate_max_bytes),
		mem_fmt("--cgroup=%s", p->cgroup),
		mem_fmt("--log-level=%s", p->log_level),
		mem_fmt("--log=%s", log),
		files[0] ? mem_fmt("--files=%s", files) : NULL,
		NULL,
	};
	struct err err;

	if (spawn_program(path, options, -1, &b->keeper_pid, &b->keeper_pid_fd, &err) < 0) {
		log_error("broker.keeper_start", "why=\"%s\"", err.text);
	} else {
		log_info("broker.keeper_start", "pid=%d", b->keeper_pid);
		watch_it(b);
	}
	for (char **o = options; *o; o++)
		free(*o);
	free(path);
	free(files);
	free(log);
}

/* For so long may nothing be heard of it. Before it told what it holds, no server told a fence. */
static int64_t away_max_ms(const struct broker *b)
{
	return b->link ? (int64_t)link_fence_ms(b->link)
	               : b->settings->loader_silent_ms * UNSERVED_TIMES;
}

/* A service that we do not start: who set it up hears why it is not found, once a reason. */
static void tell_away(struct broker *b)
{
	int away = keeper_client_away(b->keeper);
	struct err err;

	if (!b->settings->keeper_dir[0] || !away || away == b->keeper_away)
		return;
	b->keeper_away = away;
	(void)err_sys(&err, E_IO, away, "dir=%s", b->settings->keeper_dir);
	log_warn("broker.keeper_away",
	         "%s; this machine takes no jobs until that service answers there", err.text);
}

static void on_keeper_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct broker *b = w->data;

	(void)loop;
	(void)events;
	if (keeper_client_is_up(b->keeper) || b->is_stopping)
		return;
	if (keeper_client_end_frozen(b->keeper, away_max_ms(b))) {
		log_error("broker.keeper_silent", "it is ended by force, and its jobs with it");
		b->keeper_pause_ms = PATIENCE_MS; /* the next one ends what it left */
	}
	if (b->keeper_pid_fd < 0 && !b->settings->keeper_dir[0])
		start_it(b);
	b->keeper_pause_ms *= 2;
	if (b->keeper_pause_ms > PAUSE_MAX_MS) {
		b->keeper_pause_ms = PAUSE_MAX_MS;
		tell_away(b);
	}
	wait_for_it(b);
}

static void adopt_it(struct broker *b);

static void on_keeper_ended(struct ev_loop *loop, ev_io *w, int events)
{
	struct broker *b = w->data;
	int status = 0;

	(void)events;
	CHECK(b->keeper_pid_fd >= 0);
	ev_io_stop(loop, w);
	if (b->keeper_pid)
		waitpid(b->keeper_pid, &status, 0);
	close(b->keeper_pid_fd);
	log_warn("broker.keeper_ended", "pid=%d status=%d", b->keeper_pid, status);
	b->keeper_pid = 0;
	b->keeper_pid_fd = -1;
	adopt_it(b); /* a second one, started by mistake, leaves the first */
	if (b->is_stopping && b->keeper_pid_fd < 0)
		ev_timer_stop(b->loop, &b->keeper_timer);
	if (b->is_stopping && !b->settings->files_dir[0]) {
		char *files = files_place(b);
		rmdir(files); /* stays when something is left in it */
		free(files);
	}
}

/* --- news from it ----------------------------------------------------------------- */

void keeper_settings_send(struct broker *b)
{
	const struct param_taskbroker *p = b->settings;
	Sirdar__KeeperSettings m = SIRDAR__KEEPER_SETTINGS__INIT;

	m.jobs_max = (uint32_t)p->jobs_max;
	m.output_bytes_max = (uint64_t)p->output_bytes_max;
	m.output_rate_max = p->output_rate_max_bytes ? p->output_rate_max_bytes : -1;
	m.log_level = p->log_level;
	keeper_client_settings(b->keeper, &m, NULL);
}

/* One that a taskbroker before us started is ours as if we had. */
static void adopt_it(struct broker *b)
{
	if (b->keeper_pid_fd >= 0 || !keeper_client_is_up(b->keeper) || b->settings->keeper_dir[0])
		return;
	b->keeper_pid_fd = keeper_client_peer(b->keeper);
	if (b->keeper_pid_fd < 0)
		return;
	watch_it(b);
	if (b->is_stopping && b->with_jobs)
		keeper_end(b);
}

static void on_up(void *ctx, const Sirdar__KeeperWelcome *w)
{
	struct broker *b = ctx;

	adopt_it(b);
	keeper_settings_send(b);
	b->keeper_away = 0;
	log_info("broker.keeper_up", "software=%s running=%u", w->software, w->running);
	ev_timer_stop(b->loop, &b->keeper_timer);
	b->keeper_pause_ms = PATIENCE_MS;
	b->n_listing = 0;
	b->is_list_fresh = false;
}

/* Said anew with each report, as it goes on. */
static void say_silent(struct broker *b)
{
	int64_t us = clock_mono_us(&clock_machine) - b->keeper_heard_us;

	snprintf(b->keeper_why, sizeof b->keeper_why,
	         "no jobkeeper: nothing heard for %" PRId64 " s",
	         us < US_PER_S ? 1 : (int64_t)(us / US_PER_S));
}

/* Those that it holds jobs of have nobody to ask about them, or have again. */
static void tell_types(struct broker *b)
{
	for (struct type *t = b->types; t; t = t->next)
		if (t->holds)
			type_tell(t);
}

static void on_down(void *ctx, const struct err *why)
{
	struct broker *b = ctx;

	log_warn("broker.keeper_down", "why=\"%s\"", why->text);
	if (!b->keeper_down_us)
		b->keeper_down_us = clock_mono_us(&clock_machine);
	b->keeper_heard_us = 0;
	if (why->code == E_TIMEOUT) {
		b->keeper_heard_us = clock_mono_us(&clock_machine) -
		                     b->settings->loader_silent_ms * US_PER_MS;
		say_silent(b);
	} else {
		snprintf(b->keeper_why, sizeof b->keeper_why, "no jobkeeper: %.140s", why->text);
	}
	tell_types(b);
	if (!b->is_stopping)
		wait_for_it(b);
}

void keeper_tell(struct broker *b)
{
	if (!b->keeper_down_us || !b->keeper_heard_us)
		return;
	say_silent(b);
	tell_types(b);
}

void keeper_take_list(struct broker *b)
{
	CHECK(b->n_listing <= b->cap_listing);
	uint64_t *held = b->held;
	struct lease_proof *proofs = b->proofs;
	size_t cap = b->cap_held, cap_proofs = b->cap_proofs;

	b->held = b->listing;
	b->n_held = b->n_listing;
	b->cap_held = b->cap_listing;
	b->proofs = b->listing_proofs;
	b->cap_proofs = b->cap_listing_proofs;
	b->listing = held;
	b->cap_listing = cap;
	b->listing_proofs = proofs;
	b->cap_listing_proofs = cap_proofs;
	b->n_listing = 0;
	b->is_list_fresh = false;
}

static void on_held(void *ctx, const Sirdar__KeeperHeld *h)
{
	struct broker *b = ctx;

	if (b->is_list_fresh || b->n_listing == 0) { /* a new list begins */
		b->n_listing = b->counting = 0;
		b->is_list_fresh = false;
	}
	for (size_t i = 0; i < h->n_job; i++) {
		const Sirdar__KeeperJob *k = h->job[i];

		if (lane_is_of_guests(k->type)) /* its loader's, no job */
			continue;
		b->counting += k->state <= HELD_KILLED || k->state == HELD_HANGED;
		if (!served_take(b, k->type))
			continue;
		b->listing = mem_room(b->listing, &b->cap_listing, b->n_listing + 1,
		                      sizeof *b->listing);
		b->listing_proofs = mem_room(b->listing_proofs, &b->cap_listing_proofs,
		                             b->n_listing + 1, sizeof *b->listing_proofs);
		b->listing_proofs[b->n_listing] = lease_proof_of(k->lease_proof.data,
		                                                 k->lease_proof.len);
		b->listing[b->n_listing++] = k->token;
	}
	if (!h->last)
		return;
	b->is_list_fresh = true;
	b->running = b->counting;
	served_look(b);
	if (b->keeper_down_us) {
		b->keeper_down_us = 0;
		tell_types(b);
	}
	if (!b->link)
		keeper_take_list(b);
	b->is_held_known = true;
}

static const struct keeper_client_ops ops = {
	.on_up = on_up,
	.on_down = on_down,
	.on_held = on_held,
};

/* --- life ------------------------------------------------------------------------- */

int keeper_watch(struct broker *b, struct err *err)
{
	const char *other = b->settings->keeper_dir;
	char *path = mem_fmt("%s/keeper.sock", other[0] ? other : b->state_dir);
	const struct keeper_client_settings set = {
		path, b->settings->isolation,        other[0], "broker",
		"",   b->settings->loader_silent_ms, &ops,     b,
	};
	int r;

	CHECK(!b->keeper);
	map_init(&b->proven);
	b->keeper_pause_ms = PATIENCE_MS;
	b->keeper_pid_fd = -1;
	ev_init(&b->keeper_timer, on_keeper_timer);
	ev_init(&b->keeper_ended, on_keeper_ended);
	b->keeper_timer.data = b->keeper_ended.data = b;
	r = keeper_client_open(b->loop, &set, &b->keeper, err);
	free(path);
	if (r == 0)
		wait_for_it(b);
	return r;
}

/* One that we started, and that still is there, sees to what its predecessor left itself. */
static bool is_over(struct broker *b)
{
	return !b->keeper_pid && !b->settings->keeper_dir[0] &&
	       remains_end(b->state_dir, b->settings->cgroup, b->held, b->n_held);
}

void keeper_look(struct broker *b)
{
	int64_t away_us = b->keeper_down_us ? clock_mono_us(&clock_machine) - b->keeper_down_us : 0;

	if (!b->link || away_us <= (int64_t)link_fence_ms(b->link) * US_PER_MS)
		return;
	if (!is_over(b) && away_us <= (int64_t)link_lose_ms(b->link) * US_PER_MS)
		return;
	if (b->n_held)
		log_error("broker.keeper_gone", "jobs=%zu: they are named no more", b->n_held);
	b->n_held = 0;
	b->is_list_fresh = false; /* a list from before */
}

void keeper_end(struct broker *b)
{
	if (b->settings->keeper_dir[0])
		log_warn("broker.with_jobs", "the jobkeeper is a service of its own, and its jobs "
		                             "go on: stop that service");
	if (b->keeper_pid_fd >= 0)
		pidfd_send_signal(b->keeper_pid_fd, SIGTERM, NULL, 0);
}

bool keeper_is_gone(const struct broker *b)
{
	return b->keeper_pid_fd < 0 && !ev_is_active(&b->keeper_timer);
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
	free(b->proofs);
	free(b->listing_proofs);
	map_done(&b->proven);
}
