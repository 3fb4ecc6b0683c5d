#include "baseserver/command/progress.h"

static uint64_t hash_of(const void *owner, uint32_t at)
{
	const struct progress *p = owner;

	return inst_key_hash(((const struct progress_item *)slab_at(&p->items, at))->key);
}

void progress_init(struct progress *p)
{
	slab_init(&p->items, sizeof(struct progress_item));
	index_init(&p->by_key, hash_of, p);
}

void progress_done(struct progress *p)
{
	index_done(&p->by_key);
	slab_done(&p->items);
}

static uint32_t command_progress_find(const struct progress *p, struct inst_key key)
{
	size_t where;
	uint32_t at = index_first(&p->by_key, inst_key_hash(key), &where);

	while (at != INDEX_NONE) {
		const struct progress_item *i = slab_at(&p->items, at);
		if (inst_key_eq(i->key, key))
			return at;
		at = index_next(&p->by_key, &where);
	}
	return INDEX_NONE;
}

void progress_set(struct progress *p, struct inst_key key, uint32_t permille)
{
	uint32_t at = command_progress_find(p, key);
	bool is_new = at == INDEX_NONE;

	if (is_new)
		at = slab_take(&p->items);
	struct progress_item *i = slab_at(&p->items, at);
	*i = (struct progress_item){ key, permille < 1000 ? permille : 1000 };
	if (is_new)
		index_add(&p->by_key, at);
}

void progress_fold(struct progress *p, const struct transition *tr)
{
	if (p->items.len == 0 || tr->kind != TK_INSTANCE ||
	    (state_holds_slot((enum state)tr->inst.state) && tr->event != EV_GRANT))
		return;
	uint32_t at = command_progress_find(p, tr->inst.key);
	if (at == INDEX_NONE)
		return;
	index_remove(&p->by_key, at);
	slab_give(&p->items, at);
}

const struct progress_item *progress_find(const struct progress *p, struct inst_key key)
{
	uint32_t at = p->items.len ? command_progress_find(p, key) : INDEX_NONE;

	return at == INDEX_NONE ? NULL : slab_at(&p->items, at);
}
