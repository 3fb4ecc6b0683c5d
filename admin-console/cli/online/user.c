/* People: who may sign in, and what they may do. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/online/ask.h"
#include "util/buf.h"
#include "util/json_in.h"

static const struct opt options[] = {
	{ "role", 0, "ROLE", "viewer, developer, operator, admin or none", TAKE_TEXT, "role" },
	{ "project", 'p', "PROJECT", "may change this one; again for more, * for all, '' for none",
	  TAKE_ITEMS, "projects" },
	{ "right", 0, "RIGHT", "backfill, force-success, unsafe; again for more, '' for none",
	  TAKE_ITEMS, "rights" },
	{ "full-name", 0, "TEXT", "as people call him", TAKE_TEXT, "full_name" },
	{ "mail", 0, "ADDRESS", "where alerts go", TAKE_TEXT, "mail" },
	{ "phone", 0, "NUMBER", "for people on call", TAKE_TEXT, "phone" },
	{ "chat", 0, "TYPE:CHANNEL", "where the owner of a task is told besides", TAKE_TEXT,
	  "chat" },
	{ "disable", 0, NULL, "may not sign in; sessions end", TAKE_TRUE, "disabled" },
	{ "enable", 0, NULL, "may again", TAKE_FALSE, "disabled" },
	{ "password", 0, NULL, "ask for a new password; sessions and tokens end" },
	{ "source", 0, "local|ldap|oidc", "who says that it is he; sessions end", TAKE_TEXT,
	  "source" },
	{ 0 },
};

static void cell_signs_in(const cJSON *user, const char *key, struct buf *out)
{
	(void)key;
	buf_puts(out, json_true(user, "disabled")        ? "disabled"
	              : json_true(user, "second_factor") ? "yes, with a second factor"
	              : json_true(user, "has_password")  ? "yes"
	                                                 : "no password");
}

static const struct column columns[] = {
	{ "User", "user" },
	{ "Role", "role" },
	{ "Projects", "projects", cell_list },
	{ "Rights", "rights", cell_list },
	{ "Name", "full_name" },
	{ "Mail", "mail" },
	{ "Signs in", NULL, cell_signs_in },
	{ "Groups", "groups", cell_list, .wide = true },
	{ "Phone", "phone", .wide = true },
	{ "From", "source", .wide = true },
	{ "Changed", "changed", cell_time, .wide = true },
	{ "By", "changed_by", .wide = true },
	{ 0 },
};

const struct verb verb_user_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/users",
	                             .member = "users", .columns = columns };

/* --- changes --- */

/* Asked twice of a terminal's user, once of a script. */
static int password_new(char *ret, size_t size)
{
	char again[520] = "";
	int code = CLI_OK;

	if (!password_ask("New password", ret, size))
		return cli_fail(CLI_USAGE, "no password");
	if (isatty(STDIN_FILENO) &&
	    (!password_ask("Once more", again, sizeof again) || strcmp(again, ret) != 0))
		code = cli_fail(CLI_USAGE, "these are two passwords");
	explicit_bzero(again, sizeof again);
	return code;
}

/* --password: asked for. */
static int password_put(struct online *o, struct asked *q)
{
	char password[520] = "";
	int code = CLI_OK;

	(void)o;
	if (!given(q, "password"))
		return CLI_OK;
	code = password_new(password, sizeof password);
	if (code == CLI_OK)
		body_text(q, "password", password);
	explicit_bzero(password, sizeof password);
	return code;
}

const struct verb verb_user_set = {
	ask, options, 1, 1, .call = "POST /api/v1/users", .words = "user", .prepare = password_put
};
const struct verb verb_user_totp_reset = { ask, NULL, 1, 1,
	                                   .call = "DELETE /api/v1/users/{}/totp" };
const struct verb verb_user_remove = { ask, NULL, 1, 1, .call = "DELETE /api/v1/users/{}" };

static int passwords_put(struct online *o, struct asked *q)
{
	char old[520] = "", password[520] = "";
	int code = CLI_OK;

	if (!password_ask("Present password", old, sizeof old))
		code = cli_fail(CLI_USAGE, "no password");
	if (code == CLI_OK)
		code = password_new(password, sizeof password);
	if (code == CLI_OK)
		code = online_session(o, old);
	if (code == CLI_OK) {
		body_text(q, "old", old);
		body_text(q, "new", password);
	}
	explicit_bzero(old, sizeof old);
	explicit_bzero(password, sizeof password);
	return code;
}

/* Answers nothing, to programs neither. */
static int passwd(struct asked *q)
{
	struct online o = { 0 };
	cJSON *answer = NULL;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = passwords_put(&o, q);
	if (code == CLI_OK)
		code = online_call(&o, "POST", "/api/v1/password", q->body, &answer);
	if (code == CLI_OK)
		fputs("sirdar: your tokens and your other sessions have ended; `sirdar login` "
		      "makes a token\n",
		      stderr);
	cJSON_Delete(answer);
	online_close(&o);
	return code;
}

const struct verb verb_passwd = { passwd, .most = WORDS_NONE };
