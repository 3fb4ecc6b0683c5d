/* db_open.c — which driver serves which kind of database. It stands above the drivers, which use
 * db.c; nothing else names one of them. */
#include "runners/common/db_impl.h"
#include "runners/common/run.h"

static struct db *(*const makers[])(void) = { db_mysql_new, db_mysql_new, db_postgres_new,
	                                      db_sqlite_new };

int db_open(const struct run *r, const struct db_where *where, struct db **ret_db)
{
	struct db *db = *ret_db = makers[where->kind]();

	if (!db)
		return DB_FAILED;
	db->run = r;
	db->kind = where->kind;
	return run_cancelled(r) ? DB_STOPPED : db->ops->open(db, where);
}
