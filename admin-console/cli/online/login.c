/* sirdar login: a password becomes a token, kept in a file of one's own. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

static void check_days(struct asked *q, const struct opt *o, const char *arg,
                       struct argp_state *state)
{
	char *end;
	long days = strtol(arg, &end, 10);

	(void)q;
	(void)o;
	if (*end != '\0' || end == arg || days < 0 || days > 3650)
		argp_error(state, "--days is '%s', want 0 to 3650", arg);
}

static const struct opt options[] = {
	{ "user", 'u', "USER", "default admin", .value = "admin" },
	{ "name", 'n', "NAME", "name of the token, default user-host-number" },
	{ "role", 'r', "ROLE", "viewer, developer, operator or admin; default what you have" },
	{ "days", 'd', "N", "how long the token is good, default 90; 0: for ever", .value = "90",
	  .check = check_days },
	{ "code-file", 0, "FILE", "the code of the second factor, its first line; else asked for" },
	{ 0 },
};

static int token_store(struct online *o, const char *token)
{
	char *path = o->cli->token_file ? mem_str(o->cli->token_file) : online_token_path();
	char *text = mem_fmt("%s\n%s\n", token, o->base), *slash;
	struct err err = { 0 };
	int code = CLI_OK;

	if (!path) {
		code = cli_fail(CLI_REFUSED, "no home to keep the token in: --token-file");
	} else {
		char *dir = mem_str(path);

		slash = strrchr(dir, '/');
		if (slash && slash != dir) {
			*slash = '\0';
			fs_mkdirs(dir, 0700, NULL);
		}
		free(dir);
		if (fs_write(path, text, strlen(text), 0600, &err) < 0)
			code = cli_fail(CLI_REFUSED, "%s", err.text);
		else
			fprintf(stderr, "signed in at %s; the token is in %s\n", o->base, path);
	}
	free(text);
	free(path);
	return code;
}

/* What is not in a file is asked for when it is wanted. */
static int code_put(const struct asked *q, cJSON *body)
{
	const char *path = given(q, "code-file");
	struct err err = { 0 };
	struct buf text;
	int code = CLI_OK;

	if (!path)
		return CLI_OK;
	buf_init(&text);
	if (fs_read_secret(path, 200, &text, &err) < 0) {
		code = cli_fail(CLI_USAGE, "%s", err.text);
	} else {
		char *line = mem_strn(buf_str(&text), strcspn(buf_str(&text), "\r\n"));

		cJSON_AddStringToObject(body, "code", line);
		free(line);
	}
	buf_done(&text);
	return code;
}

static int sign_in(struct online *o, const struct asked *q, const char *password)
{
	const char *user = given(q, "user"), *role = given(q, "role");
	char host[64] = "host", *name = mem_str(given(q, "name"));
	cJSON *body = cJSON_CreateObject(), *answer = NULL;
	int code;

	gethostname(host, sizeof host - 1);
	host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")] =
		'\0';
	if (!name)
		name = mem_fmt("%s-%.30s-%ld", user, host, (long)getpid());
	cJSON_AddStringToObject(body, "user", user);
	cJSON_AddStringToObject(body, "password", password);
	cJSON_AddStringToObject(body, "name", name);
	if (role)
		cJSON_AddStringToObject(body, "role", role);
	cJSON_AddNumberToObject(body, "days", (double)strtol(given(q, "days"), NULL, 10));
	code = code_put(q, body);
	if (code == CLI_OK)
		code = online_call(o, "POST", "/api/v1/login", body, &answer);
	if (code == CLI_OK)
		code = token_store(o, text_of(answer, "token"));
	cJSON_Delete(answer);
	cJSON_Delete(body);
	free(name);
	return code;
}

static int online_login_login(struct asked *q)
{
	/* The token file is what this command writes: it need not be there. */
	struct cli without = *q->cli;
	struct online o = { 0 };
	char password[520];
	int code;

	without.token_file = NULL;
	code = online_open(&without, &o);
	o.cli = q->cli;
	if (code == CLI_OK && !password_ask("Password", password, sizeof password))
		code = cli_fail(CLI_USAGE, "no password");
	if (code == CLI_OK) {
		free(o.token);
		o.token = NULL;
		code = sign_in(&o, q, password);
	}
	explicit_bzero(password, sizeof password);
	online_close(&o);
	return code;
}

const struct verb verb_login = { online_login_login, options, .most = WORDS_NONE };
