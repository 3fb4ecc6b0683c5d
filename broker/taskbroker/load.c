/* How busy this machine is, and whether work is welcome: from /proc, the settings, and what runs.
 *
 * The first reason found is the one told; load_measure() asks for states of the broker before
 * numbers. A threshold that was passed must be left by load_slack_percent before it counts as kept
 * again (threshold.h). A disk that cannot be asked counts as having room. Nothing here refuses
 * work: the server grants none while it is told why not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/taskbroker/broker.h"
#include "broker/taskbroker/threshold.h"
#include "util/check.h"
#include "util/fs.h"
#include "util/log.h"

uint32_t load_running(const struct broker *b)
{
	uint32_t n = b->running;

	for (const struct type *t = b->types; t; t = t->next)
		n += t->in_process;
	return n;
}

uint32_t load_slots(const struct broker *b)
{
	uint32_t n = 0;

	for (const struct type *t = b->types; t; t = t->next)
		n += lane_is_current(t) ? t->slots : 0;
	return n < b->settings->jobs_max ? n : (uint32_t)b->settings->jobs_max;
}

/* Thousandths of all processors' time since the last look that were not idle. A look that comes
 * too soon answers what the last one did. */
static uint32_t read_cpu(struct broker *b)
{
	enum { FIELDS = 8, IDLE = 3, IOWAIT = 4, TICKS_MIN = 10 };
	uint64_t all = 0, idle = 0;
	struct buf text;

	buf_init(&text);
	if (fs_read("/proc/stat", 1 << 20, &text, NULL) == 0 &&
	    strncmp(buf_str(&text), "cpu ", 4) == 0) {
		char *at = (char *)(uintptr_t)buf_str(&text) + 4;

		for (int i = 0; i < FIELDS; i++) {
			uint64_t ticks = strtoull(at, &at, 10);
			all += ticks;
			idle += i == IDLE || i == IOWAIT ? ticks : 0;
		}
	}
	buf_done(&text);
	CHECK(idle <= all);
	uint64_t span = all - b->cpu_all, busy = all - idle - b->cpu_busy;

	if (all < b->cpu_all + TICKS_MIN)
		return b->cpu_permille;
	if (b->cpu_all)
		b->cpu_permille = busy < span ? (uint32_t)(busy * 1000 / span) : 1000;
	b->cpu_all = all;
	b->cpu_busy = all - idle;
	return b->cpu_permille;
}

/* Load average of the last minute, as thousandths of one runnable a processor. */
static uint32_t read_load(void)
{
	double average[1];
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (getloadavg(average, 1) < 1 || n < 1)
		return 0;
	return (uint32_t)(average[0] * 1000.0 / (double)n);
}

static uint64_t read_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static void read_memory(struct load *ret)
{
	struct buf text;

	buf_init(&text);
	if (fs_read("/proc/meminfo", 65536, &text, NULL) == 0) {
		uint64_t total = read_field(buf_str(&text), "MemTotal:");

		ret->memory_free_bytes = read_field(buf_str(&text), "MemAvailable:");
		if (total)
			ret->memory_permille = (uint32_t)(1000 -
			                                  ret->memory_free_bytes * 1000 / total);
	}
	buf_done(&text);
}

static void judge_load(struct broker *b, struct load *ret)
{
	const struct param_taskbroker *p = b->settings;
	uint64_t slack = (uint64_t)p->load_slack_percent;
	uint64_t memory_max = p->memory_max_percent < 100 ? (uint64_t)p->memory_max_percent * 10
	                                                  : UINT32_MAX;
	bool cpu = threshold_passed(&b->is_over[LOAD_CPU], ret->load_permille,
	                            (uint64_t)p->load_max_percent * 10, slack, false);
	bool memory = threshold_passed(&b->is_over[LOAD_MEMORY], ret->memory_permille, memory_max,
	                               slack, false);
	bool left = threshold_passed(&b->is_over[LOAD_MEMORY_FREE], ret->memory_free_bytes,
	                             (uint64_t)p->memory_free_min_bytes, slack, true);
	bool disk = threshold_passed(&b->is_over[LOAD_DISK_FREE], ret->disk_free_bytes,
	                             (uint64_t)p->disk_free_min_bytes, slack, true);

#define NOT(cond, ...) \
	if (!ret->why_not[0] && (cond)) \
	snprintf(ret->why_not, sizeof ret->why_not, __VA_ARGS__)
	NOT(cpu, "load is %u %% of a processor each, load_max_percent is %" PRId64,
	    ret->load_permille / 10, p->load_max_percent);
	NOT(memory, "%u %% of memory is in use, memory_max_percent is %" PRId64,
	    ret->memory_permille / 10, p->memory_max_percent);
	NOT(left, "%" PRIu64 " bytes of memory are free, memory_free_min_bytes is %" PRId64,
	    ret->memory_free_bytes, p->memory_free_min_bytes);
	NOT(disk, "%" PRIu64 " bytes of disk are free, disk_free_min_bytes is %" PRId64,
	    ret->disk_free_bytes, p->disk_free_min_bytes);
	log_debug("broker.load", "accepts=%d cpu_permille=%u memory_permille=%u why=\"%s\"",
	          !ret->why_not[0], ret->cpu_permille, ret->memory_permille, ret->why_not);
}

void load_measure(struct broker *b, struct load *ret)
{
	const struct param_taskbroker *p = b->settings;
	unsigned long long disk = UINT64_MAX;

	memset(ret, 0, sizeof *ret);
	ret->cpu_permille = read_cpu(b);
	ret->load_permille = read_load();
	read_memory(ret);
	fs_free_bytes(b->state_dir, &disk, NULL);
	ret->disk_free_bytes = disk;
	NOT(b->is_stopping, "the broker stops");
	NOT(b->is_drained, "drained");
	NOT(b->keeper_down_us, "%s", b->keeper_why);
	NOT(!keeper_client_is_up(b->keeper), "no jobkeeper");
	NOT(load_running(b) >= (uint64_t)p->jobs_max, "%u jobs run, jobs_max is %" PRId64,
	    load_running(b), p->jobs_max);
	judge_load(b, ret);
#undef NOT
}
