/* Requests to sirdar-cgi over libcurl: where it is, who asks, and what its errors mean.
 *
 * The URL and the token come from options, the environment, or the file that `sirdar login`
 * wrote; a token of that file goes only to the server it came from. Reads, and commands (which
 * carry a request id), are repeated while the server is away for a moment; nothing else is. Where
 * the server wants a session instead of a token (changes of credentials) one is opened for this
 * call and ended after it. Every refusal is said here, once, in the server's own words, with the
 * exit code of its HTTP status. */
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "admin-console/cli/online/http_impl.h"
#include "admin-console/cli/online/online.h"
#include "admin-console/cli/online/place.h"
#include "sched/label.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"

#define URL_DEFAULT "http://127.0.0.1:7480"
#define ANSWER_MAX  ((size_t)64 * 1024 * 1024)
#define TRIES       4

static void session_end(struct online *o);

/* --- where and who --- */

char *online_token_path(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && config[0] == '/')
		return mem_fmt("%s/sirdar/token", config);
	if (home && home[0] == '/')
		return mem_fmt("%s/.config/sirdar/token", home);
	return NULL;
}

/* The file: the token, and on a second line the URL it is for. */
static int token_read(const char *path, bool must, char **ret_token, char **ret_url)
{
	struct buf text;
	struct err err = { 0 };
	char *p, *line;
	int r;

	buf_init(&text);
	r = fs_read_secret(path, 4096, &text, &err);
	if (r == 0) {
		p = mem_str(buf_str(&text));
		line = p + strcspn(p, "\n");
		*ret_token = mem_strn(p, (size_t)(line - p));
		if (*line == '\n' && line[1] != '\0')
			*ret_url = mem_strn(line + 1, strcspn(line + 1, "\n"));
		free(p);
	}
	buf_done(&text);
	if (r < 0 && (must || r != E_NOT_FOUND))
		return cli_fail(CLI_DENIED, "%s", err.text);
	return CLI_OK;
}

static bool is_loopback(const char *url)
{
	static const char *const heads[] = { "http://127.",
		                             "http://localhost:", "http://localhost/",
		                             "http://[::1]" };

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
		if (strncasecmp(url, heads[i], strlen(heads[i])) == 0)
			return true;
	return strcasecmp(url, "http://localhost") == 0;
}

static int base_set(struct online *o, const char *url)
{
	size_t n = strlen(url);

	while (n > 0 && url[n - 1] == '/')
		n--;
	o->base = mem_strn(url, n);
	if (strncasecmp(o->base, "https://", 8) != 0 && !is_loopback(o->base))
		return cli_fail(CLI_USAGE, "%s: want https://, or http:// to this machine itself",
		                url);
	return CLI_OK;
}

int online_open(struct cli *cli, struct online *ret)
{
	const char *url = cli->server ? cli->server : getenv("SIRDAR_URL");
	const char *file = cli->token_file ? cli->token_file : getenv("SIRDAR_TOKEN_FILE");
	char *own = !file ? online_token_path() : NULL, *token_url = NULL;
	int code = CLI_OK;

	*ret = (struct online){ .cli = cli };
	if (file || own)
		code = token_read(file ? file : own, file != NULL, &ret->token, &token_url);
	if (code == CLI_OK)
		code = base_set(ret, url ? url : token_url ? token_url : URL_DEFAULT);
	/* A token goes only to the server it came from. */
	if (code == CLI_OK && token_url && strcmp(token_url, ret->base) != 0) {
		free(ret->token);
		ret->token = NULL;
	}
	free(token_url);
	free(own);
	if (code == CLI_OK && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		code = cli_fail(CLI_UNREACHABLE, "libcurl does not start");
	if (code == CLI_OK)
		ret->curl = curl_easy_init();
	if (code != CLI_OK)
		online_close(ret);
	return code;
}

void online_close(struct online *o)
{
	if (o->cookie[0] != '\0')
		session_end(o);
	if (o->curl) {
		curl_easy_cleanup(o->curl);
		curl_global_cleanup();
	}
	free(o->base);
	free(o->token);
	*o = (struct online){ 0 };
}

/* --- paths ------------------------------------------------------------------------------ */

static void http_escape(struct buf *out, const char *text, const char *plain)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		bool keep = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		            (*p >= '0' && *p <= '9') || strchr(plain, *p);

		if (keep)
			buf_putc(out, (char)*p);
		else
			buf_printf(out, "%%%02X", *p);
	}
}

void path_part(struct buf *path, const char *text)
{
	http_escape(path, text, "-._~/");
}

void path_arg(struct buf *path, const char *name, const char *value)
{
	if (!value)
		return;
	buf_putc(path, strchr(buf_str(path), '?') ? '&' : '?');
	buf_printf(path, "%s=", name);
	http_escape(path, value, "-._~");
}

void path_states(struct buf *path, const char *words)
{
	char *names = states_named(words);

	path_arg(path, "states", names);
	free(names);
}

void path_dates(struct buf *path, const char *dates)
{
	const char *dots = dates ? strstr(dates, "..") : NULL;
	char *from = dots ? mem_strn(dates, (size_t)(dots - dates)) : NULL;

	path_arg(path, "from", from ? from : dates);
	path_arg(path, "to", !dots ? dates : dots[2] ? dots + 2 : "now");
	free(from);
}

/* --- requests --- */

static size_t body_take(char *p, size_t size, size_t n, void *ctx)
{
	struct buf *b = ctx;

	if (b->len + size * n > ANSWER_MAX)
		return 0;
	buf_put(b, p, size * n);
	return size * n;
}

static void header_copy(const char *p, size_t n, const char *name, char *ret, size_t size)
{
	size_t len = strlen(name), i = 0;

	if (n <= len || strncasecmp(p, name, len) != 0)
		return;
	for (p += len, n -= len; n > 0 && *p == ' '; p++)
		n--;
	while (i < n && i + 1 < size && p[i] > ' ') {
		ret[i] = p[i];
		i++;
	}
	ret[i] = '\0';
}

static size_t header_take(char *p, size_t size, size_t n, void *ctx)
{
	struct online *o = ctx;

	header_copy(p, size * n, "X-Log-Next:", o->next, sizeof o->next);
	header_copy(p, size * n, "X-Log-End:", o->end, sizeof o->end);
	header_copy(p, size * n, "X-Log-Attempt:", o->attempt, sizeof o->attempt);
	if (o->signs_in)
		header_copy(p, size * n, "Set-Cookie:", o->cookie, sizeof o->cookie);
	return size * n;
}

struct curl_slist *http__request(struct online *o, const char *method, const char *url,
                                 const char *body)
{
	struct curl_slist *headers = NULL;

	curl_easy_reset(o->curl);
	curl_easy_setopt(o->curl, CURLOPT_URL, url);
	curl_easy_setopt(o->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(o->curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(o->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(o->curl, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
	curl_easy_setopt(o->curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(o->curl, CURLOPT_USERAGENT, "sirdar/" SIRDAR_VERSION);
	curl_easy_setopt(o->curl, CURLOPT_HEADERFUNCTION, header_take);
	curl_easy_setopt(o->curl, CURLOPT_HEADERDATA, o);
	if (is_loopback(o->base))
		curl_easy_setopt(o->curl, CURLOPT_NOPROXY, "*");
	if (o->cookie[0] != '\0') {
		char *line = mem_fmt("X-CSRF-Token: %s", o->csrf);

		curl_easy_setopt(o->curl, CURLOPT_COOKIE, o->cookie);
		headers = curl_slist_append(headers, line);
		free(line);
	} else if (o->token && !o->signs_in) {
		char *line = mem_fmt("Authorization: Bearer %s", o->token);

		headers = curl_slist_append(headers, line);
		free(line);
	}
	if (body) {
		headers = curl_slist_append(headers, "Content-Type: application/json");
		headers = curl_slist_append(headers, "Expect:");
		curl_easy_setopt(o->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
		curl_easy_setopt(o->curl, CURLOPT_POSTFIELDS, body);
	}
	curl_easy_setopt(o->curl, CURLOPT_HTTPHEADER, headers);
	return headers;
}

int http__unreachable(struct online *o, int code)
{
	if (o->quiet)
		return CLI_UNREACHABLE;
	return cli_fail(CLI_UNREACHABLE, "%s: %s", o->base, curl_easy_strerror((CURLcode)code));
}

static int progress(void *ctx, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                    curl_off_t up)
{
	const struct online *o = ctx;

	(void)down_all;
	if (down == 0)
		o->waits(o->waits_ctx, (size_t)up, (size_t)up_all);
	return 0;
}

/* One try. CLI_OK: there is an answer, whatever its status. */
static int request(struct online *o, const char *method, const char *path, const char *body,
                   struct buf *ret)
{
	char *url = mem_fmt("%s%s", o->base, path);
	struct curl_slist *headers = http__request(o, method, url, body);
	CURLcode code;

	buf_clear(ret);
	/* Large bodies have more time, as the server gives them (cgi/server/net.c). */
	curl_easy_setopt(o->curl, CURLOPT_TIMEOUT_MS,
	                 60000L + (body ? (long)(strlen(body) / 128) : 0));
	if (o->waits) {
		curl_easy_setopt(o->curl, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(o->curl, CURLOPT_XFERINFOFUNCTION, progress);
		curl_easy_setopt(o->curl, CURLOPT_XFERINFODATA, o);
	}
	curl_easy_setopt(o->curl, CURLOPT_WRITEFUNCTION, body_take);
	curl_easy_setopt(o->curl, CURLOPT_WRITEDATA, ret);
	code = curl_easy_perform(o->curl);
	o->status = 0;
	curl_easy_getinfo(o->curl, CURLINFO_RESPONSE_CODE, &o->status);
	curl_slist_free_all(headers);
	free(url);
	return code == CURLE_OK ? CLI_OK : http__unreachable(o, code);
}

static int exit_of(long status)
{
	switch (status) {
	case 401:
	case 403:
		return CLI_DENIED;
	case 404:
		return CLI_NOT_FOUND;
	case 502:
	case 503:
		return CLI_UNREACHABLE;
	case 504:
		return CLI_TIMEOUT;
	default:
		return CLI_REFUSED;
	}
}

static int details_say(const cJSON *error)
{
	const cJSON *e;
	int n = 0;

	cJSON_ArrayForEach(e, json_get(json_get(error, "details"), "errors")) {
		mistake_say(stderr, &(struct mistake){ .file = text_of(e, "file"),
		                                       .line = number_of(e, "line"),
		                                       .column = number_of(e, "column"),
		                                       .path = text_of(e, "path"),
		                                       .message = text_of(e, "message"),
		                                       .hint = text_of(e, "hint") });
		n++;
	}
	return n;
}

/* Say what the server said. */
int http__refused(struct online *o, const cJSON *body, const struct buf *answer)
{
	cJSON *root = cJSON_ParseWithLength((const char *)buf_at(answer), answer->len);
	const cJSON *e = json_get(root, "error");
	int code = exit_of(o->status);

	if (o->quiet)
		goto out;
	if (e) {
		const char *place = text_of(e, "place"), *hint = text_of(e, "hint");

		int told = details_say(e);
		char *message = place_message(o->cli, body, place, text_of(e, "message"));

		/* It may repeat its hint; of many mistakes it is the first. */
		if (strstr(message, hint))
			hint = "";
		if (told)
			cli_fail(code, "%s", counted((size_t)told, "mistake"));
		else
			cli_fail(code, "%s%s%s", message, hint[0] ? "; " : "", hint);
		free(message);
	} else {
		cli_fail(code, "%s answers %ld", o->base, o->status);
	}
	if (o->status == 401)
		fputs("sirdar: `sirdar login` signs in\n", stderr);
out:
	cJSON_Delete(root);
	return code;
}

/* Commands carry a request id, reads change nothing: both may be repeated. */
static int request_patient(struct online *o, const char *method, const char *path, const char *body,
                           struct buf *ret)
{
	bool quiet = o->quiet;
	int code = CLI_OK;

	for (int i = o->once ? TRIES : 1; i <= TRIES; i++) {
		o->quiet = quiet || i < TRIES;
		code = request(o, method, path, body, ret);
		if (code == CLI_OK && o->status != 503)
			break;
		if (code != CLI_OK && o->status == 0 && i == 1)
			i = TRIES - 1; /* nobody listens: once more is enough */
		if (i < TRIES)
			poll(NULL, 0, 150 << i);
	}
	o->quiet = quiet;
	return code;
}

/* --- a session, where a token is not enough --- */

static void session_end(struct online *o)
{
	struct buf answer;

	buf_init(&answer);
	o->quiet = true;
	(void)request(o, "POST", "/api/v1/logout", NULL, &answer);
	buf_done(&answer);
	explicit_bzero(o->cookie, sizeof o->cookie);
	explicit_bzero(o->csrf, sizeof o->csrf);
}

static int session_begin(struct online *o, const char *user, const char *password)
{
	cJSON *body = cJSON_CreateObject(), *answer = NULL;
	int code;

	cJSON_AddStringToObject(body, "user", user);
	cJSON_AddStringToObject(body, "password", password);
	o->signs_in = true;
	code = online_call(o, "POST", "/api/v1/login", body, &answer);
	o->signs_in = false;
	o->cookie[code == CLI_OK ? strcspn(o->cookie, ";") : 0] = '\0';
	snprintf(o->csrf, sizeof o->csrf, "%s", text_of(answer, "csrf"));
	cJSON_Delete(answer);
	cJSON_Delete(body);
	return code;
}

int online_session(struct online *o, const char *password)
{
	char asked[520] = "", what[100];
	cJSON *who = NULL;
	int code = online_call(o, "GET", "/api/v1/session", NULL, &who);
	const char *user = text_of(who, "user");

	if (strchr(user, ':')) /* "token:NAME": nobody's, so the administrator's */
		user = "admin";
	snprintf(what, sizeof what, "Password of %s", user);
	if (code == CLI_OK && !password && !password_ask(what, asked, sizeof asked))
		code = cli_fail(CLI_DENIED,
		                "a token changes no credential: the password of %s is wanted, "
		                "on standard input",
		                user);
	if (code == CLI_OK)
		code = session_begin(o, user, password ? password : asked);
	/* Of two passwords on standard input this is the later one. */
	if (code == CLI_DENIED && asked[0] && !isatty(STDIN_FILENO))
		cli_fail(0,
		         "that was the password of %s, who asks for it: on standard input it "
		         "stands last, behind what is set",
		         user);
	explicit_bzero(asked, sizeof asked);
	cJSON_Delete(who);
	return code;
}

/* Was it refused because a token asked? */
static bool wants_session(const struct online *o, const struct buf *answer)
{
	cJSON *root;
	bool is;

	if (o->status != 403 || o->cookie[0] != '\0')
		return false;
	root = cJSON_ParseWithLength((const char *)buf_at(answer), answer->len);
	is = strcmp(text_of(json_get(root, "error"), "place"), "session") == 0;
	cJSON_Delete(root);
	return is;
}

/* The password was right: whoever has a second factor shows a code of it, once it is asked for. */
static bool wants_code(const struct online *o, const struct buf *answer)
{
	cJSON *root;
	bool is;

	if (o->status != 401)
		return false;
	root = cJSON_ParseWithLength((const char *)buf_at(answer), answer->len);
	is = strcmp(text_of(json_get(root, "error"), "code"), "FACTOR") == 0;
	cJSON_Delete(root);
	return is;
}

static int code_give(struct online *o, const char *path, const cJSON *body, struct buf *ret)
{
	char asked[64] = "", *text;
	cJSON *more;
	int code;

	if (!password_ask("Code of the second factor", asked, sizeof asked))
		return cli_fail(CLI_DENIED, "the password is right; a code of the second factor is "
		                            "wanted too, on standard input or with --code-file");
	more = cJSON_Duplicate(body, true);
	cJSON_AddStringToObject(more, "code", asked);
	text = cJSON_PrintUnformatted(more);
	buf_clear(ret);
	code = request_patient(o, "POST", path, text, ret);
	explicit_bzero(asked, sizeof asked);
	cJSON_Delete(more);
	free(text);
	return code;
}

int online_call(struct online *o, const char *method, const char *path, const cJSON *body,
                cJSON **ret_answer)
{
	char *text = body ? cJSON_PrintUnformatted(body) : NULL;
	struct buf answer;
	cJSON *root = NULL;
	int code;

	buf_init(&answer);
	code = request_patient(o, method, path, text, &answer);
	if (code == CLI_OK && wants_session(o, &answer)) {
		code = online_session(o, NULL);
		if (code == CLI_OK)
			code = request_patient(o, method, path, text, &answer);
	}
	if (code == CLI_OK && wants_code(o, &answer))
		code = code_give(o, path, body, &answer);
	free(text);
	if (code == CLI_OK && (o->status < 200 || o->status > 299))
		code = http__refused(o, body, &answer);
	if (code == CLI_OK) {
		root = cJSON_ParseWithLength((const char *)buf_at(&answer), answer.len);
		if (!root)
			code = cli_fail(CLI_REFUSED, "%s does not answer in JSON", o->base);
	}
	if (code == CLI_OK)
		*ret_answer = root;
	buf_done(&answer);
	return code;
}

int online_text(struct online *o, const char *path, struct buf *ret)
{
	int code = request_patient(o, "GET", path, NULL, ret);

	if (code == CLI_OK && o->status != 200)
		code = http__refused(o, NULL, ret);
	return code;
}

/* --- instances --- */

bool instance_id_is(const char *text)
{
	return strspn(text, "0123456789.-") == strlen(text) && strchr(text, '.') &&
	       !strstr(text, ".."); /* a range of dates */
}

/* Of a task that has one run alone: nobody needs to name it. */
static int only_run(struct online *o, const char *task, char **ret_id)
{
	cJSON *root = NULL;
	struct buf path;

	buf_init(&path);
	buf_puts(&path, "/api/v1/instances?limit=2&order=desc");
	path_arg(&path, "task", task);
	int code = online_call(o, "GET", buf_str(&path), NULL, &root);
	const cJSON *last = cJSON_GetArrayItem(json_get(root, "items"), 0);
	const cJSON *before = cJSON_GetArrayItem(json_get(root, "items"), 1);
	if (code == CLI_OK && before)
		code = cli_fail(CLI_USAGE,
		                "which run date of %s? The last are '%s' and '%s'; `sirdar run "
		                "list %s` has all",
		                task, label_in(last), label_in(before), task);
	else if (code == CLI_OK && !last)
		code = cli_fail(CLI_NOT_FOUND, "%s has no run", task);
	else if (code == CLI_OK)
		cli_fail(0, "%s has one run, '%s'", task, label_in(last));
	if (code == CLI_OK)
		*ret_id = mem_str(text_of(last, "id"));
	cJSON_Delete(root);
	buf_done(&path);
	return code;
}

int online_resolve(struct online *o, const char *task, const char *run_date, char **ret_id)
{
	struct buf path;
	cJSON *root = NULL;
	int code;

	if (!run_date) {
		if (!instance_id_is(task))
			return only_run(o, task, ret_id);
		*ret_id = mem_str(task);
		return CLI_OK;
	}
	buf_init(&path);
	buf_puts(&path, "/api/v1/resolve");
	path_arg(&path, "task", task);
	path_arg(&path, "run_date", run_date);
	code = online_call(o, "GET", buf_str(&path), NULL, &root);
	if (code == CLI_OK)
		*ret_id = mem_str(text_of(root, "id"));
	cJSON_Delete(root);
	buf_done(&path);
	return code;
}

int web_print(struct online *o, const char *id, const char *generation, const char *attempt)
{
	char *path = mem_fmt("/api/v1/instances/%s", id);
	cJSON *root = NULL;
	struct buf link;
	int code = online_call(o, "GET", path, NULL, &root);

	buf_init(&link);
	buf_puts(&link, o->base);
	label_path(&link, text_of(root, "task"), text_of(root, "label"),
	           generation ? (unsigned)strtoul(generation, NULL, 10) : 0,
	           attempt ? (unsigned)strtoul(attempt, NULL, 10) : 0);
	if (code == CLI_OK)
		code = cli_print(&link);
	buf_done(&link);
	cJSON_Delete(root);
	free(path);
	return code;
}
