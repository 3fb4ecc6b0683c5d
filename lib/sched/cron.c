#include "sched/cron.h"

#include "util/err.h"

int cron_parse(const char *text, const char *name, struct cron **ret_cron, struct err *err)
{
	(void)name;
	(void)ret_cron;
	return err_set(err, E_UNSUPPORTED, "cron %s", text);
}

void cron_free(struct cron *c)
{
	(void)c;
}

const char *cron_text(const struct cron *c)
{
	(void)c;
	return "";
}

int64_t cron_next(const struct cron *c, const struct tz *tz, int64_t t)
{
	(void)c;
	(void)tz;
	(void)t;
	return PLAN_NEVER;
}

int64_t cron_prev(const struct cron *c, const struct tz *tz, int64_t t)
{
	(void)c;
	(void)tz;
	(void)t;
	return PLAN_BEFORE;
}

enum cycle_unit cron_unit(const struct cron *c)
{
	(void)c;
	return CU_FIRE;
}
