/* mem_table.h — images by key, in the order in which they came. Internal to lib/store. */
#ifndef STORE_MEM_TABLE_H
#define STORE_MEM_TABLE_H

#include <stddef.h>

#include "sched/instance.h"
#include "util/map.h"

struct mem_table {
	struct instance *rows; /* ST_NONE: a hole */
	size_t n, cap, used;   /* used: n without holes */
	struct map at;         /* hash of the key -> index */
};

void mem_table_init(struct mem_table *t);
void mem_table_done(struct mem_table *t);
void mem_table_copy(const struct mem_table *from, struct mem_table *ret);
const struct instance *mem_table_find(const struct mem_table *t, struct inst_key key);
void mem_table_put(struct mem_table *t, const struct instance *i); /* insert or replace */
void mem_table_drop(struct mem_table *t, struct inst_key key);     /* absent: nothing */
/* The rows by last_number, ascending; the caller's to free. *ret_n of them. */
const struct instance **mem_table_by_number(const struct mem_table *t, size_t *ret_n);

#endif
