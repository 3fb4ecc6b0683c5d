/* start.h — a job's process put together from parameters: words, environment, files, secrets. */
#ifndef RUNNERS_START_H
#define RUNNERS_START_H

#include "runners/common/run.h"

#define START_FILES_MAX 33 /* a script and 32 secrets */

/* A list that exec takes: ends with NULL, its texts are its own. */
struct words {
	char **at;
	size_t n, cap;
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

/* Each text of the parameter `name`, a list, becomes a word. 0 or RUNNER_FAILED, as run_list(). */
int start_words(const struct run *r, const char *name, struct words *w);
/* `environment` (a map), `directory`, `user`, the names in `secrets`, and every parameter that is
 * not among `own` (ends with NULL) as SIRDAR_PARAM_NAME. 0 or RUNNER_FAILED. */
int start_read(const struct run *r, struct start *s, const char *const *own);
/* A file for the process; takes `content` over. */
void start_file(struct start *s, const char *name, char *content);
/* Does the environment have a name that begins so? */
bool start_has_env(const struct start *s, const char *beginning);
/* Ask for the secrets and have it started. Answers what execute() answers. Blocks: not inline. */
int start_spawn(const struct run *r, struct start *s);
void start_done(struct start *s);

#endif
