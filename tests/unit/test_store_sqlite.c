/* SQLite in trouble: killed, full, failing files, foreign or broken content, two writers. */
#include "tests/store/fault_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/schema.h"
#include "store/tip.h"

static void sql(struct world *w, const char *text)
{
	sqlite3 *db;
	char path[128], *why = NULL;

	world_path(w, "sirdar.db", path);
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
		SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(db);
}

static int64_t sql_number(struct world *w, const char *text)
{
	sqlite3 *db;
	sqlite3_stmt *q;
	char path[128];
	int64_t n;

	world_path(w, "sirdar.db", path);
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &q, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	n = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return n;
}

static void assert_sound(struct world *w)
{
	assert_int_equal(sql_number(w, "SELECT count(*) FROM pragma_integrity_check"
	                               " WHERE integrity_check <> 'ok'"),
	                 0);
}

/* One more instance through all three tables; the err code. */
static int one_life(struct world *w, int64_t run_date, struct err *err)
{
	struct instance i = world_instance(1, run_date, 0), j = world_instance(2, run_date, 0);
	const struct instance *p = &i, *q = &j;
	struct store_batch b = { .done = &p, .n_done = 1, .live = &q, .n_live = 1 };

	world_change(w, &i, EV_CREATE, ST_READY);
	world_change(w, &i, EV_SKIP, ST_SKIPPED);
	world_change(w, &j, EV_CREATE, ST_READY);
	return world_commit(w, &b, err);
}

static void a_second_writer_is_refused_and_told_who_writes(void **state)
{
	struct world *w = *state;
	struct store *other;
	struct err err = { 0 };
	char pid[20];

	snprintf(pid, sizeof pid, "process %d", (int)getpid());
	assert_int_equal(store_open(w->url, &other, &err), E_BUSY);
	assert_non_null(strstr(err.text, pid));
	assert_non_null(strstr(err.text, w->dir));
	world_must(one_life(w, 60, &err), &err);
}

static void the_directory_is_the_owners_only(void **state)
{
	struct world *w = *state;
	struct store *s;
	struct stat st;
	char path[128], url[140], *file;

	world_path(w, "new", path);
	snprintf(url, sizeof url, "sqlite:%s", path);
	assert_int_equal(store_open(url, &s, NULL), 0);
	store_close(s);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	file = mem_fmt("%s/sirdar.db", path);
	unlink(file);
	free(file);
	file = mem_fmt("%s/writer.lock", path);
	unlink(file);
	free(file);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(store_open("sqlite:/nowhere/at/all", &s, NULL), E_IO);
	assert_int_equal(store_open("sqlite:", &s, NULL), E_INVALID);
	assert_int_equal(store_open("oracle:x", &s, NULL), E_INVALID);
}

/* The child commits and tells each acknowledged run date; the parent kills it somewhere.
 * What was told must be there. */
static void child_commits(struct world *w, int fd, int round)
{
	struct err err = { 0 };

	world_open(w);
	for (int64_t k = 0;; k++) {
		int64_t date = round * 1000000 + k;

		if (one_life(w, date, &err) < 0)
			_exit(3);
		if (k % 16 == 0)
			store_idle(w->s);
		if (write(fd, &date, sizeof date) != sizeof date)
			_exit(4);
	}
}

static void what_was_acknowledged_survives_kill_9(void **state)
{
	struct world *w = *state;

	store_close(w->s);
	w->s = NULL;
	for (int round = 1; round <= 25; round++) {
		int64_t date, last = -1, want = 20 + (int64_t)world_random(w, 300);
		struct instance found;
		int fds[2], status;
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0) {
			close(fds[0]);
			child_commits(w, fds[1], round);
		}
		close(fds[1]);
		for (int64_t n = 0; n < want; n++)
			if (read(fds[0], &date, sizeof date) == sizeof date)
				last = date;
		kill(pid, SIGKILL);
		while (read(fds[0], &date, sizeof date) == sizeof date)
			last = date;
		close(fds[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		assert_true(last >= round * 1000000);
		world_open(w);
		for (int64_t d = round * 1000000; d <= last; d++)
			assert_int_equal(
				store_find_done(w->s, (struct inst_key){ d, 1, 0 }, &found, NULL),
				0);
		/* Whole batches: an event for each number. */
		assert_int_equal(sql_number(w, "SELECT count(*) FROM lb_task_event"), w->number);
		assert_int_equal(sql_number(w, "SELECT count(*) * 3 FROM lb_task_run_history"),
		                 w->number);
		store_close(w->s);
		w->s = NULL;
	}
	assert_sound(w);
}

/* Commit with a fault ordered; what failed goes in when repeated. 1 when it failed. */
static int commit_twice(struct world *w, struct store_batch *b, enum fault_kind kind, int n)
{
	struct err err = { 0 };
	int r;

	world_fill(w, b);
	fault_order(kind, n);
	r = store_commit(w->s, b, &err);
	store_idle(w->s);
	fault_order(FAULT_NONE, 0);
	if (r < 0) {
		assert_int_equal(r, kind == FAULT_FULL ? E_FULL : E_IO);
		world_must(store_commit(w->s, b, &err), &err);
	}
	w->n_events = 0;
	return r < 0;
}

/* One instance begins, another of before ends, in one commit. */
static int try_fault(struct world *w, struct instance *before, enum fault_kind kind, int n)
{
	struct instance now = world_instance(1, 1000000 * kind + n, 0);
	const struct instance *live = &now, *done = before;
	struct store_batch b = { .live = &live, .n_live = 1, .done = &done, .n_done = 1 };
	int failed;

	world_change(w, &now, EV_CREATE, ST_READY);
	world_change(w, before, EV_SKIP, ST_SKIPPED);
	failed = commit_twice(w, &b, kind, n);
	*before = now;
	return failed;
}

static void assert_one_live(struct world *w, const struct instance *want)
{
	struct seen *live = world_live(w);

	assert_int_equal(live->n, 1);
	same_instance(&live->rows[0], want);
	free(live);
}

static void the_nth_write_may_fail_and_the_batch_is_repeated(void **state)
{
	struct world *w;
	struct instance last = world_instance(1, 1, 0);
	int failed = 0;

	(void)state;
	fault_install();
	w = world_new("/tmp");
	world_change(w, &last, EV_CREATE, ST_READY);
	world_put(w, &last);
	for (int n = 0; n < 14; n++) {
		failed += try_fault(w, &last, FAULT_WRITE, n);
		failed += try_fault(w, &last, FAULT_FULL, n);
	}
	assert_true(failed > 10); /* else the shim is not in the way */
	assert_one_live(w, &last);
	world_reopen(w);
	assert_one_live(w, &last);
	assert_int_equal(sql_number(w, "SELECT count(*) FROM lb_task_run_history"), 28);
	assert_sound(w);
	world_free(w);
	fault_uninstall();
}

static void a_failed_fsync_says_that_the_process_must_end(void **state)
{
	struct world *w;
	struct err err = { 0 };

	(void)state;
	fault_install();
	w = world_new("/tmp");
	world_must(one_life(w, 60, &err), &err);
	fault_order(FAULT_SYNC, 0);
	assert_int_equal(one_life(w, 120, &err), E_CORRUPT);
	assert_non_null(strstr(err.text, "fsync failed"));
	fault_order(FAULT_NONE, 0);
	world_reopen(w);
	assert_true(w->number == 3 || w->number == 6);
	world_free(w);
	fault_uninstall();
}

static void fill_disk(struct world *w)
{
	static char zeros[4096];
	char path[128];
	int fd;

	world_path(w, "fill", path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, zeros, sizeof zeros) > 0)
		;
	while (write(fd, zeros, 1) > 0)
		;
	close(fd);
}

static void a_full_disk_refuses_and_goes_on_when_there_is_room(void **state)
{
	char mountpoint[] = "/tmp/sirdar-tmpfs-XXXXXX", path[128];
	struct err err = { 0 };
	struct world *w;
	int r = 0;

	(void)state;
	assert_non_null(mkdtemp(mountpoint));
	if (mount("tmpfs", mountpoint, "tmpfs", 0, "size=4m") < 0) {
		print_message("SKIPPED: no tmpfs here (errno %d): the full disk is not tested\n",
		              errno);
		rmdir(mountpoint);
		skip();
	}
	w = world_new(mountpoint);
	world_must(one_life(w, 1, &err), &err);
	fill_disk(w);
	for (int64_t k = 2; r == 0 && k < 10000; k++)
		r = one_life(w, k, &err);
	assert_int_equal(r, E_FULL);
	for (int k = 0; k < 3; k++) { /* still full, still said */
		world_must(store_position(w->s, &w->number, &w->epoch, &err), &err);
		assert_int_equal(one_life(w, 20000, &err), E_FULL);
	}
	world_path(w, "fill", path);
	assert_int_equal(unlink(path), 0);
	world_must(store_position(w->s, &w->number, &w->epoch, &err), &err);
	world_must(one_life(w, 20000, &err), &err);
	world_reopen(w);
	assert_sound(w);
	world_free(w);
	assert_int_equal(umount(mountpoint), 0);
	rmdir(mountpoint);
}

static void bad_values_are_named_at_load(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *break_it, *mend, *word;
	} bad[] = {
		{ "job_status = 99", "job_status = 0", "job_status has 99" },
		{ "job_status = 3", "job_status = 0", "job_status is a final state" },
		{ "job_status = NULL", "job_status = 0", "job_status has NULL" },
		{ "task_id = -1", "task_id = 2", "task_id has -1" },
		{ "task_id = NULL", "task_id = 2", "task_id has NULL" },
		{ "attempt = 65536", "attempt = 0", "attempt has 65536" },
		{ "token = -1", "token = 0", "token has -1" },
		{ "reason = 250", "reason = 0", "reason has 250" },
		{ "intent = 5", "intent = 0", "intent has 5" },
		{ "part = 3000000000", "part = 0", "part has 3000000000" },
		{ "generation = 4294967296", "generation = 1", "generation has 4294967296" },
	};
	struct err err = { 0 };
	struct instance i = world_instance(2, 60, 0);
	struct seen *none = mem_new(sizeof *none), *live;

	world_change(w, &i, EV_CREATE, ST_READY);
	world_put(w, &i);
	store_close(w->s);
	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
		char *text = mem_fmt("UPDATE lb_task_run SET %s", bad[k].break_it);

		sql(w, text);
		free(text);
		w->s = NULL;
		world_open(w);
		assert_int_equal(store_load_live(w->s, see_instance, none, &err), E_CORRUPT);
		assert_non_null(strstr(err.text, "lb_task_run"));
		assert_non_null(strstr(err.text, bad[k].word));
		store_close(w->s);
		text = mem_fmt("UPDATE lb_task_run SET %s", bad[k].mend);
		sql(w, text);
		free(text);
	}
	assert_int_equal(none->n, 0);
	w->s = NULL;
	world_open(w);
	live = world_live(w);
	assert_int_equal(live->n, 1);
	free(live);
	free(none);
}

static void open_refused(struct world *w, int want, const char *word)
{
	struct err err = { 0 };
	struct store *s;

	assert_int_equal(store_open(w->url, &s, &err), want);
	if (!strstr(err.text, word))
		fail_msg("'%s' lacks '%s'", err.text, word);
}

static void foreign_newer_and_altered_databases_are_refused(void **state)
{
	struct world *w = *state;

	store_close(w->s);
	w->s = NULL;
	sql(w, "PRAGMA user_version = 999; DELETE FROM lb_meta WHERE name = 'schema_floor'");
	open_refused(w, E_VERSION, "schema 999, this program knows up to ");
	sql(w, "INSERT INTO lb_meta VALUES ('schema_floor', '998')");
	open_refused(w, E_VERSION, "from schema 998 on");
	sql(w, "UPDATE lb_meta SET value = '1'"); /* a release that lies about its migrations */
	open_refused(w, E_CORRUPT, "is missing");
	sql(w, "PRAGMA user_version = 1; UPDATE lb_migration SET checksum = 'x'");
	open_refused(w, E_CORRUPT, "0001_ledger.sql");
	sql(w, "DELETE FROM lb_migration");
	open_refused(w, E_CORRUPT, "number 1 is missing");
	sql(w, "DROP TABLE lb_migration");
	open_refused(w, E_CORRUPT, "no record");
	sql(w, "PRAGMA application_id = 5");
	open_refused(w, E_CORRUPT, "not Sirdar's");
	sql(w, "PRAGMA application_id = 0; PRAGMA user_version = 0");
	open_refused(w, E_CORRUPT, "not Sirdar's");
}

static void a_file_that_is_no_database_is_refused(void **state)
{
	struct world *w = *state;
	char path[128];
	int fd;

	store_close(w->s);
	w->s = NULL;
	world_path(w, "sirdar.db", path);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	for (int k = 0; k < 1000; k++)
		assert_int_equal(write(fd, "not a database, but a text\n", 27), 27);
	close(fd);
	open_refused(w, E_DAMAGED, "not a database");
}

/* Turns the first bytes of the page that begins a table's rows. */
static void spoil_page(struct world *w, const char *root)
{
	char path[128], bytes[4] = { 1, 2, 3, 4 };
	int64_t page = sql_number(w, root);
	int64_t size = sql_number(w, "PRAGMA page_size");

	sql(w, "PRAGMA wal_checkpoint(TRUNCATE)");
	world_path(w, "sirdar.db", path);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, bytes, sizeof bytes, (page - 1) * size + 1), sizeof bytes);
	close(fd);
}

static int look_through(struct world *w, int64_t limit_us, struct store_scrub *at, struct err *err)
{
	char url[160];
	struct store *beside = NULL;
	int r = 1;

	snprintf(url, sizeof url, "sqlite:%s", w->dir);
	world_must(store_open_standby(url, &beside, err), err);
	while (r > 0)
		r = store_scrub(beside, at, limit_us, err);
	store_close(beside);
	return r;
}

/* Small looks read a table row by row. */
static void a_look_through_the_whole_store_finds_a_spoiled_page(void **state)
{
	struct world *w = *state;
	struct store_scrub at = { 0 };
	struct err err = { 0 };

	for (int64_t k = 0; k < 2000; k++)
		world_must(one_life(w, k, &err), &err);
	world_must(look_through(w, INT64_MAX / 2, &at, &err), &err);
	assert_true(at.of > 20 && at.done == at.of && at.partly == 0);
	at = (struct store_scrub){ 0 };
	world_must(look_through(w, 1, &at, &err), &err);
	assert_true(at.done == at.of && at.partly > 0);
	assert_int_equal(store_inspect(w->s, 1, &err), E_AGAIN);
	world_must(store_inspect(w->s, 0, &err), &err);
	spoil_page(w, "SELECT rootpage FROM sqlite_schema WHERE name = 'lb_task_event'");
	at = (struct store_scrub){ 0 };
	assert_int_equal(look_through(w, INT64_MAX / 2, &at, &err), E_DAMAGED);
	assert_string_equal(at.table, "lb_task_event");
	at = (struct store_scrub){ 0 };
	assert_int_equal(look_through(w, 1, &at, &err), E_DAMAGED);
	assert_null(strstr(err.text, "PRAGMA"));
}

/* What an open that died between its first two transactions leaves. */
static void migrations_go_on_from_the_number_reached(void **state)
{
	struct world *w = *state;
	struct err err = { 0 };
	char path[128];

	store_close(w->s);
	w->s = NULL;
	world_path(w, "sirdar.db", path);
	assert_int_equal(unlink(path), 0);
	sql(w, "PRAGMA application_id = 1399419492;"
	       "CREATE TABLE lb_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
	       " checksum TEXT NOT NULL, applied_us INTEGER NOT NULL) STRICT");
	world_open(w);
	world_must(one_life(w, 60, &err), &err);
	assert_int_equal(sql_number(w, "SELECT count(*) FROM lb_migration"), store_schema_count);
	assert_int_equal(sql_number(w, "PRAGMA user_version"), store_schema_count);
}

static void idle_moves_the_log_into_the_database(void **state)
{
	struct world *w = *state;
	struct err err = { 0 };
	struct stat st;
	char path[128];

	for (int64_t k = 0; k < 400; k++)
		world_must(one_life(w, k, &err), &err);
	store_idle(w->s);
	world_must(one_life(w, 1000, &err), &err); /* begins the log anew */
	world_path(w, "sirdar.db", path);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 100000);
}

#define SQLITE(f) \
	{ \
#f, f, setup_sqlite, teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SQLITE(a_second_writer_is_refused_and_told_who_writes),
		SQLITE(the_directory_is_the_owners_only),
		SQLITE(what_was_acknowledged_survives_kill_9),
		cmocka_unit_test(the_nth_write_may_fail_and_the_batch_is_repeated),
		cmocka_unit_test(a_failed_fsync_says_that_the_process_must_end),
		cmocka_unit_test(a_full_disk_refuses_and_goes_on_when_there_is_room),
		SQLITE(bad_values_are_named_at_load),
		SQLITE(foreign_newer_and_altered_databases_are_refused),
		SQLITE(a_file_that_is_no_database_is_refused),
		SQLITE(a_look_through_the_whole_store_finds_a_spoiled_page),
		SQLITE(migrations_go_on_from_the_number_reached),
		SQLITE(idle_moves_the_log_into_the_database),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
