/* db_open.c — which driver serves which kind of database. It stands above the drivers, which use
 * db.c; nothing else names one of them. */
#include "runners/common/db_impl.h"
#include "runners/common/run.h"

static struct db *(*const makers[])(void) = { db__mysql_new, db__mysql_new, db__postgres_new,
	                                      db__sqlite_new };

int db_open(const struct run *r, const struct db_where *where, struct db **ret_db)
{
	struct db *db = *ret_db = makers[where->kind]();

	if (!db)
		return DB_FAILED;
	db->run = r;
	db->kind = where->kind;
	if (run_cancelled(r))
		return DB_STOPPED;
	if (where->kind == DB_SQLITE)
		return db->ops->open(db, where);
	int code = guard_read(&db->guard, db->why, sizeof db->why) < 0 ? DB_NO_POLICY
	                                                               : db__dial_begin(db);

	return code < 0 ? code : db__dial_end(db, db->ops->open(db, where));
}
