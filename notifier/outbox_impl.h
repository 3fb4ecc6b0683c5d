/* outbox_impl.h — the outbox's inside, shared by outbox*.c only. */
#ifndef NOTIFIER_OUTBOX_IMPL_H
#define NOTIFIER_OUTBOX_IMPL_H

#include <sqlite3.h>

#include "notifier/outbox.h"

enum sql {
#define SQL(name, text) SQL_##name,
#include "notifier/outbox_sql.def"
#undef SQL
	SQL_COUNT
};

struct outbox {
	sqlite3 *db;
	sqlite3_stmt *stmts[SQL_COUNT];
	int lock_fd;
};

/* NULL: err says why. */
sqlite3_stmt *outbox__get(struct outbox *o, enum sql which, struct err *err);
/* A statement without rows. */
int outbox__run(struct outbox *o, sqlite3_stmt *q, struct err *err);
/* 1 a row, 0 the end; the statement is reset but after a row. */
int outbox__row(struct outbox *o, sqlite3_stmt *q, struct err *err);

#endif
