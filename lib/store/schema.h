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
/* From this one on programs may go on beside a store of this program's schema: the last of the
 * release before (schema/sql/floor.txt). 0: only this very schema may. */
extern const int store_schema_floor;
extern const struct store_migration store_mysql_schema[]; /* in the module */
extern const size_t store_mysql_schema_count;
extern const int store_mysql_schema_floor;

/* What lb_meta says of the floor: the name of its row. */
#define STORE_FLOOR "schema_floor"

struct err;
/* May a program that knows `have` migrations work on a store that has `version`, whose floor is
 * `floor` (0: none said)? E_VERSION says why not. Pure. */
int schema_check(int64_t version, int64_t floor, size_t have, struct err *err);

#endif
