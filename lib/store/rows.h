/* rows.h — where the row of a live instance is: its key to a 64-bit row id.
 *
 * Open addressing, 24 bytes a place, at most 3/4 full. Internal to lib/store.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"

struct rows_place {
	struct inst_key key;
	int64_t id; /* 0: empty */
};

struct rows {
	struct rows_place *places;
	size_t mask; /* places - 1; 0 before the first */
	size_t used;
	int64_t next_id; /* larger than every id seen */
};

void rows_init(struct rows *r);
void rows_done(struct rows *r);
/* 0: not there. */
int64_t rows_find(const struct rows *r, struct inst_key key);
/* `id` > 0. False when the key is there already (nothing changes). */
bool rows_add(struct rows *r, struct inst_key key, int64_t id);
bool rows_remove(struct rows *r, struct inst_key key);

#endif
