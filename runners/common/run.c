/* A job's parameters as C values, with one clear sentence where a value is wrong, and its end in
 * the words of the plugin interface. run_refuse() is the task's fault and final, run_end() says
 * another verdict. Whatever is returned is the caller's to free; secrets go back through
 * run_forget(). */
#include "runners/common/run.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define LINE_BYTES  1000
#define VALUE_BYTES 60 /* of a wrong value that is repeated to a person */

/* One host lends itself to a plugin, once, before any job. */
static const struct runner_host *host;

int run_open(const struct runner_host *lent, void **ret_self)
{
	host = lent;
	*ret_self = NULL;
	return 0;
}

void run_close(void *self)
{
	(void)self;
}

struct run run_of(const struct runner_job *job, struct runner_result *result)
{
	return (struct run){ .host = host, .job = job, .result = result };
}

char *run_param(const struct run *r, const char *name)
{
	int64_t len = r->host->param(r->job, name, NULL, 0);
	char *value = len < 0 ? NULL : malloc((size_t)len + 1);

	if (value && r->host->param(r->job, name, value, (uint64_t)len + 1) != len) {
		free(value);
		return NULL;
	}
	return value;
}

char *run_text(const struct run *r, const char *name)
{
	char *value = run_param(r, name);

	if (value && !value[0]) {
		free(value);
		return NULL;
	}
	return value;
}

char *run_secret(const struct run *r, const char *name)
{
	char *which = run_text(r, name), *value = NULL;
	char full[200];

	if (which && snprintf(full, sizeof full, "secret.%s", which) < (int)sizeof full)
		value = run_param(r, full);
	free(which);
	return value;
}

void run_forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

__attribute__((format(printf, 3, 0))) static void run_say(const struct run *r, uint32_t verdict,
                                                          const char *fmt, va_list args)
{
	r->result->verdict = verdict;
	r->result->exit_code = 1;
	vsnprintf(r->result->text, sizeof r->result->text, fmt, args);
}

int run_refuse(const struct run *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	run_say(r, RUNNER_FATAL, fmt, args);
	va_end(args);
	return RUNNER_FAILED;
}

int run_end(const struct run *r, uint32_t verdict, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	run_say(r, verdict, fmt, args);
	va_end(args);
	return RUNNER_DONE;
}

int run_stopped(const struct run *r)
{
	run_end(r, RUNNER_BY_CODE, "told to stop");
	r->result->exit_code = -15;
	return RUNNER_DONE;
}

bool run_cancelled(const struct run *r)
{
	return r->host->cancelled(r->job) != 0;
}

bool text_number(const char *text, int64_t *ret_number)
{
	char *end;

	errno = 0;
	long long n = strtoll(text, &end, 10);

	if (end == text || *end || errno)
		return false;
	*ret_number = n;
	return true;
}

/* One `NUMBER[UNIT]`; NULL: it is none. */
static const char *read_amount(const char *text, int64_t *ret_ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "ms", 1 },          { "s", 1000 },         { "m", 60000 },
		      { "h", 3600 * 1000 }, { "d", 86400 * 1000 }, { "w", 7 * 86400 * 1000ll } };
	char *end;

	errno = 0;
	long long n = strtoll(text, &end, 10);

	if (end == text || errno || *text < '0' || *text > '9' || n > INT32_MAX)
		return NULL;
	if (!*end) {
		*ret_ms = n * 1000;
		return end;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t len = strspn(end, "mshdw");

		if (strlen(units[i].unit) == len && !strncmp(end, units[i].unit, len)) {
			*ret_ms = n * units[i].ms;
			return end + len;
		}
	}
	return NULL;
}

bool text_duration(const char *text, int64_t *ret_ms)
{
	int64_t sum = 0, ms = 0;

	do {
		text = read_amount(text, &ms);
		sum += ms;
	} while (text && *text && sum < INT64_MAX / 4);
	if (text)
		*ret_ms = sum;
	return text != NULL;
}

int run_number(const struct run *r, const char *name, int64_t min, int64_t max, int64_t fallback,
               int64_t *ret_number)
{
	char *text = run_text(r, name);
	int64_t n = fallback;
	int code = 0;

	if (text && (!text_number(text, &n) || n < min || n > max))
		code = run_refuse(r, "parameter %s is '%.*s', want a number from %lld to %lld",
		                  name, VALUE_BYTES, text, (long long)min, (long long)max);
	*ret_number = code < 0 ? fallback : n;
	free(text);
	return code;
}

int run_duration(const struct run *r, const char *name, int64_t max_ms, int64_t fallback_ms,
                 int64_t *ret_ms)
{
	char *text = run_text(r, name);
	int64_t ms = fallback_ms;
	int code = 0;

	if (text && (!text_duration(text, &ms) || ms > max_ms))
		code = run_refuse(
			r,
			"parameter %s is '%.*s', want a duration such as 30s or 5m, at most %llds",
			name, VALUE_BYTES, text, (long long)max_ms / 1000);
	*ret_ms = code < 0 ? fallback_ms : ms;
	free(text);
	return code;
}

int run_boolean(const struct run *r, const char *name, bool fallback, bool *ret_is)
{
	char *text = run_text(r, name);
	int code = 0;

	*ret_is = text ? !strcasecmp(text, "true") || !strcmp(text, "1") : fallback;
	if (text && !*ret_is && strcasecmp(text, "false") != 0 && strcmp(text, "0") != 0)
		code = run_refuse(r, "parameter %s is '%.*s', want true or false", name,
		                  VALUE_BYTES, text);
	free(text);
	return code;
}

static void run_join(const char *const *names, char *ret_text, size_t cap)
{
	size_t len = 0;

	ret_text[0] = 0;
	for (; *names && len < cap; names++) {
		int n = snprintf(ret_text + len, cap - len, "%s%s", len ? ", " : "", *names);

		len += n > 0 ? (size_t)n : 0;
	}
}

int run_choice(const struct run *r, const char *name, const char *const *names, size_t *ret_index)
{
	char *text = run_text(r, name);
	char list[120];

	*ret_index = 0;
	for (size_t i = 0; text && names[i]; i++) {
		if (!strcasecmp(names[i], text)) {
			*ret_index = i;
			free(text);
			return 0;
		}
	}
	if (!text)
		return 0;
	run_join(names, list, sizeof list);
	run_refuse(r, "parameter %s is '%.*s', want one of %s", name, VALUE_BYTES, text, list);
	free(text);
	return RUNNER_FAILED;
}

static cJSON *lines_of(char *text)
{
	cJSON *list = cJSON_CreateArray();

	for (char *line = text; list && line && *line;) {
		char *end = strchr(line, '\n');

		if (end)
			*end = 0;
		if (line[strspn(line, " \t\r")])
			cJSON_AddItemToArray(list, cJSON_CreateString(line));
		line = end ? end + 1 : NULL;
	}
	return list;
}

int run_list(const struct run *r, const char *name, struct cJSON **ret_list)
{
	char *text = run_text(r, name);
	cJSON *list = text ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;

	if (list && !cJSON_IsArray(list)) {
		cJSON_Delete(list);
		list = NULL;
	}
	if (text && !list)
		list = lines_of(text);
	free(text);
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
		if (!cJSON_IsString(item)) {
			cJSON_Delete(list);
			*ret_list = NULL;
			return run_refuse(r, "parameter %s: want a list of texts", name);
		}
	*ret_list = list;
	return 0;
}

int run_objects(const struct run *r, const char *name, struct cJSON **ret_list)
{
	char *text = run_text(r, name);
	cJSON *list = text ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;
	bool is_wrong = text && !cJSON_IsArray(list);
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
		is_wrong |= !cJSON_IsObject(item);
	free(text);
	*ret_list = is_wrong ? NULL : list;
	if (!is_wrong)
		return 0;
	cJSON_Delete(list);
	return run_refuse(r, "parameter %s: want a list of maps", name);
}

int run_map(const struct run *r, const char *name, struct cJSON **ret_map)
{
	char *text = run_text(r, name);
	cJSON *map = text ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;
	bool is_wrong = text && !cJSON_IsObject(map);

	free(text);
	*ret_map = is_wrong ? NULL : map;
	if (!is_wrong)
		return 0;
	cJSON_Delete(map);
	return run_refuse(r, "parameter %s: want a map of names and values", name);
}

void run_log(const struct run *r, const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list args;

	va_start(args, fmt);
	int n = vsnprintf(line, sizeof line - 1, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	size_t len = (size_t)n < sizeof line - 2 ? (size_t)n : sizeof line - 2;

	line[len] = '\n';
	r->host->log(r->job, RUNNER_STDERR, line, len + 1);
}

void run_output(const struct run *r, const char *name, const char *fmt, ...)
{
	char *value = NULL;
	va_list args;

	va_start(args, fmt);
	int n = vasprintf(&value, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	if (r->host->output(r->job, name, value) < 0)
		run_log(r, "output %.80s of %d bytes was not taken", name, n);
	free(value);
}

void run_progress(const struct run *r, uint32_t permille, const char *fmt, ...)
{
	char line[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	r->host->progress(r->job, permille, line);
}

int64_t run_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

char *run_work(const struct run *r, bool *ret_again)
{
	char *again = run_text(r, "sirdar.work_again");

	*ret_again = again != NULL;
	free(again);
	return run_text(r, "sirdar.work_id");
}

/* --- variables of a process ---------------------------------------------------------- */

bool text_identifier(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	return !*text;
}

static int tell_variable(const struct run *r, run_variable *tell, void *ctx, const char *name,
                         const char *value)
{
	if (!text_identifier(name))
		return run_refuse(r, "environment: '%.60s' is no name of a variable", name);
	tell(ctx, name, value);
	return 0;
}

static int tell_lines(const struct run *r, run_variable *tell, void *ctx, char *lines)
{
	char *line;

	while ((line = strsep(&lines, "\n"))) {
		char *value = strchr(line, '=');

		if (!*line)
			continue;
		if (!value)
			return run_refuse(r, "environment: '%.60s', want NAME=value", line);
		*value = 0;
		if (tell_variable(r, tell, ctx, line, value + 1) < 0)
			return RUNNER_FAILED;
	}
	return 0;
}

static int tell_map(const struct run *r, run_variable *tell, void *ctx)
{
	struct cJSON *map;
	const cJSON *item;
	int code = 0;

	if (run_map(r, "environment", &map) < 0)
		return RUNNER_FAILED;
	cJSON_ArrayForEach(item, map) {
		char *text = cJSON_IsString(item) ? NULL : cJSON_PrintUnformatted(item);
		const char *plain = cJSON_IsString(item) ? item->valuestring : "";

		if (tell_variable(r, tell, ctx, item->string, text ? text : plain) < 0)
			code = RUNNER_FAILED;
		cJSON_free(text);
	}
	cJSON_Delete(map);
	return code;
}

int run_environment(const struct run *r, run_variable *tell, void *ctx)
{
	char *text = run_text(r, "environment");
	int code = !text            ? 0
	           : text[0] == '{' ? tell_map(r, tell, ctx)
	                            : tell_lines(r, tell, ctx, text);

	free(text);
	return code;
}
