/* baseserver/settings: what changes when a setting of the server does, by its name; with clocks of
 * the test's own, since many of them are times. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "baseserver/keep/maintainer.h"
#include "baseserver/net/logkeeper.h"
#include "baseserver/settings.h"
#include "store/mem.h"
#include "tests/support/child.h"
#include "tests/unit/sorting.h"
#include "util/param.h"

enum { TASK = 1, HOUR_S = 3600 };
#define DAY_US (86400 * US_PER_S)

struct place {
	struct fixture f;
	struct maintainer *maintainer;
	struct logkeeper *logkeeper;
	struct param_baseserver p;
	char *dir;
};

/* A server's actors as these settings (ends with NULL) make them. */
static void start(struct place *w, const char *const *sets)
{
	struct fixture *f = &w->f;
	struct err err = { 0 };

	memset(w, 0, sizeof *w);
	now_us = 0;
	w->dir = dir_make();
	char *dir = mem_fmt("state_dir=%s", w->dir), *logs = mem_fmt("log_dir=%s/logs", w->dir);
	param_init(&param_baseserver_table, &w->p);
	param_set(&param_baseserver_table, &w->p, dir, &err);
	param_set(&param_baseserver_table, &w->p, logs, &err);
	for (; *sets; sets++)
		if (param_set(&param_baseserver_table, &w->p, *sets, &err) < 0)
			fail_msg("%s", err.text);
	free(dir);
	free(logs);
	struct ledger_settings set = settings_of_ledger(&w->p);
	struct maintainer_settings mset = settings_of_maintainer(&w->p);
	struct logkeeper_settings lset = settings_of_logkeeper(&w->p);
	set.fatal = on_fatal;
	assert_int_equal(store_open("mem:", &f->store, NULL), 0);
	f->th = thread_new("test", &test_clock);
	assert_int_equal(ledger_new(&(struct ledger_start){ .thread = f->th,
	                                                    .store = f->store,
	                                                    .who = "test",
	                                                    .set = &set },
	                            &f->ledger, NULL),
	                 0);
	w->maintainer = maintainer_new(f->th, f->ledger, &mset);
	assert_int_equal(logkeeper_new(f->th, &lset, &w->logkeeper, NULL), 0);
	f->me = actor_new(f->th, &me_ops, f);
	f->in = stream_reader_new(ledger_stream(f->ledger), STREAM_INNER, f->me);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
	put(f, TASK, 5, 0, DISPATCH_LEAST_LOADED);
}

static void stop(struct place *w)
{
	thread_stop(w->f.th);
	logkeeper_free(w->logkeeper);
	maintainer_free(w->maintainer);
	ledger_free(w->f.ledger);
	thread_free(w->f.th);
	store_close(w->f.store);
	param_done(&param_baseserver_table, &w->p);
	dir_remove(w->dir);
	free(w->dir);
}

#define START(w, ...) start(w, (const char *const[]){ __VA_ARGS__, NULL })

static void pass(struct place *w, int64_t us)
{
	now_us += us;
	thread_sim_run(w->f.th);
}

/* Hour by hour: what is done hourly is done. */
static void hours(struct place *w, int n)
{
	while (n-- > 0)
		pass(w, HOUR_S * US_PER_S + US_PER_S);
}

/* --- commits ------------------------------------------------------------------------------ */

static void make(struct fixture *f, int64_t date)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);

	proposals_add(ps, ASK_CREATE, (struct inst_key){ date, TASK, 0 });
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
}

/* How many commits there are for 12 changes that come one after the other, 400 us apart. */
static uint64_t commits(const char *window, const char *batch)
{
	struct ledger_figures before, after;
	struct place w;

	START(&w, window, batch);
	ledger_figures(w.f.ledger, &before);
	for (int i = 0; i < 12; i++)
		make(&w.f, 60 * i);
	while (thread_sim_busy(w.f.th)) {
		now_us += 400;
		thread_sim_step(w.f.th, 1);
	}
	ledger_figures(w.f.ledger, &after);
	stop(&w);
	return after.commits - before.commits;
}

static void under_load_a_commit_gathers_for_commit_window_us(void **state)
{
	(void)state;
	assert_int_equal(commits("commit_window_us=100000", "commit_batch_max=8192"), 1);
	assert_in_range(commits("commit_window_us=1000", "commit_batch_max=8192"), 3, 5);
	assert_in_range(commits("commit_window_us=0", "commit_batch_max=8192"), 6, 12);
}

static void under_load_a_commit_goes_with_commit_batch_max_transitions(void **state)
{
	(void)state;
	assert_int_equal(commits("commit_window_us=100000", "commit_batch_max=1"), 12);
	assert_int_equal(commits("commit_window_us=100000", "commit_batch_max=4"), 3);
}

/* --- the lease in the store --------------------------------------------------------------- */

/* Signs of life of an idle server in a minute. */
static uint64_t beats(const char *renew)
{
	struct store_lease before, after;
	struct place w;

	START(&w, "epoch_ms=9000", renew);
	assert_int_equal(store_lease(w.f.store, &before, NULL), 0);
	for (int i = 0; i < 600; i++)
		pass(&w, US_PER_S / 10);
	assert_int_equal(store_lease(w.f.store, &after, NULL), 0);
	stop(&w);
	return after.beat - before.beat;
}

static void who_leads_shows_it_every_renew_ms(void **state)
{
	(void)state;
	assert_in_range(beats("renew_ms=500"), 90, 125);
	assert_in_range(beats("renew_ms=2000"), 25, 32);
	assert_in_range(beats("renew_ms=0"), 18, 21); /* a third of epoch_ms */
}

/* A commit shows it too, at any moment: the next sign of life is counted from there. */
static void who_leads_is_never_silent_for_longer_than_renew_ms(void **state)
{
	struct place w;

	(void)state;
	START(&w, "epoch_ms=9000", "renew_ms=4000");
	for (int i = 0; i < 600; i++) {
		pass(&w, US_PER_S / 10);
		if (i % 50 == 0) {
			make(&w.f, 60 * i);
			pass(&w, 0);
		}
		assert_in_range(mono(NULL) - ledger_proof_us(w.f.ledger), 0,
		                4 * US_PER_S + US_PER_S / 10);
	}
	stop(&w);
}

/* --- keeping and forgetting --------------------------------------------------------------- */

static void finish(struct place *w, int n)
{
	for (int i = 0; i < n; i++) {
		struct inst_key k = { 60 * i, TASK, 0 };
		ask(&w->f, ASK_CREATE, k, 0);
		ask(&w->f, ASK_SKIP, k, 0);
	}
	assert_int_equal(store_mem_count_done(w->f.store), n);
}

static void what_finished_is_kept_for_retention_days(void **state)
{
	struct place w;

	(void)state;
	START(&w, "retention_days=2");
	finish(&w, 1);
	hours(&w, 46);
	assert_int_equal(store_mem_count_done(w.f.store), 1);
	hours(&w, 4);
	assert_int_equal(store_mem_count_done(w.f.store), 0);
	stop(&w);
	START(&w, "retention_days=4");
	finish(&w, 1);
	hours(&w, 94);
	assert_int_equal(store_mem_count_done(w.f.store), 1);
	hours(&w, 4);
	assert_int_equal(store_mem_count_done(w.f.store), 0);
	stop(&w);
}

/* How many of 12 instances are left after each of three steps. */
static void slices(const char *slice, size_t left[3])
{
	struct place w;

	START(&w, "retention_days=2", slice);
	finish(&w, 12);
	hours(&w, 47);
	pass(&w, 3 * HOUR_S * US_PER_S);
	for (int i = 0; i < 3; i++) {
		left[i] = store_mem_count_done(w.f.store);
		pass(&w, US_PER_S / 10);
	}
	stop(&w);
}

static void retention_slice_rows_go_at_once(void **state)
{
	size_t left[3];

	(void)state;
	slices("retention_slice=3", left); /* an instance is a row and its two events */
	assert_true(left[0] == 11 && left[1] == 10 && left[2] == 9);
	slices("retention_slice=12", left);
	assert_true(left[0] == 8 && left[1] == 4 && left[2] == 0);
	slices("retention_slice=500", left);
	assert_int_equal(left[0], 0);
}

static int count_stat(void *ctx, const struct store_stat *st)
{
	(void)st;
	++*(int *)ctx;
	return 0;
}

static int figures(struct place *w)
{
	int n = 0;

	assert_int_equal(store_load_stats(w->f.store, &(struct store_stat_days){ TASK, -10, 100 },
	                                  count_stat, &n, NULL),
	                 0);
	return n;
}

static void figures_by_day_are_kept_for_statistics_days(void **state)
{
	struct place w;

	(void)state;
	START(&w, "statistics_days=2");
	finish(&w, 1);
	assert_int_equal(figures(&w), 1);
	hours(&w, 40);
	assert_int_equal(figures(&w), 1);
	hours(&w, 3 * 24);
	assert_int_equal(figures(&w), 0);
	stop(&w);
	START(&w, "statistics_days=10");
	finish(&w, 1);
	hours(&w, 5 * 24);
	assert_int_equal(figures(&w), 1);
	stop(&w);
}

/* A log of the test clock's first hour, in a segment and in a file as earlier releases kept them:
 * are they there after so many hours? */
static bool log_is_there(const char *days, int after)
{
	struct timespec then[2] = { { .tv_sec = HOUR_S }, { .tv_sec = HOUR_S } };
	struct stat st;
	struct place w;

	START(&w, days);
	struct log_put *p = mem_new(sizeof *p + 1);
	p->name = (struct log_name){ { 60, 7, 0 }, 1, 1, 1, 0 };
	p->token = p->bytes = 1;
	assert_int_equal(logkeeper_put(w.logkeeper, p), 0);
	char *task = mem_fmt("%s/logs/7", w.dir), *one = mem_fmt("%s/60.0", task),
	     *file = mem_fmt("%s/1.1.1", one),
	     *segment = mem_fmt("%s/logs/segments/00000001.seg", w.dir);
	assert_int_equal(mkdir(task, 0700), 0);
	assert_int_equal(mkdir(one, 0700), 0);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(utimensat(AT_FDCWD, one, then, 0), 0);
	hours(&w, after);
	bool is_there = stat(file, &st) == 0;
	assert_int_equal(stat(segment, &st) == 0, is_there);
	free(segment);
	free(file);
	free(one);
	free(task);
	stop(&w);
	return is_there;
}

static void logs_of_jobs_are_kept_for_log_retention_days(void **state)
{
	(void)state;
	assert_true(log_is_there("log_retention_days=2", 46));
	assert_false(log_is_there("log_retention_days=2", 50));
	assert_true(log_is_there("log_retention_days=4", 50));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(under_load_a_commit_gathers_for_commit_window_us),
		cmocka_unit_test(under_load_a_commit_goes_with_commit_batch_max_transitions),
		cmocka_unit_test(who_leads_shows_it_every_renew_ms),
		cmocka_unit_test(who_leads_is_never_silent_for_longer_than_renew_ms),
		cmocka_unit_test(what_finished_is_kept_for_retention_days),
		cmocka_unit_test(retention_slice_rows_go_at_once),
		cmocka_unit_test(figures_by_day_are_kept_for_statistics_days),
		cmocka_unit_test(logs_of_jobs_are_kept_for_log_retention_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
