/* flows.h — event streams of the server, several at once. Single-threaded.
 *
 * Each has a connection of its own; they are all served by one call of flows_run(). */
#ifndef CLI_FLOWS_H
#define CLI_FLOWS_H

struct flows;
struct online;

/* A message. Anything but 0 ends this stream, with that. */
typedef int flow_each(void *ctx, const char *event, const char *data);

/* `o` is borrowed: who asks, and where. */
struct flows *flows_new(struct online *o);
void flows_free(struct flows *fs); /* NULL is fine */
/* Begin another one; also from within the calls below. */
void flows_add(struct flows *fs, const char *path, flow_each *each, void *ctx);
/* End those with this ctx; nobody is told. Not its own from within its `each`. */
void flows_drop(struct flows *fs, const void *ctx);

/* Until none is open, or until `over` or `tick` returns anything but 0, which is returned.
 *
 *   over   a stream ended: with an exit code that was said, or with what its `each`
 *          returned; 0: the server closed it
 *   tick   several times a second; NULL: nothing
 */
int flows_run(struct flows *fs, int (*over)(void *ctx, int code), int (*tick)(void *ctx),
              void *tick_ctx);

#endif
