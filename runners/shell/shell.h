/* shell.h — parts of the shell runner: lists of words, and the job's environment. */
#ifndef RUNNER_SHELL_H
#define RUNNER_SHELL_H

#include <stddef.h>
#include <stdint.h>

struct runner_host;
struct runner_job;

/* Strings, NULL-terminated for exec; all owned. */
struct words {
	char **at;
	size_t n, cap;
};

/* 0, or -1 without memory (then nothing was added). */
int words_add(struct words *w, const char *text, size_t len);
void words_done(struct words *w);

/* Split at spaces, tabs and newlines. 0 or -1. */
int words_split(struct words *w, const char *text);

/* A JSON array of strings. 0, or -1: it is none, or no memory. */
int words_json(struct words *w, const char *text);

/* May the command be executed without a shell? Only plain words in it. */
int command_is_plain(const char *text);

/* A parameter's value, the caller's to free(); NULL if the job has none. */
char *param_copy(const struct runner_host *host, const struct runner_job *job, const char *name);

/* The job's parameters as environment, see README. Returns NULL, or what is wrong (static). */
const char *environment_make(const struct runner_host *host, const struct runner_job *job,
                             struct words *env);

#endif
