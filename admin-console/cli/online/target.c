/* Target servers: where jobs work, and what they need to get in. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/documents/targets.h"
#include "admin-console/cli/online/ask.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"

enum { PASSWORD_MAX = 4097 };

static void check_extra(struct asked *q, const struct opt *o, const char *arg,
                        struct argp_state *state)
{
	(void)q;
	(void)o;
	if (*arg != '\0' && (*arg == '=' || !strchr(arg, '=')))
		argp_error(state, "--extra wants KEY=VALUE, not '%s'", arg);
}

static void check_from(struct asked *q, const struct opt *o, const char *arg,
                       struct argp_state *state)
{
	(void)q;
	(void)o;
	if (!strchr(arg, ':') || *arg == ':')
		argp_error(state, "--password-from wants FROM:PATH or FROM:PATH#KEY, not '%s'",
		           arg);
}

static const struct opt options[] = {
	{ "kind", 0, "KIND", "mysql, mariadb, postgresql, sqlite, http, hive, presto, ssh or other",
	  TAKE_TEXT, "kind" },
	{ "host", 0, "HOST", "where it is; of http an address, of sqlite a file", TAKE_TEXT,
	  "host" },
	{ "port", 0, "PORT", "0: none", TAKE_NUMBER, "port", .check = check_number },
	{ "user", 0, "USER", "who signs in there", TAKE_TEXT, "user" },
	{ "database", 0, "NAME", "what is in use there", TAKE_TEXT, "database" },
	{ "extra", 0, "KEY=VALUE", "more; again for more, '' for none", TAKE_PAIR, "extra",
	  .check = check_extra },
	{ "concurrency", 0, "N", "instances that use it at a time, over all tasks; 0: no limit",
	  TAKE_NUMBER, "concurrency", .check = check_number },
	{ "project", 'p', "PROJECT", "may use it; again for more, * for all", TAKE_ITEMS,
	  "projects" },
	{ "password", 0, NULL, "ask for its password, or read it from a pipe" },
	{ "password-file", 0, "FILE", "the password is the file's first line" },
	{ "password-from", 0, "FROM:PATH[#KEY]",
	  "it is kept outside: vault:kv/data/name#key, file:PATH, env:NAME or exec:PATH",
	  .check = check_from },
	{ "no-password", 0, NULL, "it has none any more" },
	{ 0 },
};

/* --- list --- */

static void cell_where(const cJSON *s, const char *key, struct buf *out)
{
	(void)key;
	buf_puts(out, text_of(s, "host"));
	if (strcmp(text_of(s, "port"), "0") != 0)
		buf_printf(out, ":%s", text_of(s, "port"));
	if (json_text(s, "database"))
		buf_printf(out, "/%s", json_text(s, "database"));
}

static void cell_password(const cJSON *s, const char *key, struct buf *out)
{
	const char *from = json_text(json_get(s, "password_from"), "from");

	buf_puts(out, from ? from : json_true(s, key) ? "kept" : "none");
}

static void cell_limit(const cJSON *s, const char *key, struct buf *out)
{
	buf_puts(out, strcmp(text_of(s, key), "0") == 0 ? "any" : text_of(s, key));
}

static void cell_projects(const cJSON *s, const char *key, struct buf *out)
{
	cell_list(s, key, out);
	if (out->len == 0)
		buf_putc(out, '*');
}

static const struct column columns[] = {
	{ "Server", "server" },
	{ "Kind", "kind" },
	{ "Where", NULL, cell_where },
	{ "User", "user" },
	{ "Password", "has_password", cell_password },
	{ ">At a time", "concurrency", cell_limit },
	{ "Projects", "projects", cell_projects },
	{ 0 },
};

const struct verb verb_target_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/servers",
	                               .member = "servers", .columns = columns };

/* --- changes --- */

int password_of_file(const char *path, char *ret, size_t size)
{
	struct err err = { 0 };
	struct buf text;

	buf_init(&text);
	int r = fs_read_secret(path, size - 1, &text, &err);
	if (r == 0) {
		snprintf(ret, size, "%s", buf_str(&text));
		ret[strcspn(ret, "\r\n")] = '\0';
		explicit_bzero((char *)buf_at(&text), text.len);
	}
	buf_done(&text);
	return r < 0 ? cli_fail(CLI_USAGE, "%s", err.text) : CLI_OK;
}

/* Where it is kept, instead of the value. */
static void from_put(struct asked *q, const char *arg)
{
	char *from = mem_str(arg), *path = strchr(from, ':'), *key;

	*path++ = '\0';
	key = strchr(path, '#');
	if (key)
		*key++ = '\0';
	body_text(q, "password.from", from);
	body_text(q, "password.path", path);
	if (key)
		body_text(q, "password.key", key);
	free(from);
}

static int password_put(struct online *o, struct asked *q)
{
	char password[PASSWORD_MAX] = "";
	int code = CLI_OK;

	(void)o;
	if (given(q, "no-password"))
		body_text(q, "password", "");
	if (given(q, "password-from")) {
		from_put(q, given(q, "password-from"));
		return CLI_OK;
	}
	if (given(q, "password-file"))
		code = password_of_file(given(q, "password-file"), password, sizeof password);
	else if (!given(q, "password"))
		return CLI_OK;
	else if (!password_ask("Password", password, sizeof password))
		code = CLI_USAGE;
	if (code == CLI_OK && password[0] == '\0')
		code = cli_fail(CLI_USAGE, "no password");
	if (code == CLI_OK)
		body_text(q, "password", password);
	explicit_bzero(password, sizeof password);
	return code;
}

const struct verb verb_target_set = {
	command_ask, options, 1, 1, .call = "server-set", .words = "server", .prepare = password_put
};
const struct verb verb_target_remove = { command_ask,      NULL, 1, 1, .call = "server-remove",
	                                 .words = "server" };
const struct verb verb_target_rekey = { command_ask, .most = WORDS_NONE, .call = "server-rekey" };
