/* The rows of the ledger, of its copies and of a save point at the definition that they belong to:
 * one place says which members that are. */
#include "store/task_row.h"

#include "sched/label.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "store/store.h"

void task_row_words(struct store_task *row, const struct task *def)
{
	row->name = def->name;
	row->type = def->type;
	row->owner = def->owner;
	row->title = def->title;
	row->workflow_title = def->workflow_title;
	row->zone = tz_name(plan_tz(def->plan));
	row->grain = (uint8_t)label_grain(def->plan);
}
