/* sirdar cron next */
#include "admin-console/cli/base/cli.h"

#include "sched/cron.h"
#include "sched/instant.h"
#include "sched/tz.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

#include <errno.h>
#include <stdlib.h>

enum { COUNT_MAX = 100000 };

struct question {
	const char *expr, *zone, *from;
	long count;
};

static const struct argp_option options[] = {
	{ "tz", 'z', "ZONE", 0, "time zone, default UTC", 0 },
	{ "from", 'f', "T", 0, "times after this; default now", 0 },
	{ "count", 'n', "N", 0, "how many, default 5", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct question *q = state->input;
	char *end;

	switch (key) {
	case 'z':
		q->zone = arg;
		return 0;
	case 'f':
		q->from = arg;
		return 0;
	case 'n':
		q->count = strtol(arg, &end, 10);
		if (*end || end == arg || q->count < 0 || q->count > COUNT_MAX)
			argp_error(state, "--count is '%s', want 0..%d", arg, COUNT_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (q->expr)
			argp_error(state, "one expression, in quotes: \"%s %s ...\"", q->expr, arg);
		q->expr = arg;
		return 0;
	case ARGP_KEY_END:
		if (!q->expr)
			argp_error(state, "which expression?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void answer(const struct cli *cli, const struct question *q, const struct cron *cron,
                   const struct tz *tz, int64_t t, struct buf *out)
{
	char text[INSTANT_TEXT_MAX];

	if (cli->json)
		put_open(out, NULL, '[');
	for (long i = 0; i < q->count; i++) {
		t = cron_next(cron, tz, t);
		if (t == PLAN_NEVER)
			break;
		instant_print(t, text);
		if (cli->json)
			put_text(out, NULL, text);
		else
			buf_printf(out, "%s\n", text);
	}
	if (cli->json)
		put_close(out, ']');
}

int cmd_cron_next(struct cli *cli, int argc, char **argv)
{
	const struct argp own = { .options = options, .parser = parse };
	struct question q = { .zone = "UTC", .count = 5 };
	struct instant from = { .t = clock_wall_us(&clock_machine) / 1000000 };
	struct cron *cron;
	struct err err = { 0 };
	struct buf out;

	cli_parse(cli, &own, argc, argv, &q);
	const struct tz *tz = cli_zone(q.zone);
	if (!tz)
		return CLI_REFUSED;
	if (q.from && !instant_parse(q.from, tz, &from))
		return cli_fail(CLI_USAGE,
		                "--from is '%s', want 2026-03-01, \"2026-03-01 02:30\" "
		                "or 2026-03-01T02:30:00Z",
		                q.from);
	if (cron_parse(q.expr, NULL, &cron, &err) < 0)
		return cli_fail(CLI_REFUSED, "%s", err.text);
	buf_init(&out);
	answer(cli, &q, cron, tz, from.t, &out);
	int code = cli_print(&out);
	buf_done(&out);
	cron_free(cron);
	return code;
}
