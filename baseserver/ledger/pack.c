#include "baseserver/ledger/pack.h"

#include <stdlib.h>

#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

struct task_pack *pack_new(size_t n)
{
	struct task_pack *p = mem_new(sizeof *p + n * sizeof p->items[0]);

	CHECK(n <= PACK_TASKS_MAX);
	p->n = n;
	return p;
}

void pack_free(struct task_pack *p)
{
	for (size_t i = 0; p && i < p->n; i++)
		task_unref(p->items[i].def);
	free(p);
}
