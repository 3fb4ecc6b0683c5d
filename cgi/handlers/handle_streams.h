/* handle_streams.h — whole logs as files, for those handlers that give them. */
#ifndef CGI_HANDLE_STREAMS_H
#define CGI_HANDLE_STREAMS_H

#include <stdint.h>

struct call;
struct tz;

/* Answer the log that `extra` begins to ask for (key, stream, offset), to its present end, without
 * holding it in memory. */
int log_file(struct call *c);

/* The argument `stream`, as LOG_STDOUT and the like; `def` without it. E_INVALID */
int log_stream_arg(struct call *c, uint32_t def, uint32_t *ret);
/* A time, or how long ago, in ms; 0 without it. E_INVALID, with what is wanted. */
int log_time_arg(struct call *c, const char *name, const struct tz *tz, int64_t *ret_ms);

#endif
