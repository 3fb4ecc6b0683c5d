/* measure.h — how long things took, in buckets that can be added up.
 *
 * A duration falls into one of MEASURE_BUCKETS classes, sixteen to each doubling, so that
 * any value is known to 1 part in 32. Counts of buckets of several days, tasks or servers
 * are summed; percentiles come from the sums. Pure. Thread: any.
 */
#ifndef SCHED_MEASURE_H
#define SCHED_MEASURE_H
#include <stdint.h>

enum { MEASURE_BUCKETS = 960 };

/* The bucket of a duration in us; a negative one counts as 0. */
int measure_bucket(int64_t us);
/* The middle of a bucket, us. */
int64_t measure_value(int bucket);

/* Counts of one or many; `sum_us` exact. */
struct measure {
	uint64_t counts[MEASURE_BUCKETS];
	uint64_t n;
	int64_t sum_us;
};

void measure_add(struct measure *m, int bucket, uint64_t count, int64_t sum_us);
/* The duration that `permille` of all stay within, us; 0 when there is none. */
int64_t measure_percentile(const struct measure *m, unsigned permille);
int64_t measure_mean(const struct measure *m); /* us; 0 when there is none */

#endif
