/* db_open.c — which driver serves which kind of database. It stands above the drivers, which use
 * db.c; nothing else names one of them. */
#include <stdlib.h>

#include "runners/common/db_impl.h"
#include "runners/common/run.h"

static const struct db_ops *const drivers[] = { &db__mysql, &db__mysql, &db__postgres,
	                                        &db__sqlite };

int db_open(const struct run *r, const struct db_where *where, struct db **ret_db)
{
	const struct db_ops *ops = drivers[where->kind];
	struct db *db = *ret_db = calloc(1, ops->bytes);

	if (!db)
		return DB_FAILED;
	db->ops = ops;
	db->run = r;
	db->kind = where->kind;
	if (run_cancelled(r))
		return DB_STOPPED;
	if (where->kind == DB_SQLITE)
		return db->ops->open(db, where);
	int code = guard_read(&db->guard, r, db->why, sizeof db->why) < 0 ? DB_NO_POLICY
	                                                                  : db__dial_begin(db);

	return code < 0 ? code : db__dial_end(db, db->ops->open(db, where));
}
