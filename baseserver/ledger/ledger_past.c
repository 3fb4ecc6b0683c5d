/* Rows of history, brought into the table to be changed, and out again if nothing came of it. */
#include "baseserver/ledger/ledger_impl.h"
#include "util/check.h"

int ledger__find_done(struct ledger *l, struct inst_key key, struct instance *ret)
{
	const struct ltask *t = ledger__task_of(l, key.task);

	/* Outcomes know part 0 only; other parts are few enough to be looked up. */
	if (key.part == 0 && (!t || !outcomes_find(&t->outcomes, key.run_date)))
		return E_NOT_FOUND;
	int r = ledger__row(l, key, ret);
	if (r == E_NOT_FOUND)
		r = ledger__fresh_row(l, key, ret);
	return r == 0 && ret->marks & EM_RANGE ? ledger__row_of_range(t, ret) : r;
}

int ledger__fetch(struct ledger *l, struct inst_key key, uint32_t *ret_index)
{
	struct instance was;

	if (table_find(&l->table, key, ret_index))
		return 0;
	int r = ledger__find_done(l, key, &was);
	if (r < 0)
		return r;
	CHECK(was.state != ST_NONE && inst_key_eq(was.key, key));
	struct entry *e = table_add(&l->table, key, ret_index);
	e->inst = was;
	e->inst.slot = *ret_index;
	e->inst.marks = EM_HISTORY | (was.marks & EM_RANGE);
	return 0;
}

void ledger__put_back(struct ledger *l, uint32_t index)
{
	uint8_t marks = table_at(&l->table, index)->inst.marks;

	if ((marks & (EM_HISTORY | EM_DIRTY | EM_FLIGHT)) == EM_HISTORY)
		table_remove(&l->table, index);
}
