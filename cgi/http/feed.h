/* feed.h — bytes that flow to a client for as long as it listens.
 *
 * One writer (the net actor), one reader (the HTTP thread, which suspends the connection
 * while there is nothing). Two holders: each lets go for itself.
 */
#ifndef CGI_FEED_H
#define CGI_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct MHD_Connection;
struct MHD_Response;
/* Something was not told: who follows asks anew for what he shows. */
#define EVENT_GAP "event: gap\ndata: {}\n\n"

struct feed;

/* Held by the writer and by the response: make that at once, before the writer has it. */
struct feed *feed_new(struct MHD_Connection *conn, size_t bytes_max);
/* The response that carries it. HTTP thread. */
struct MHD_Response *feed_response(struct feed *f);

/* Writer. False: the reader is too slow, nothing was taken. */
bool feed_put(struct feed *f, const void *data, size_t n);
bool feed_idle(struct feed *f, int64_t now_us, int64_t idle_us); /* nothing put for so long */
bool feed_gone(struct feed *f);                                  /* the client left */
void feed_end(struct feed *f); /* what is queued still goes out; the writer lets go */

#endif
