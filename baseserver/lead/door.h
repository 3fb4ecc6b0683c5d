/* door.h — what a server that waits says to those who come: a standby, such a one leads.
 *
 * Listens where the server would listen if it led. Every HELLO is refused with E_STANDBY, the
 * leader's address and when to ask again.
 */
#ifndef BASESERVER_DOOR_H
#define BASESERVER_DOOR_H

#include <stdint.h>

struct door;
struct err;
struct keys;
struct pair;
struct param_baseserver;

/* On a thread of its own. p and keys are borrowed.
 *   errors  those of listening */
int door_open(const struct param_baseserver *p, struct keys *keys, const struct pair *own,
              struct door **ret_door, struct err *err);
/* Who leads ("": nobody is known), and when to ask again. Thread: any. */
void door_tell(struct door *d, const char *address, uint32_t retry_ms);
void door_close(struct door *d); /* NULL is fine */

#endif
