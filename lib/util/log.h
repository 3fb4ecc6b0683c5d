/* log.h — one line, one write: `event key=value ...` on standard error.
 *
 * The event is a constant dotted name ("job.leased"): grep finds the line, the
 * console counts it. Never a payload, never a secret. Libraries (lib/) return
 * errors and log at debug at most.
 */
#ifndef UTIL_LOG_H
#define UTIL_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Set who speaks and how much. Before threads. `name` is static. */
void log_open(const char *name, enum log_level level);
/* Thread: any. */
void log_level_set(enum log_level level);
int log_level_parse(const char *text, enum log_level *ret_level);
bool log_wants(enum log_level level);

__attribute__((format(printf, 3, 4))) void log_line(enum log_level level, const char *event,
                                                    const char *fmt, ...);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__) /* someone must act */
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)  /* we acted: say what was ignored */
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)  /* a job's or peer's state changed */
#define log_debug(...) \
	do { \
		if (log_wants(LOG_DEBUG)) \
			log_line(LOG_DEBUG, __VA_ARGS__); \
	} while (0)

#endif
