/* Statistics, counted again from the records: what is stored must be just that, whatever
 * crashed, failed or was repeated on the way. */
#include <inttypes.h>
#include <string.h>

#include "sim.h"
#include "store/store.h"

enum { DAYS = 3, DAY0 = (int)(WALL_BASE_US / SEC / 86400) - 1 };

struct ends {
	uint64_t n, ran;
	int64_t sum_us;
};
static struct ends ends[TASKS + 1][DAYS][ST_COUNT], stored[DAYS][ST_COUNT];

void stats_reset(void)
{
	memset(ends, 0, sizeof ends);
}

void stats_follow(const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	int64_t day = tr->at_us / SEC / 86400 - DAY0;
	bool ends_now = tr->to == ST_FAILED || state_final((enum state)tr->to);
	bool ran = tr->from != ST_NONE && state_holds_slot((enum state)tr->from) &&
	           (i->flags & IF_STARTED);

	if (i->key.part != 0 || !ends_now || tr->from == tr->to)
		return;
	if (tr->event >= EV_RESTORE_SUCC && tr->event <= EV_RESTORE_SKIPPED)
		return; /* that end was counted when it came */
	if (day < 0 || day >= DAYS) {
		break_invariant("S1", "an end at %" PRId64, tr->at_us);
		return;
	}
	struct ends *both[] = { &ends[i->key.task][day][tr->to], &ends[0][day][tr->to] };
	for (int k = 0; k < 2; k++) {
		both[k]->n++;
		both[k]->ran += ran;
		both[k]->sum_us += ran && i->ended_us > i->started_us ? i->ended_us - i->started_us
		                                                      : 0;
	}
}

static int take(void *ctx, const struct store_stat *s)
{
	struct ends *e = &stored[s->day - DAY0][s->state];

	(void)ctx;
	e->n += s->count;
	e->ran += s->bucket == STORE_STAT_UNRUN ? 0 : s->count;
	e->sum_us += s->sum_us;
	return 0;
}

void stats_check(struct store *s)
{
	for (uint32_t id = 0; id <= TASKS; id++) {
		memset(stored, 0, sizeof stored);
		if (store_load_stats(s, &(struct store_stat_days){ id, DAY0, DAY0 + DAYS - 1 },
		                     take, NULL, NULL) < 0)
			break_invariant("S1", "statistics do not load");
		for (int d = 0; d < DAYS; d++)
			for (int st = 0; st < ST_COUNT; st++) {
				const struct ends *a = &stored[d][st], *b = &ends[id][d][st];
				if (a->n != b->n || a->ran != b->ran || a->sum_us != b->sum_us)
					break_invariant("S1",
					                "task %u day %d: %" PRIu64
					                " ended as %s (%" PRIu64
					                " ran) are stored, the log has %" PRIu64
					                " (%" PRIu64 ")",
					                id, d, a->n, state_name((enum state)st),
					                a->ran, b->n, b->ran);
			}
	}
}
