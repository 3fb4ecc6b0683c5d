/* What it costs to choose a broker by a task's own expression: all brokers are reckoned once for
 * each job. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched/rank.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"

enum { BROKERS = 1000, TURNS = 2000 };

static const char *const groups[] = { "etl", "web", NULL };
static struct rank_load loads[BROKERS];
static char names[BROKERS][16];

static size_t choose(const struct expr *e)
{
	struct rank best = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < BROKERS; i++) {
		struct rank_broker b = { names[i], groups, &loads[i], (int32_t)(i % 7) };
		struct rank rank = rank_of(e, &b);
		if (i && !rank_before(&rank, &best))
			continue;
		best = rank;
		at = i;
	}
	return at;
}

static void measure(const char *what, const char *text)
{
	struct expr_wrong wrong;
	struct expr *e;
	size_t sum = 0;

	CHECK(rank_read(text, &e, &wrong) == 0);
	int64_t began = clock_mono_us(&clock_machine);
	for (int i = 0; i < TURNS; i++) {
		loads[i % BROKERS].cpu_permille++;
		sum += choose(e);
	}
	double us = (double)(clock_mono_us(&clock_machine) - began);
	printf("%-28s %6.1f us for one of %d brokers, %5.1f ns a broker (%zu)\n", what, us / TURNS,
	       BROKERS, us * 1000 / TURNS / BROKERS, sum);
	free(e);
}

int main(void)
{
	struct buf most;

	buf_init(&most);
	for (size_t i = 0; i < BROKERS; i++) {
		snprintf(names[i], sizeof names[i], "b%zu", i);
		loads[i] = (struct rank_load){ .is_told = true,
			                       .slots = 16,
			                       .cpu_permille = (uint32_t)(i * 37 % 1000) };
	}
	for (int i = 0; i < 31; i++)
		buf_puts(&most, "cpu+");
	buf_puts(&most, "cpu");
	measure("running / slots + cpu", "running / slots + cpu");
	measure("a group", "\"etl\" in groups ? cpu : 10 + cpu");
	measure("the longest (63 steps)", buf_str(&most));
	buf_done(&most);
	return 0;
}
