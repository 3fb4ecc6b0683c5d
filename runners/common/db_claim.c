/* db_claim.c — never two attempts of a job at once. The connection bears the name of the work
 * before the first statement is sent: in MySQL and MariaDB as a lock of that name, in PostgreSQL as
 * its application_name. A loader that died left a connection that works on; whoever tries again
 * ends it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/db.h"
#include "runners/common/db_impl.h"
#include "runners/common/run.h"
#include "runners/common/text.h"

#define CLAIM_MS 60000
#define PAUSE_MS 200

static int ask_number(struct db *db, int64_t *ret, const char *before, const char *work,
                      const char *after)
{
	struct text value = { 0 };
	char sql[500];
	bool is, is_null;

	snprintf(sql, sizeof sql, "%s'%s'%s", before, work, after);
	int code = db_ask(db, sql, &value, &is, &is_null);

	*ret = 0;
	if (code == DB_OK && is && !is_null)
		text_number(text_str(&value), ret);
	text_done(&value);
	return code;
}

/* How many of an earlier attempt are left; ends them. */
static int end_mysql(struct db *db, const char *work, int64_t *ret_left)
{
	int64_t held, who;
	int code = ask_number(db, &held, "SELECT GET_LOCK(", work, ", 1)");

	*ret_left = !held;
	if (code < 0 || held)
		return code;
	code = ask_number(db, &who, "SELECT IS_USED_LOCK(", work, ")");
	if (code < 0 || !who)
		return code;
	run_log(db->run, "an earlier attempt works there as connection %lld: killed",
	        (long long)who);
	code = db_runf(db, "KILL %lld", (long long)who);
	return code == DB_FAILED && strstr(db_why(db), "Unknown thread") ? DB_OK : code;
}

static int end_postgres(struct db *db, const char *work, int64_t *ret_left)
{
	int code = ask_number(db, ret_left,
	                      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
	                      "WHERE application_name = ",
	                      work, " AND pid <> pg_backend_pid()");

	if (code == DB_OK && *ret_left)
		run_log(db->run, "an earlier attempt works there on %lld connections: ended",
		        (long long)*ret_left);
	return code;
}

static int end_earlier(struct db *db, const char *work)
{
	const int64_t until_ms = run_now_ms() + CLAIM_MS;
	int64_t left = 0;

	for (;;) {
		int code = db->kind == DB_POSTGRESQL ? end_postgres(db, work, &left)
		                                     : end_mysql(db, work, &left);

		if (code < 0 || !left)
			return code;
		if (run_now_ms() > until_ms)
			return db__set(db, DB_FAILED,
			               "an earlier attempt still works there, and does not end");
		if (db->run->host->pause(db->run->job, PAUSE_MS))
			return DB_STOPPED;
	}
}

int db_claim(struct db *db)
{
	bool is_again;
	char *work = db->kind == DB_SQLITE ? NULL : run_work(db->run, &is_again);
	int code = DB_OK;

	if (work && !work[strspn(work, "abcdefghijklmnopqrstuvwxyz0123456789-")]) {
		if (db->kind == DB_POSTGRESQL)
			code = db_runf(db, "SET application_name = '%s'", work);
		if (code == DB_OK && (is_again || db->kind != DB_POSTGRESQL))
			code = end_earlier(db, work);
	}
	free(work);
	return code;
}
