#include "sched/rank.h"

#include <math.h>
#include <string.h>

enum { RUNNING, SLOTS, FREE, CPU, LOAD, MEMORY, DISK_FREE, NAME, GROUPS, NAMES };

static const struct expr_name names[NAMES] = {
	[RUNNING] = { "running", EXPR_NUMBER },     [SLOTS] = { "slots", EXPR_NUMBER },
	[FREE] = { "free", EXPR_NUMBER },           [CPU] = { "cpu", EXPR_NUMBER },
	[LOAD] = { "load", EXPR_NUMBER },           [MEMORY] = { "memory", EXPR_NUMBER },
	[DISK_FREE] = { "disk_free", EXPR_NUMBER }, [NAME] = { "name", EXPR_TEXT },
	[GROUPS] = { "groups", EXPR_TEXTS },
};

int rank_read(const char *text, struct expr **ret_expr, struct expr_wrong *ret_wrong)
{
	return expr_read(text, names, NAMES, ret_expr, ret_wrong);
}

static union expr_value permille(const struct rank_load *l, uint32_t n)
{
	return (union expr_value){ .number = l->is_told ? n / 1000.0 : NAN };
}

static double value_of(const struct expr *e, const struct rank_broker *b)
{
	const struct rank_load *l = b->load;
	double slots = l->is_told && l->slots ? l->slots : NAN;
	double left = slots - b->running;
	bool has_disk = l->is_told && l->disk_free_bytes != UINT64_MAX;
	const union expr_value values[NAMES] = {
		[RUNNING] = { .number = b->running },
		[SLOTS] = { .number = slots },
		[FREE] = { .number = left < 0 ? 0 : left },
		[CPU] = permille(l, l->cpu_permille),
		[LOAD] = permille(l, l->load_permille),
		[MEMORY] = permille(l, l->memory_permille),
		[DISK_FREE] = { .number = has_disk ? (double)l->disk_free_bytes : NAN },
		[NAME] = { .text = b->name },
		[GROUPS] = { .texts = b->groups },
	};

	return expr_number(e, values);
}

struct rank rank_of(const struct expr *e, const struct rank_broker *b)
{
	return (struct rank){ .value = value_of(e, b),
		              .running = b->running,
		              .load_permille = b->load->load_permille,
		              .name = b->name };
}

bool rank_before(const struct rank *a, const struct rank *b)
{
	if (isnan(a->value) != isnan(b->value))
		return isnan(b->value);
	if (!isnan(a->value) && a->value != b->value)
		return a->value < b->value;
	if (a->running != b->running)
		return a->running < b->running;
	if (a->load_permille != b->load_permille)
		return a->load_permille < b->load_permille;
	return strcmp(a->name, b->name) < 0;
}
