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
#include "util/mask.h"

enum { PASSWORD_MAX = 4097 };

static void check_extra(struct asked *q, const struct opt *o, const char *arg,
                        struct argp_state *state)
{
	(void)q;
	(void)o;
	if (*arg != '\0' && (*arg == '=' || !strchr(arg, '=')))
		argp_error(state, "--extra wants KEY=VALUE, not '%s'", arg);
}

void check_from(struct asked *q, const struct opt *o, const char *arg, struct argp_state *state)
{
	(void)q;
	if (!strchr(arg, ':') || *arg == ':')
		argp_error(state, "--%s wants FROM:PATH or FROM:PATH#KEY, not '%s'", o->name, arg);
}

static void check_secret_from(struct asked *q, const struct opt *o, const char *arg,
                              struct argp_state *state)
{
	const char *from = strchr(arg, '=');

	(void)q;
	(void)o;
	if (!from || from == arg || !strchr(from, ':') || from[1] == ':')
		argp_error(state,
		           "--secret-from wants NAME=FROM:PATH or NAME=FROM:PATH#KEY, not "
		           "'%s'",
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
	{ "secret", 0, "NAME",
	  "a secret besides the password: ask for it, or read it from a pipe" },
	{ "secret-file", 0, "FILE", "with --secret: it is the file's first line" },
	{ "secret-from", 0, "NAME=FROM:PATH[#KEY]",
	  "a secret that is kept outside, as --password-from; again for more", TAKE_PAIR, "secrets",
	  .check = check_secret_from },
	{ "no-secret", 0, "NAME", "it has none of that name any more; again for more", TAKE_ITEM,
	  "no_secrets" },
	{ 0 },
};

/* --- list --- */

static void cell_where(const cJSON *s, const char *key, struct buf *out)
{
	(void)key;
	buf_puts(out, text_of(s, "host"));
	if (strcmp(text_of(s, "port"), "0") != 0)
		buf_printf(out, ":%s", text_of(s, "port"));
	const char *database = json_text(s, "database");

	if (database) /* of SQLite a path, which begins with its own */
		buf_printf(out, "%s%s", *database == '/' ? "" : "/", database);
}

static void cell_password(const cJSON *s, const char *key, struct buf *out)
{
	const char *from = json_text(json_get(s, "password_from"), "from");

	buf_puts(out, from ? from : json_true(s, key) ? "kept" : "none");
}

static void cell_secrets(const cJSON *s, const char *key, struct buf *out)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, json_get(s, key)) {
		const char *from = json_text(json_get(v, "from"), "from");
		buf_printf(out, "%s%s%s%s", out->len ? " " : "", text_of(v, "name"),
		           from ? "=" : "", from ? from : "");
	}
	if (out->len == 0)
		buf_puts(out, "none");
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
	{ "Secrets", "secrets", cell_secrets },
	{ ">At a time", "concurrency", cell_limit },
	{ "Projects", "projects", cell_projects },
	{ 0 },
};

const struct verb verb_target_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/servers",
	                               .member = "servers", .columns = columns };

/* --- changes --- */

/* The file's first line. A line on stderr when it cannot be had. */
static int password_of_file(const char *path, char *ret, size_t size)
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
cJSON *secret_ref(const char *arg)
{
	char *from = mem_str(arg), *path = strchr(from, ':'), *key;
	cJSON *ref = cJSON_CreateObject();

	*path++ = '\0';
	key = strchr(path, '#');
	if (key)
		*key++ = '\0';
	cJSON_AddStringToObject(ref, "from", from);
	cJSON_AddStringToObject(ref, "path", path);
	if (key)
		cJSON_AddStringToObject(ref, "key", key);
	free(from);
	return ref;
}

/* Its value, from a file or asked for, into `to` as `name`. */
int secret_put(cJSON *to, const char *name, const char *file, const char *label)
{
	char value[PASSWORD_MAX] = "";
	int code = CLI_OK;

	if (file)
		code = password_of_file(file, value, sizeof value);
	else
		password_ask(label, value, sizeof value);
	if (code == CLI_OK && value[0] == '\0')
		code = cli_fail(CLI_USAGE, "no %s",
		                strcmp(name, "password") == 0 ? name : "secret");
	if (code == CLI_OK && strlen(value) < MASK_MIN)
		fprintf(stderr,
		        "sirdar: the %s has less than %d bytes: logs of jobs will not hide it\n",
		        strcmp(name, "password") == 0 ? name : "secret", MASK_MIN);
	if (code == CLI_OK)
		cJSON_AddStringToObject(to, name, value);
	explicit_bzero(value, sizeof value);
	return code;
}

static int password_put(struct asked *q)
{
	if (given(q, "no-password"))
		body_text(q, "password", "");
	if (given(q, "password-from"))
		cJSON_AddItemToObject(q->body, "password", secret_ref(given(q, "password-from")));
	else if (given(q, "password-file") || given(q, "password"))
		return secret_put(q->body, "password", given(q, "password-file"), "Password");
	return CLI_OK;
}

/* Members of `secrets` are texts from the command line yet: NAME=FROM:PATH#KEY. */
static int secrets_put(struct asked *q)
{
	cJSON *given_from = cJSON_DetachItemFromObject(q->body, "secrets");
	cJSON *gone = cJSON_DetachItemFromObject(q->body, "no_secrets");
	cJSON *all = cJSON_CreateObject();
	const cJSON *v;
	int code = CLI_OK;

	cJSON_ArrayForEach(v, gone)
		cJSON_AddStringToObject(all, v->valuestring, "");
	cJSON_ArrayForEach(v, given_from)
		cJSON_AddItemToObject(all, v->string, secret_ref(v->valuestring));
	cJSON_Delete(gone);
	cJSON_Delete(given_from);
	if (given(q, "secret"))
		code = secret_put(all, given(q, "secret"), given(q, "secret-file"), "Secret");
	else if (given(q, "secret-file"))
		code = cli_fail(CLI_USAGE, "--secret-file wants --secret NAME besides");
	if (all->child)
		cJSON_AddItemToObject(q->body, "secrets", all);
	else
		cJSON_Delete(all);
	return code;
}

static int target_put(struct online *o, struct asked *q)
{
	int code = password_put(q);

	(void)o;
	return code == CLI_OK ? secrets_put(q) : code;
}

const struct verb verb_target_set = {
	command_ask, options, 1, 1, .call = "server-set", .words = "server", .prepare = target_put
};
const struct verb verb_target_remove = { command_ask,      NULL, 1, 1, .call = "server-remove",
	                                 .words = "server" };
const struct verb verb_target_rekey = { command_ask, .most = WORDS_NONE, .call = "server-rekey" };

/* --- documents of targets (documents/targets.h) --- */

static const cJSON *server_of(const cJSON *servers, const char *name)
{
	const cJSON *s;

	cJSON_ArrayForEach(s, json_get(servers, "servers"))
		if (strcmp(text_of(s, "server"), name) == 0)
			return s;
	return NULL;
}

static int targets_set(struct online *o, const cJSON *wanted, bool with_password)
{
	cJSON *body = cJSON_CreateObject(), *args = cJSON_Duplicate(wanted, true), *answer = NULL;
	char password[PASSWORD_MAX] = "", request_id[33];
	int code = CLI_OK;

	cJSON_DeleteItemFromObject(args, "password_file");
	if (with_password)
		code = password_of_file(text_of(wanted, "password_file"), password,
		                        sizeof password);
	if (code == CLI_OK && with_password)
		cJSON_AddStringToObject(args, "password", password);
	explicit_bzero(password, sizeof password);
	request_id_new(request_id);
	cJSON_AddStringToObject(body, "kind", "server-set");
	cJSON_AddItemToObject(body, "args", args);
	cJSON_AddStringToObject(body, "request_id", request_id);
	if (code == CLI_OK)
		code = online_call(o, "POST", "/api/v1/commands", body, &answer);
	cJSON_Delete(answer);
	cJSON_Delete(body);
	return code;
}

static int send_one(struct online *o, const struct sent_targets *s, const cJSON *is,
                    const cJSON *wanted)
{
	bool with_password = false;
	cJSON *change = target_change(is, wanted, s->again, &with_password);
	bool same = strcmp(text_of(change, "change"), "same") == 0;

	cJSON_AddItemToArray(s->changes, change);
	return s->dry_run || same ? CLI_OK : targets_set(o, wanted, with_password);
}

int targets_send(struct online *o, const struct sent_targets *s)
{
	cJSON *servers = NULL;
	const cJSON *wanted;
	int code = online_call(o, "GET", "/api/v1/servers", NULL, &servers);

	cJSON_ArrayForEach(wanted, s->list)
		if (code == CLI_OK)
			code = send_one(o, s, server_of(servers, text_of(wanted, "server")),
			                wanted);
	cJSON_Delete(servers);
	return code;
}

/* --- a test --- */

static const struct opt test_options[] = {
	{ "project", 'p', "PROJECT", "as a job of this project would", TAKE_TEXT, "project" },
	{ "broker", 0, "BROKER", "by this broker", TAKE_TEXT, "broker" },
	{ "group", 0, "GROUP", "by a broker of this group", TAKE_TEXT, "group" },
	{ 0 },
};

/* Of outcomes that are another's fault than the target's: what it is. */
static int test_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	const cJSON *test = json_get(answer, "test");
	const char *outcome = text_of(test, "outcome"), *broker = json_text(test, "broker");

	(void)o;
	printf("%s: %s%s%s%s%s", q->words.items[0], outcome, broker ? " from " : "",
	       broker ? broker : "", text_of(test, "text")[0] ? ": " : "", text_of(test, "text"));
	if (strcmp(outcome, "connected") != 0) {
		putchar('\n');
		return CLI_REFUSED;
	}
	printf(" (%s ms)\n", text_of(test, "took_ms"));
	return CLI_OK;
}

const struct verb verb_target_test = {
	ask, test_options, 1, 1, .call = "POST /api/v1/servers/{}/test", .show = test_show
};
