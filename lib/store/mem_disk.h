/* mem_disk.h — what a store in memory keeps. Internal to lib/store. */
#ifndef STORE_MEM_DISK_H
#define STORE_MEM_DISK_H

#include "store/mem_table.h"
#include "store/store.h"

struct mem_disk {
	unsigned refs;
	uint32_t epoch;
	uint64_t number, outcome_number;
	struct store_lease lease; /* but epoch and number, which stand above */
	struct store_node *nodes;
	size_t n_nodes;
	struct mem_table live, done;
	struct transition *events; /* by number */
	size_t n_events, cap_events;
	struct store_task *tasks; /* by id, as are the others by their keys; texts are owned */
	size_t n_tasks;
	struct store_link *links;
	size_t n_links;
	struct store_doc *docs;
	size_t n_docs;
	struct store_command *commands;
	size_t n_commands;
	struct store_command_item *items;
	size_t n_items;
	struct store_alert *alerts; /* by id */
	size_t n_alerts;
	struct store_outcome *outcomes;
	size_t n_outcomes;
	struct store_range *ranges; /* by number */
	size_t n_ranges;
	struct store_gap *gaps;
	size_t n_gaps;
	struct store_stat *stats; /* by task, day, state, bucket */
	size_t n_stats;
};

struct mem_disk *mem_disk_new(void);
struct mem_disk *mem_disk_copy(const struct mem_disk *d);
void mem_disk_unref(struct mem_disk *d); /* NULL is fine */
/* A checked batch; cannot fail. */
void mem_disk_write(struct mem_disk *d, const struct store_batch *b);
void mem_disk_add_gap(struct mem_disk *d, const struct store_gap *g, uint64_t oldest);
/* NULL: there is none. */
const char *mem_disk_find_data(const struct mem_disk *d, uint64_t last_number, uint32_t generation,
                               enum inst_data kind);
void mem_disk_save_outcomes(struct mem_disk *d, const struct store_outcome *o, size_t n,
                            uint64_t upto_number);
size_t mem_disk_retain(struct mem_disk *d, int64_t before_us, size_t rows_max, bool dry_run);
size_t mem_disk_drop_stats(struct mem_disk *d, int32_t day, size_t rows_max);

#endif
