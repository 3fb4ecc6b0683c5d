/* sirdar cron next */
#include "admin-console/cli/base/verb.h"

#include "sched/cron.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

#include <stdlib.h>

enum { COUNT_MAX = 100000 };

static void check_count(struct asked *q, const struct opt *o, const char *arg,
                        struct argp_state *state)
{
	char *end;
	long count = strtol(arg, &end, 10);

	(void)q;
	(void)o;
	if (*end || end == arg || count < 0 || count > COUNT_MAX)
		argp_error(state, "--count is '%s', want 0..%d", arg, COUNT_MAX);
}

static void cron_check(struct asked *q, struct argp_state *state)
{
	if (q->words.n > 1)
		argp_error(state, "one expression, in quotes: \"%s %s ...\"", word(q, 0),
		           word(q, 1));
}

/* False: times were asked for, and none comes. */
static bool cron_answer(const struct asked *q, const struct cron *cron, const struct tz *tz,
                        int64_t t, struct buf *out)
{
	bool comes = true;
	long count = strtol(given(q, "count"), NULL, 10);
	char text[WHEN_TEXT];

	if (q->cli->json)
		put_open(out, NULL, '[');
	for (long i = 0; i < count; i++) {
		t = cron_next(cron, tz, t);
		comes = i > 0 || t != PLAN_NEVER;
		if (t == PLAN_NEVER)
			break;
		when_print(t, text);
		if (q->cli->json)
			put_text(out, NULL, text);
		else
			buf_printf(out, "%s\n", text);
	}
	if (q->cli->json)
		put_close(out, ']');
	return comes;
}

static int cron_next_times(struct asked *q)
{
	struct when from;
	const struct tz *tz = cli_zone(given(q, "tz"));
	const char *said = given(q, "from");
	struct cron *cron;
	struct err err = { 0 };
	struct buf out;

	if (!tz)
		return CLI_REFUSED;
	if (!date_read(said, &from))
		return CLI_USAGE;
	if (cron_parse(word(q, 0), NULL, &cron, &err) < 0)
		return cli_fail(CLI_REFUSED, "%s", err.text);
	buf_init(&out);
	bool comes = cron_answer(q, cron, tz, when_instant(&from, tz, false) - 1, &out);
	int code = cli_print(&out);
	if (code == CLI_OK && !comes)
		code = cli_fail(CLI_REFUSED, "'%s' never comes from then on", word(q, 0));
	buf_done(&out);
	cron_free(cron);
	return code;
}

static const struct opt options[] = {
	{ "tz", 'z', "ZONE", "time zone, default UTC", .value = "UTC" },
	{ "from", 'f', "T", "times from here on; default now", .value = "now" },
	{ "count", 'n', "N", "how many, default 5", .value = "5", .check = check_count },
	{ 0 },
};

const struct verb verb_cron_next = { cron_next_times,    options, 1, WORDS_ANY, "which expression?",
	                             .check = cron_check };
