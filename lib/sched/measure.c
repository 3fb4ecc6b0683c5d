#include "sched/measure.h"

#include "util/check.h"

/* Below 16 us each value has its own bucket; from there 16 buckets a doubling. */
enum { SUB_BITS = 4, SUB = 1 << SUB_BITS };

int measure_bucket(int64_t us)
{
	if (us < SUB)
		return us < 0 ? 0 : (int)us;
	int top = 63 - __builtin_clzll((unsigned long long)us);
	CHECK(top >= SUB_BITS);
	return (top - SUB_BITS + 1) * SUB + (int)(us >> (top - SUB_BITS) & (SUB - 1));
}

int64_t measure_value(int bucket)
{
	CHECK(bucket >= 0 && bucket < MEASURE_BUCKETS);
	if (bucket < 2 * SUB)
		return bucket;
	int shift = bucket / SUB - 1;
	int64_t lo = (int64_t)(SUB + bucket % SUB) << shift;
	return lo + ((int64_t)1 << shift) / 2;
}

void measure_add(struct measure *m, int bucket, uint64_t count, int64_t sum_us)
{
	CHECK(bucket >= 0 && bucket < MEASURE_BUCKETS);
	m->counts[bucket] += count;
	m->n += count;
	m->sum_us += sum_us;
}

int64_t measure_percentile(const struct measure *m, unsigned permille)
{
	uint64_t want = (m->n * permille + 999) / 1000, seen = 0;

	CHECK(permille <= 1000);
	for (int i = 0; i < MEASURE_BUCKETS; i++) {
		seen += m->counts[i];
		if (seen && seen >= want)
			return measure_value(i);
	}
	return 0;
}

int64_t measure_mean(const struct measure *m)
{
	return m->n ? m->sum_us / (int64_t)m->n : 0;
}
