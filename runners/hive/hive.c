/* hive.c — beeline: README.md has the parameters. The statements and the password are files that
 * only the job sees; neither stands in an argument. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/client.h"
#include "runners/common/values.h"

#define PORT 10000

/* jdbc:hive2://HOST:PORT/DATABASE, of the target server or of plain parameters. */
static char *make_url(const struct run *r, bool is_named)
{
	char *url = is_named ? NULL : run_text(r, "url");
	char *host = run_text(r, is_named ? "server.host" : "host");
	char *database = run_text(r, is_named ? "server.database" : "database");
	int64_t port;

	if (run_number(r, is_named ? "server.port" : "port", 1, 65535, PORT, &port) == 0 && !url &&
	    host &&
	    asprintf(&url, "jdbc:hive2://%s:%d/%s", host, (int)port, database ? database : "") < 0)
		url = NULL;
	free(host);
	free(database);
	return url;
}

/* Beeline looks for semicolons, comments, ${...} and commands at a line's start before Hive sees
 * the quotes: letters and digits go as they are, all else of ASCII by its number. */
static void quote_hive(void *ctx, const char *value, size_t len, struct text *out)
{
	(void)ctx;
	text_str_add(out, "'");
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)value[i] < 0x80 && !isalnum((unsigned char)value[i]))
			text_addf(out, "\\u%04x", (unsigned)value[i]);
		else
			text_add(out, value + i, 1);
	}
	text_str_add(out, "'");
}

const char client_name[] = "hive";

int client_words(struct client *c, const struct run *r)
{
	char *program = run_text(r, "program"), *named = run_text(r, "server");
	char *url = make_url(r, named != NULL), *sql = run_text(r, "sql");
	char *password = named ? run_text(r, "secret.server.password") : run_secret(r, "password");
	struct text bound = { 0 };
	int code = 0;

	client_add(c, "%s", program ? program : "beeline");
	if (!url)
		code = r->result->text[0] ? RUNNER_FAILED
		                          : run_refuse(r, "want parameter server, url or host");
	else {
		client_add(c, "-u");
		client_add(c, "%s", url);
	}
	client_add_param(c, r, "-n", named ? "server.user" : "user");
	if (code == 0)
		code = client_add_map(c, r, "--hivevar", "hivevars");
	if (code == 0)
		code = client_add_map(c, r, "--hiveconf", "conf");
	if (code == 0)
		code = client_add_list(c, r, "options");
	if (code == 0 && !sql)
		code = run_refuse(r, "parameter sql is missing");
	if (password)
		client_file(c, "password", "-w", password);
	if (code == 0)
		code = values_put(r, sql, quote_hive, NULL, &bound);
	if (code == 0)
		client_file(c, "statements", "-f", strdup(text_str(&bound)));
	text_done(&bound);
	free(sql);
	free(program);
	free(named);
	free(url);
	return code;
}
