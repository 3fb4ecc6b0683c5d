/* The order of lanes. A shelf holds them by priority as given and by effective due, because age
 * never changes the order of those with the same priority; which one comes first with age is found
 * among the first of each priority. */
#include "baseserver/sort/sorter_impl.h"
#include "util/check.h"

int64_t sorter__effective(const struct sorter *s, const struct lane *l)
{
	int64_t waited = s->now_us - l->key;
	int64_t effective = l->priority + (waited > 0 ? waited / AGE_STEP_US : 0);

	return effective < PRIORITY_MAX ? effective : PRIORITY_MAX;
}

bool sorter__goes_first(const struct sorter *s, const struct lane *a, const struct lane *b)
{
	int64_t x = sorter__effective(s, a), y = sorter__effective(s, b);

	if (x != y)
		return x > y;
	return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

void shelf__put(struct shelf *sh, struct lane *l)
{
	l->node.tie = l->tie;
	heap_set(&sh->lanes[l->priority], &l->node, l->key);
	sh->some |= 1u << l->priority;
}

void shelf__take(struct shelf *sh, struct lane *l)
{
	heap_remove(&sh->lanes[l->priority], &l->node);
	if (sh->lanes[l->priority].len == 0)
		sh->some &= ~(1u << l->priority);
}

struct lane *sorter__first_of(const struct sorter *s, const struct shelf *sh)
{
	struct lane *best = NULL;

	for (uint32_t some = sh->some; some; some &= some - 1) {
		struct lane *l = (struct lane *)heap_top(&sh->lanes[__builtin_ctz(some)]);
		CHECK(l); /* a bit of `some` is set while its heap has one */
		if (!best || sorter__goes_first(s, l, best))
			best = l;
	}
	return best;
}

int64_t shelf__oldest_us(const struct shelf *sh)
{
	int64_t oldest = 0;

	for (int p = 0; p <= PRIORITY_MAX; p++) {
		const struct lane *l = (const struct lane *)heap_top(&sh->lanes[p]);
		if (l && (oldest == 0 || l->key < oldest))
			oldest = l->key;
	}
	return oldest;
}

void shelf__done(struct shelf *sh)
{
	for (int p = 0; p <= PRIORITY_MAX; p++)
		heap_done(&sh->lanes[p]);
}
