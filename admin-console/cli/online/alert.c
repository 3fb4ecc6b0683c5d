/* Alerts and silences: who was told of what, and who is not to be. */
#include <stdio.h>
#include <stdlib.h>

#include "admin-console/cli/online/ask.h"
#include "admin-console/cli/online/told.h"
#include "sched/when.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/json_in.h"

/* --- alerts -------------------------------------------------------------------------- */

static const struct opt alert_options[] = {
	{ "state", 's', "STATE", "open or ended", TAKE_QUERY, "state" },
	{ "kind", 0, "WORD", "failed, late, broker_lost ...", TAKE_QUERY, "kind" },
	{ "project", 'p', "PROJECT", "only of this one", TAKE_QUERY, "project" },
	{ "workflow", 0, "PROJECT/WORKFLOW", "only of this one", TAKE_QUERY, "workflow" },
	{ "since", 'f', "T", "those that began then or later", TAKE_QUERY, "since" },
	{ "unacknowledged", 0, NULL, "only those that nobody has acknowledged", TAKE_QUERY,
	  "acknowledged", "false" },
	{ "limit", 'n', "N", "rows, default 50", TAKE_QUERY, "limit", "50" },
	{ 0 },
};

/* "mail:me@example.org sent, webhook:team waiting (500: no)" */
static void cell_told(const cJSON *alert, const char *key, struct buf *out)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, json_get(alert, key)) {
		buf_printf(out, "%s%s %s", out->len ? ", " : "", text_of(v, "to"),
		           text_of(v, "state"));
		if (*text_of(v, "error") != '\0')
			buf_printf(out, " (%.60s)", text_of(v, "error"));
	}
}

static const struct column alert_columns[] = {
	{ ">No.", "id" },
	{ "Since", "since", cell_time },
	{ "Severity", "severity" },
	{ "Kind", "kind" },
	{ "Subject", "subject" },
	{ "Run date", "run_date", cell_label },
	{ "State", "state" },
	{ "Acknowledged", "acknowledged.by" },
	{ "Told", "told", cell_told },
	{ 0 },
};

/* Nobody is told of anything while no notifier is there: said beside the list. */
static int alerts_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	cJSON *channels = NULL;

	rows_show(q->verb->columns, json_get(answer, "items"));
	if (online_get(o, "/api/v1/channels", &channels) == CLI_OK)
		say_alone(channels);
	cJSON_Delete(channels);
	return CLI_OK;
}

const struct verb verb_alert_list = { ask,
	                              alert_options,
	                              .call = "GET /api/v1/alerts?order=desc",
	                              .member = "items",
	                              .columns = alert_columns,
	                              .show = alerts_show };

static int alert_ack(struct asked *q)
{
	return ask_each(q, "acknowledged");
}

static const struct opt ack_options[] = {
	{ "note", 0, "TEXT", "what you know of it", TAKE_TEXT, "note" },
	{ 0 },
};

const struct verb verb_alert_ack = { alert_ack, ack_options, 1, 1000,
	                             .call = "POST /api/v1/alerts/{}/acknowledge" };

/* --- silences ------------------------------------------------------------------------ */

/* "2h" in seconds; -1: it is none. */
static long span_of(const char *text)
{
	static const struct {
		char unit;
		long seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *rest = NULL;
	long n = strtol(text, &rest, 10);

	for (size_t i = 0; rest > text && n > 0 && n < 1000000 && i < 4; i++)
		if (rest[0] == units[i].unit && rest[1] == '\0')
			return n * units[i].seconds;
	return -1;
}

static void check_for(struct asked *q, const struct opt *o, const char *arg,
                      struct argp_state *state)
{
	(void)q;
	(void)o;
	if (span_of(arg) < 0)
		argp_error(state, "--for %s: want a number and s, m, h or d", arg);
}

static const struct opt silence_options[] = {
	{ "project", 'p', "PROJECT", "of all in it", TAKE_TEXT, "project" },
	{ "workflow", 0, "PROJECT/WORKFLOW", "of this one", TAKE_TEXT, "workflow" },
	{ "task", 0, "PROJECT/WORKFLOW/TASK", "of this one", TAKE_TEXT, "task" },
	{ "kind", 0, "WORD", "only failed, late, broker_lost ...", TAKE_TEXT, "kind" },
	{ "from", 'f', "T", "from then on, default now", TAKE_TEXT, "from" },
	{ "until", 0, "T", "until then", TAKE_TEXT, "until" },
	{ "for", 0, "TIME", "for so long: 90s, 30m, 2h, 7d", .check = check_for },
	{ "reason", 0, "TEXT", "what others read who hear nothing", TAKE_TEXT, "reason" },
	{ 0 },
};

static const struct opt silences_options[] = {
	{ "all", 'a', NULL, "also those that are over", TAKE_QUERY, "all", "1" },
	{ 0 },
};

static void cell_of(const cJSON *silence, const char *key, struct buf *out)
{
	static const char *const keys[] = { "task", "workflow", "project" };

	(void)key;
	for (size_t i = 0; i < sizeof keys / sizeof *keys && out->len == 0; i++)
		buf_puts(out, text_of(silence, keys[i]));
}

static const struct column silence_columns[] = {
	{ ">No.", "id" },   { "State", "state" },          { "Of", NULL, cell_of },
	{ "Kind", "kind" }, { "From", "from", cell_time }, { "Until", "until", cell_time },
	{ "By", "by" },     { "Reason", "reason" },        { 0 },
};

const struct verb verb_silence_list = { ask,
	                                silences_options,
	                                .most = WORDS_NONE,
	                                .call = "GET /api/v1/silences",
	                                .member = "silences",
	                                .columns = silence_columns };

static int until_make(struct online *o, struct asked *q)
{
	char until[WHEN_TEXT];

	(void)o;
	if ((given(q, "until") != NULL) == (given(q, "for") != NULL))
		return cli_fail(CLI_USAGE, "sirdar silence add wants one of --until and --for");
	if (given(q, "for")) {
		int64_t now = clock_wall_us(&clock_machine) / US_PER_S;

		when_print(now + span_of(given(q, "for")), until);
		body_text(q, "until", until);
	}
	return CLI_OK;
}

static int silence_told(struct online *o, const struct asked *q, const cJSON *answer)
{
	(void)o;
	printf("silence %s until %s\n", text_of(answer, "command"), text_of(q->body, "until"));
	return CLI_OK;
}

const struct verb verb_silence_add = { ask, silence_options, .call = "POST /api/v1/silences",
	                               .prepare = until_make, .show = silence_told };

static int silence_remove(struct asked *q)
{
	return ask_each(q, "ended");
}

const struct verb verb_silence_remove = { silence_remove, NULL, 1, 1000,
	                                  .call = "DELETE /api/v1/silences/{}" };
