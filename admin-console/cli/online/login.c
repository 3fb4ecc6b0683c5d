/* sirdar login: a password becomes a token, kept in a file of one's own. */
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

struct options {
	const char *user, *name, *role;
	long days;
};

static const struct argp_option options[] = {
	{ "user", 'u', "USER", 0, "default admin", 0 },
	{ "name", 'n', "NAME", 0, "name of the token, default user-host-number", 0 },
	{ "role", 'r', "ROLE", 0, "viewer, developer, operator or admin; default what you have",
	  0 },
	{ "days", 'd', "N", 0, "how long the token is good, default 90; 0: for ever", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *q = state->input;
	char *end;

	switch (key) {
	case 'u':
		q->user = arg;
		return 0;
	case 'n':
		q->name = arg;
		return 0;
	case 'r':
		q->role = arg;
		return 0;
	case 'd':
		q->days = strtol(arg, &end, 10);
		if (*end != '\0' || end == arg || q->days < 0 || q->days > 3650)
			argp_error(state, "--days is '%s', want 0 to 3650", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* From the terminal without an echo, else the first line of standard input. */
bool password_ask(const char *what, char *ret, size_t size)
{
	struct termios was, quiet;
	bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &was) == 0;
	bool got;

	if (terminal) {
		quiet = was;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		fprintf(stderr, "%s: ", what);
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	}
	got = fgets(ret, (int)size, stdin) != NULL;
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
		fputc('\n', stderr);
	}
	ret[strcspn(ret, "\r\n")] = '\0';
	return got && ret[0] != '\0';
}

static int token_store(struct online *o, const char *token)
{
	char *path = o->cli->token_file != NULL ? mem_str(o->cli->token_file) : online_token_path();
	char *text = mem_fmt("%s\n%s\n", token, o->base), *slash;
	struct err err = { 0 };
	int code = CLI_OK;

	if (path == NULL) {
		code = cli_fail(CLI_REFUSED, "no home to keep the token in: --token-file");
	} else {
		char *dir = mem_str(path);

		slash = strrchr(dir, '/');
		if (slash != NULL && slash != dir) {
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

static int login(struct online *o, const struct options *q, const char *password)
{
	char host[64] = "host", *name = NULL;
	cJSON *body = cJSON_CreateObject(), *answer = NULL;
	int code;

	gethostname(host, sizeof(host) - 1);
	host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")] =
		'\0';
	name = q->name != NULL ? mem_str(q->name)
	                       : mem_fmt("%s-%.30s-%ld", q->user, host, (long)getpid());
	cJSON_AddStringToObject(body, "user", q->user);
	cJSON_AddStringToObject(body, "password", password);
	cJSON_AddStringToObject(body, "name", name);
	if (q->role != NULL)
		cJSON_AddStringToObject(body, "role", q->role);
	cJSON_AddNumberToObject(body, "days", (double)q->days);
	code = online_call(o, "POST", "/api/v1/login", body, &answer);
	if (code == CLI_OK)
		code = token_store(o, text_of(answer, "token"));
	cJSON_Delete(answer);
	cJSON_Delete(body);
	free(name);
	return code;
}

int cmd_login(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = options, .parser = parse };
	struct options q = { .user = "admin", .days = 90 };
	struct cli without = { 0 };
	struct online o = { 0 };
	char password[520];
	int code;

	cli_parse(cli, &own, argc, argv, &q);
	/* The token file is what this command writes: it need not be there. */
	without = *cli;
	without.token_file = NULL;
	code = online_open(&without, &o);
	o.cli = cli;
	if (code == CLI_OK && !password_ask("Password", password, sizeof(password)))
		code = cli_fail(CLI_USAGE, "no password");
	if (code == CLI_OK) {
		free(o.token);
		o.token = NULL;
		code = login(&o, &q, password);
	}
	explicit_bzero(password, sizeof(password));
	online_close(&o);
	return code;
}
