/* start.h — a job's process put together from parameters: words, environment, files, secrets. */
#ifndef RUNNERS_START_H
#define RUNNERS_START_H

#include "runners/common/run.h"

#define START_FILES_MAX 33 /* a script and 32 secrets */

/* A list that exec takes: ends with NULL, its texts are its own. */
struct words {
	char **at;
	size_t n, cap;
	bool is_short; /* no memory was left for one of them */
};

/* Zeroed is empty; start_done() takes anything apart. */
struct start {
	struct words argv, env, secret_names;
	struct runner_file files[START_FILES_MAX];
	char *contents[START_FILES_MAX]; /* of the files; owned, wiped */
	uint32_t n_files;
	char *directory, *user; /* NULL: as the host does by itself */
	bool is_short;          /* no memory was left for something */
};

__attribute__((format(printf, 2, 3))) void words_addf(struct words *w, const char *fmt, ...);
void words_split(struct words *w, const char *text, const char *separators);

/* Each text of the parameter `name`, a list, becomes a word. 0 or RUNNER_FAILED, as run_list(). */
int start_words(const struct run *r, const char *name, struct words *w);
/* `environment` (a map), `directory`, `user`, the names in `secrets`, and every parameter that is
 * not among `own` (ends with NULL) as SIRDAR_PARAM_NAME; also under its own name when `may_take`
 * (NULL: none) says so. 0 or RUNNER_FAILED. */
typedef bool start_may_take(const char *name);
int start_read(const struct run *r, struct start *s, const char *const *own,
               start_may_take *may_take);
/* A file for the process; takes `content` over. */
void start_file(struct start *s, const char *name, char *content);
/* Does the environment have a name that begins so? */
bool start_has_env(const struct start *s, const char *beginning);
/* Ask for the secrets and have it started. Answers what execute() answers. Blocks where there are
 * secrets, or another user: not inline. */
int start_spawn(const struct run *r, struct start *s);
void start_done(struct start *s);
/* The finish() of a plugin whose job is a `struct start`. */
void start_finish(void *self, void *state, const struct runner_job *job,
                  struct runner_result *result);

#endif
