/* schema.h — the migrations built into the program, 1.. without gaps. Internal to lib/store. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

struct store_migration {
	int number;
	const char *name; /* file name */
	const char *sql;
};

/* The row every store has from its first migration on, but half a copy has not. */
#define STORE_NO_LEADER_ROW \
	"lb_leader has no row: a copy that broke off? Then `sirdar db copy` once more"

extern const struct store_migration store_schema[]; /* of SQLite */
extern const size_t store_schema_count;
extern const struct store_migration store_mysql_schema[]; /* in the module */
extern const size_t store_mysql_schema_count;

#endif
