/* ledger_table.h — the unfinished instances, each at a place that stays its own, found by key. The
 * ledger has one, a standby's picture (warm.h) another. */
#ifndef BASESERVER_LEDGER_TABLE_H
#define BASESERVER_LEDGER_TABLE_H

#include "sched/instance.h"
#include "util/index.h"

/* A free place: inst.state is ST_NONE, inst.slot the next free one. */
struct entry {
	struct instance inst;
};

enum { CHUNK = 1024 };

/* Unfinished instances (and finished ones until their commit). */
struct table {
	struct entry **chunks;
	size_t n_chunks;
	uint32_t free_head; /* MAP_NONE: none */
	uint32_t used;      /* places ever used */
	size_t len;
	struct index by_key;
};

void table_init(struct table *t);
void table_done(struct table *t);
struct entry *table_at(const struct table *t, uint32_t index);
struct entry *table_find(const struct table *t, struct inst_key key, uint32_t *ret_index);
struct entry *table_add(struct table *t, struct inst_key key, uint32_t *ret_index);
/* A stored row at the place it had; NULL when that is taken. table_restored() after the last. */
struct entry *table_restore(struct table *t, const struct instance *row);
void table_restored(struct table *t);
void table_remove(struct table *t, uint32_t index);
/* Before table_restored(): a row that was restored is not there. */
void table_drop(struct table *t, uint32_t index);
void table_move(struct table *to, struct table *from); /* `from` is empty after */

#endif
