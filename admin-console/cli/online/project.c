/* Projects: which are trusted, and said to be so or not. */
#include "admin-console/cli/online/ask.h"

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
