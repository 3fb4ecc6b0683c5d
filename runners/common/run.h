/* run.h — one job as a runner's code sees it: parameters read with their limits, and one clear
 * sentence when one is wrong. Compiled into each plugin that names it in runners/module.mk.
 */
#ifndef RUNNERS_RUN_H
#define RUNNERS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sirdar/runner.h"

struct cJSON;

/* Borrowed for one call of the plugin. */
struct run {
	const struct runner_host *host;
	const struct runner_job *job;
	struct runner_result *result;
};

/* A runner's one export: its name, and what else in `struct runner_plugin` is its own. */
#define RUN_PLUGIN(its_name, ...) \
	static const struct runner_plugin run_plugin; \
	const struct runner_plugin *runner_entry(void) \
	{ \
		return &run_plugin; \
	} \
	static const struct runner_plugin run_plugin = { .size = sizeof run_plugin, \
		                                         .abi_major = RUNNER_ABI_MAJOR, \
		                                         .abi_minor = RUNNER_ABI_MINOR, \
		                                         .name = (its_name), \
		                                         .version = "1.0", \
		                                         __VA_ARGS__ }

/* The open() and close() of a plugin without state of its own. */
int run_open(const struct runner_host *lent, void **ret_self);
void run_close(void *self);
struct run run_of(const struct runner_job *job, struct runner_result *result);

/* A parameter's value; NULL when there is none. The caller's. run_text(): NULL also when it is
 * empty. */
char *run_param(const struct run *r, const char *name);
char *run_text(const struct run *r, const char *name);
/* The value of the secret that parameter `name` names; NULL when it names none or the task may
 * not have it. End it with run_forget(). Asks the server. */
char *run_secret(const struct run *r, const char *name);
void run_forget(char *secret); /* NULL is fine */

/* Read a parameter; *ret_... is set always (the fallback when it is not given).
 * 0, or RUNNER_FAILED: the result says what is wrong. Durations are `500ms 5s 1h30m 3d`. */
int run_number(const struct run *r, const char *name, int64_t min, int64_t max, int64_t fallback,
               int64_t *ret_number);
int run_duration(const struct run *r, const char *name, int64_t max_ms, int64_t fallback_ms,
                 int64_t *ret_ms);
int run_boolean(const struct run *r, const char *name, bool fallback, bool *ret_is);
/* One of `names` (the list ends with NULL); the first is the fallback. */
int run_choice(const struct run *r, const char *name, const char *const *names, size_t *ret_index);
/* A list or a map, as JSON; NULL when it is not given. The caller's: cJSON_Delete(). A text that is
 * no JSON is a list of its lines. */
int run_list(const struct run *r, const char *name, struct cJSON **ret_list);
int run_objects(const struct run *r, const char *name, struct cJSON **ret_list); /* of maps */
int run_map(const struct run *r, const char *name, struct cJSON **ret_map);

/* The whole of a text as a number or a duration. */
bool text_number(const char *text, int64_t *ret_number);
bool text_duration(const char *text, int64_t *ret_ms);
/* May it be the name of a variable? */
bool text_identifier(const char *text);

/* Say how the job ended. Answers what the plugin answers. */
__attribute__((format(printf, 2, 3))) int run_refuse(const struct run *r, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) int run_end(const struct run *r, uint32_t verdict,
                                                  const char *fmt, ...);
int run_stopped(const struct run *r); /* it was told to stop, and did */

bool run_cancelled(const struct run *r);
/* A line for the job's log. */
__attribute__((format(printf, 2, 3))) void run_log(const struct run *r, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void run_output(const struct run *r, const char *name,
                                                      const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void run_progress(const struct run *r, uint32_t permille,
                                                        const char *fmt, ...);

int64_t run_now_ms(void); /* steady */

/* What this job's work is called elsewhere, NULL when the host has no name for it; the caller's.
 * *ret_again: an earlier attempt may have begun it. */
char *run_work(const struct run *r, bool *ret_again);

/* Each variable of the parameter `environment`: a map, or the lines NAME=value that the server
 * makes of it. 0, or RUNNER_FAILED. */
typedef void run_variable(void *ctx, const char *name, const char *value);
int run_environment(const struct run *r, run_variable *tell, void *ctx);

#endif
