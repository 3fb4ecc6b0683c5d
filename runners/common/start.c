/* A process put together from parameters, for shell, python and java: words, variables, files,
 * directory. The words live as long as the struct, and the host copies them when it starts the
 * process. A lack of memory is remembered and told once, at the end, as a refusal. */
#include "runners/common/start.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 128

void words_addf(struct words *w, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	if (w->n + 2 > w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 16;
		char **at = realloc(w->at, cap * sizeof *at);

		if (!at) {
			w->is_short = true;
			return;
		}
		w->at = at;
		w->cap = cap;
	}
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (text) {
		w->at[w->n++] = text;
		w->at[w->n] = NULL;
	}
	w->is_short |= !text;
}

void words_split(struct words *w, const char *text, const char *separators)
{
	size_t len;

	for (;; text += len) {
		text += strspn(text, separators);
		len = strcspn(text, separators);
		if (len == 0)
			return;
		words_addf(w, "%.*s", (int)len, text);
	}
}

static void words_done(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		run_forget(w->at[i]);
	free(w->at);
	memset(w, 0, sizeof *w);
}

int start_words(const struct run *r, const char *name, struct words *w)
{
	struct cJSON *list;
	const cJSON *item;

	if (run_list(r, name, &list) < 0)
		return RUNNER_FAILED;
	cJSON_ArrayForEach(item, list) {
		char *text = cJSON_IsString(item) ? NULL : cJSON_PrintUnformatted(item);

		words_addf(w, "%s", text ? text : cJSON_IsString(item) ? item->valuestring : "");
		cJSON_free(text);
	}
	cJSON_Delete(list);
	return 0;
}

static void add_variable(void *ctx, const char *name, const char *value)
{
	struct start *s = ctx;

	words_addf(&s->env, "%s=%s", name, value);
}

static bool is_own(const char *const *own, const char *name)
{
	static const char *const ours[] = { "environment", "directory", "user", "secrets", NULL };

	for (size_t i = 0; ours[i]; i++) {
		if (strcmp(ours[i], name) == 0)
			return true;
	}
	while (*own && strcmp(*own, name) != 0)
		own++;
	return *own != NULL;
}

static void read_others(const struct run *r, struct start *s, const char *const *own,
                        start_may_take *may_take)
{
	char name[NAME_BYTES];
	int64_t len;

	for (uint32_t i = 0; (len = r->host->param_name(r->job, i, name, sizeof name)) >= 0; i++) {
		if (len >= (int64_t)sizeof name || is_own(own, name))
			continue;
		char *value = run_text(r, name);

		if (may_take && may_take(name))
			add_variable(s, name, value ? value : "");
		for (char *p = name; *p; p++) {
			if (!isalnum((unsigned char)*p))
				*p = '_';
		}
		words_addf(&s->env, "SIRDAR_PARAM_%s=%s", name, value ? value : "");
		free(value);
	}
}

static int read_secret_names(const struct run *r, struct start *s)
{
	char *list = run_text(r, "secrets");

	words_split(&s->secret_names, list ? list : "", " ,\t\r\n");
	free(list);
	if (s->secret_names.n + s->n_files > START_FILES_MAX)
		return run_refuse(r, "secrets: %zu names, at most %d", s->secret_names.n,
		                  START_FILES_MAX - 1);
	return 0;
}

int start_read(const struct run *r, struct start *s, const char *const *own,
               start_may_take *may_take)
{
	s->directory = run_text(r, "directory");
	s->user = run_text(r, "user");
	read_others(r, s, own, may_take); /* `environment` comes after, and so wins */
	return run_environment(r, add_variable, s) < 0 ? RUNNER_FAILED : read_secret_names(r, s);
}

void start_file(struct start *s, const char *name, char *content)
{
	if (s->n_files == START_FILES_MAX || !content) {
		s->is_short = true;
		run_forget(content);
		return;
	}
	s->contents[s->n_files] = content;
	s->files[s->n_files++] = (struct runner_file){ .name = name,
		                                       .data = content,
		                                       .len = strlen(content) };
}

bool start_has_env(const struct start *s, const char *beginning)
{
	for (size_t i = 0; i < s->env.n; i++) {
		if (strncmp(s->env.at[i], beginning, strlen(beginning)) == 0)
			return true;
	}
	return false;
}

static int read_secrets(const struct run *r, struct start *s)
{
	char asked[NAME_BYTES];

	for (size_t i = 0; i < s->secret_names.n; i++) {
		snprintf(asked, sizeof asked, "secret.%s", s->secret_names.at[i]);
		char *value = run_param(r, asked);

		if (!value)
			return run_refuse(r, "the secret '%.60s' is not given to this task",
			                  s->secret_names.at[i]);
		start_file(s, s->secret_names.at[i], value);
	}
	return 0;
}

int start_spawn(const struct run *r, struct start *s)
{
	if (read_secrets(r, s) < 0)
		return RUNNER_FAILED;
	if (s->is_short || s->argv.is_short || s->env.is_short || s->secret_names.is_short)
		return run_refuse(r, "out of memory");
	const struct runner_process process = {
		.size = sizeof process,
		.n_files = s->n_files,
		.argv = (const char *const *)s->argv.at,
		.env = (const char *const *)s->env.at,
		.directory = s->directory,
		.run_as = s->user,
		.files = s->files,
	};
	/* A refusal's reason and verdict are in the result already. */
	int code = r->host->spawn(r->job, &process);

	return code < 0 ? RUNNER_FAILED : RUNNER_PROCESS;
}

void start_done(struct start *s)
{
	words_done(&s->argv);
	words_done(&s->env);
	words_done(&s->secret_names);
	for (size_t i = 0; i < START_FILES_MAX; i++)
		run_forget(s->contents[i]);
	free(s->directory);
	free(s->user);
	memset(s, 0, sizeof *s);
}

void start_finish(void *self, void *state, const struct runner_job *job,
                  struct runner_result *result)
{
	(void)self;
	(void)job;
	(void)result;
	if (state)
		start_done(state);
	free(state);
}
