/* Sessions: where people are signed in on the web server that is asked, and the end of that. */
#include <stdio.h>

#include "admin-console/cli/online/ask.h"
#include "util/buf.h"

static const struct opt list_options[] = {
	{ "user", 0, "NAME", "this person's; default your own", TAKE_QUERY, "user" },
	{ "all", 0, NULL, "everybody's", TAKE_QUERY, "all", "true" },
	{ 0 },
};

static const struct opt end_options[] = {
	{ "user", 0, "NAME", "all of this person" },
	{ "all", 0, NULL, "all your own" },
	{ 0 },
};

/* As the cgi named them of what they said of themselves. */
static const struct column columns[] = {
	{ "Id", "id" },
	{ "User", "user" },
	{ "Via", "via" },
	{ "Since", "since", cell_time },
	{ "Seen", "seen", cell_time },
	{ "Address", "address" },
	{ "Browser", "browser" },
	{ "System", "system" },
	{ 0 },
};

/* An id, --user and --all: one of them ends, one of the options at most narrows a list. */
static size_t session_said(const struct asked *q)
{
	return q->words.n + (given(q, "user") != NULL) + (given(q, "all") != NULL);
}

static int session_list(struct asked *q)
{
	return session_said(q) <= 1 ? ask(q) : usage(q->cli);
}

static int session_end(struct asked *q)
{
	const char *user = given(q, "user");
	struct online o = { 0 };
	cJSON *answer = NULL;
	struct buf path;

	if (session_said(q) != 1)
		return usage(q->cli);
	buf_init(&path);
	buf_puts(&path, user ? "/api/v1/users/" : "/api/v1/sessions");
	if (!user && word(q, 0))
		buf_puts(&path, "/");
	if (user || word(q, 0))
		path_part(&path, user ? user : word(q, 0));
	if (user)
		buf_puts(&path, "/sessions");
	int code = online_open(q->cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "DELETE", buf_str(&path), NULL, &answer);
	if (code == CLI_OK && q->cli->json)
		code = print_json(answer);
	else if (code == CLI_OK)
		printf("ended: %lld\n", number_of(answer, "ended"));
	cJSON_Delete(answer);
	buf_done(&path);
	online_close(&o);
	return code;
}

const struct verb verb_session_list = { session_list, list_options, .call = "GET /api/v1/sessions",
	                                .member = "sessions", .columns = columns };
const struct verb verb_session_end = { session_end, end_options, 0, WORDS_ANY };
