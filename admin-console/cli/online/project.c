/* Projects: which are trusted, and said to be so or not; whether reading keeps to them. */
#include "admin-console/cli/online/ask.h"

#include <stdio.h>
#include <string.h>

#include "util/json_in.h"

static const struct opt options[] = {
	{ "message", 'm', "TEXT", "why, kept with the command", TAKE_TEXT, "message" },
	{ 0 },
};

static const struct column columns[] = {
	{ "Project", "project" },
	{ "Trusted", "trusted" },
	{ "Said by", "by" },
	{ ">Tasks", "tasks" },
	{ 0 },
};

/* Said where reading is bound: who finds less than they look for sees why. */
void reading_say(const cJSON *server)
{
	const char *reading = json_text(server, "reading");

	if (reading && strcmp(reading, "project") == 0)
		puts("reading is bound to projects: each sees their own (sirdar reading set)");
}

static int project_trust(struct asked *q)
{
	return ask_each(q, "is trusted");
}

static int project_untrust(struct asked *q)
{
	return ask_each(q, "is not trusted");
}

const struct verb verb_project_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/projects",
	                                .member = "projects", .columns = columns };
const struct verb verb_project_trust = { project_trust, options, 1, 100,
	                                 .call = "POST /api/v1/projects/{}/trust" };
const struct verb verb_project_untrust = { project_untrust, options, 1, 100,
	                                   .call = "POST /api/v1/projects/{}/untrust" };
const struct verb verb_reading_set = { command_ask, options, 1, 1, .words = "reading" };
