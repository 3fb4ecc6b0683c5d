/* client.h — a runner that is a client's command (beeline, spark-submit, hadoop), as a process.
 *
 * A small script beside it reads along: the numbers of applications become the output
 * `application_id`, MapReduce's lines progress; and when the job is told to stop, what the client
 * has begun elsewhere is killed there before the client ends. All of that is in the job's
 * process, and so outlives the broker.
 */
#ifndef RUNNERS_CLIENT_H
#define RUNNERS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "runners/common/run.h"

#define CLIENT_WORDS_MAX 1000
#define CLIENT_FILES_MAX 4

/* Zeroed is empty. A word that could not be added is remembered. */
struct client {
	char *argv[CLIENT_WORDS_MAX + 1], *env[CLIENT_WORDS_MAX + 1];
	size_t n_argv, n_env;
	struct runner_file files[CLIENT_FILES_MAX];
	char *texts[CLIENT_FILES_MAX]; /* the files', to be forgotten */
	uint32_t n_files;
	char *directory;
	bool is_over;
};

/* A word of the command; the first is the program. */
__attribute__((format(printf, 2, 3))) void client_add(struct client *c, const char *fmt, ...);
/* The parameter's value after `option`, when there is one. `option` NULL: the value alone. */
void client_add_param(struct client *c, const struct run *r, const char *option, const char *name);
/* Each word of a list; each pair of a map as `option` `NAME=VALUE` (option "-D": -DNAME=VALUE).
 * 0, or RUNNER_FAILED. */
int client_add_list(struct client *c, const struct run *r, const char *name);
int client_add_map(struct client *c, const struct run *r, const char *option, const char *name);
/* What is begun on YARN bears the name of the work, as the setting `name` after `option`: an
 * earlier attempt's is killed before this one begins, and this one's also before its number is
 * known. */
void client_on_yarn(struct client *c, const struct run *r, const char *option, const char *name);
__attribute__((format(printf, 2, 3))) void client_env(struct client *c, const char *fmt, ...);
/* A file in $SIRDAR_FILES, given to the client as `option` FILE at the end of its words. Owns
 * `text`. */
void client_file(struct client *c, const char *name, const char *option, char *text);

/* The plugin itself is client.c; a runner gives what is its own: its name, and the words of the
 * command (0, or what the plugin answers). */
extern const char client_name[];
int client_words(struct client *c, const struct run *r);

#endif
