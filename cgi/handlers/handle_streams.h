/* handle_streams.h — whole logs as files, for those handlers that give them. */
#ifndef CGI_HANDLE_STREAMS_H
#define CGI_HANDLE_STREAMS_H

struct call;

/* Answer the log that `extra` begins to ask for (key, stream, offset), to its present end, without
 * holding it in memory. */
int log_file(struct call *c);

#endif
