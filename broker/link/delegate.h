/* delegate.h — what a loader has instead of its machine's key: a pair of its own in its memory,
 * and what its taskbroker has signed for that (lib/wire/delegation.h).
 *
 * It asks over a socket in the state directory, at its start, after half of the time that it was
 * given, and when it is told to. Whichever taskbroker listens there then answers: one that follows,
 * too. What was signed last is used until there is more. Thread: the loop's.
 */
#ifndef BROKER_LINK_DELEGATE_H
#define BROKER_LINK_DELEGATE_H

#include <stdbool.h>

#include "wire/session.h"

struct delegate;
struct err;
struct ev_loop;
struct identity;

/* The taskbroker's socket. heap */
char *delegate_socket(const char *state_dir);

/* changed: there is something else than before. errors  E_INVALID path too long, of the pair */
int delegate_open(struct ev_loop *loop, const char *path, void (*changed)(void *ctx), void *ctx,
                  struct delegate **ret, struct err *err);
void delegate_close(struct delegate *d); /* NULL is fine */

/* As whom to greet; the name in *self stays.
 *
 *   key_file  of a key that the server has, too: read where the machine has none of its own
 *   errors    E_AGAIN the taskbroker has not said yet; of the file */
int delegate_identity(const struct delegate *d, const char *key_file, struct identity *self,
                      struct err *err);
int delegate_show(const struct delegate *d, struct session *s, struct err *err); /* before HELLO */
bool delegate_has_pair(const struct delegate *d); /* else the machine's key is used */
void delegate_ask(struct delegate *d);            /* it was refused: for another */

#endif
