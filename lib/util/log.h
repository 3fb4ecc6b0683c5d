/* log.h — one line, one write: `event key=value ...` on standard error.
 *
 * The event is a constant dotted name ("job.leased"): grep finds the line, the
 * console counts it. Never a payload, never a secret. Libraries (lib/) return
 * errors and log at debug at most.
 */
#ifndef UTIL_LOG_H
#define UTIL_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Set who speaks and how much. Before threads. `name` is static. */
void log_open(const char *name, enum log_level level);
/* Thread: any. */
void log_level_set(enum log_level level);
int log_level_parse(const char *text, enum log_level *ret_level);
extern _Atomic int log_level_most; /* log_level_set() sets it */
static inline bool log_wants(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&log_level_most, memory_order_relaxed);
}

__attribute__((format(printf, 3, 4))) void log_line(enum log_level level, const char *event,
                                                    const char *fmt, ...);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__) /* someone must act */
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)  /* we acted: say what was ignored */
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)  /* a job's or peer's state changed */

/* What is decided, and why: `event` is a literal. Each place in the code may say LOG_BURST lines a
 * second; what it keeps back is counted, and told (suppressed=N) before its next line. */
enum { LOG_BURST = 100 };
struct log_flood {
	_Atomic int64_t second;
	_Atomic uint32_t said, suppressed;
};
bool log_may_say(struct log_flood *f, const char *event);

#define log_debug(event, ...) \
	do { \
		static struct log_flood flood_; \
		if (log_wants(LOG_DEBUG) && log_may_say(&flood_, event)) \
			log_line(LOG_DEBUG, event, __VA_ARGS__); \
	} while (0)

#endif
