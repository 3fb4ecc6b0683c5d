/* pack.h — definitions as the stream carries them: `row` of a TK_TASK record.
 *
 * An edit of very many tasks is few records, so that it fits into the ring whatever its size. All
 * of its records are published in one go.
 */
#ifndef BASESERVER_PACK_H
#define BASESERVER_PACK_H

#include <stddef.h>

#include "store/store.h"

struct task;

enum { PACK_TASKS_MAX = 256 };

struct task_pack {
	size_t n;
	struct packed_task {
		struct task *def; /* counted */
		struct store_task row;
	} items[];
};

struct task_pack *pack_new(size_t n);
void pack_free(struct task_pack *p); /* NULL is fine */

#endif
