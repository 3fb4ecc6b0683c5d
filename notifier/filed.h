/* filed.h — a channel of kind file: lines of JSON below the notifier's state directory. */
#ifndef NOTIFIER_FILED_H
#define NOTIFIER_FILED_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* The line and its end, durable, into `files/NAME.jsonl` of the directory. A file that would grow
 * past `bytes_max` is set aside first.
 *
 *   name    a word (sched/name.h): no path is ever in it
 *   errors  E_IO, E_FORBIDDEN (the file is no plain file, or a link) */
int filed_put(const char *state_dir, const char *name, int64_t bytes_max, const void *line,
              size_t n, struct err *err);

#endif
