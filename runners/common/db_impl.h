/* db_impl.h — what a driver is. */
#ifndef RUNNERS_DB_IMPL_H
#define RUNNERS_DB_IMPL_H

#include "runners/common/db.h"
#include "runners/common/guard.h"

#define DB_WHY_BYTES 400
#define DB_TICK_MS   50 /* between looks at whether to stop */

struct db_ops {
	size_t bytes; /* of the driver's struct */
	int (*open)(struct db *db, const struct db_where *where);
	int (*run)(struct db *db, const char *sql, const struct db_sink *sink);
	void (*quote)(struct db *db, const char *value, size_t len, struct text *out);
	void (*close)(struct db *db);
};

/* The head of each driver's struct. */
struct db {
	const struct db_ops *ops;
	const struct run *run;
	enum db_kind kind;
	char why[DB_WHY_BYTES];
	struct guard guard;
	char refused[DB_WHY_BYTES]; /* the last address that the guard refused */
};

extern const struct db_ops db__mysql, db__postgres, db__sqlite;

/* Whatever the driver connects to between these is judged by the machine's egress file. `end`
 * answers `code`, or what became of it by a refusal. */
int db__dial_begin(struct db *db);
int db__dial_end(struct db *db, int code);

/* Record why; answers `code`. */
__attribute__((format(printf, 3, 4))) int db__set(struct db *db, int code, const char *fmt, ...);
int db__types(const struct db_sink *sink, size_t n, const struct db_type *types);
int db__columns(const struct db_sink *sink, size_t n, const char *const *names);
int db__row(const struct db_sink *sink, size_t n, const char *const *values, const size_t *lens);
int db__done(const struct db_sink *sink, int64_t affected);

#endif
