/* lent.h — the processes of guests (runners/foreign) where this machine separates projects: each
 * project has its own, which the jobkeeper starts as the project's user, as it starts jobs.
 *
 * None outlives its loader for long: each has a lease that a thread here renews.
 */
#ifndef LOADER_LENT_H
#define LOADER_LENT_H

#include <stdint.h>

struct err;
struct guest_type;
struct lent;
struct loader;
struct policy;
typedef struct Sirdar__KeeperStart Sirdar__KeeperStart;

/* Fill in what `t` lends its runner. What a former loader of this lane left is ended as soon as
 * the jobkeeper is reached.
 *
 *   owns    t->lent is the caller's, until lent_close(), after the runner's close()
 *   errors  E_LIMIT, E_IO
 *   thread  before others
 */
int lent_open(struct loader *l, struct guest_type *t, struct err *err);
void lent_close(struct lent *n);

/* What the start of a guest takes of its manifest and of this machine's settings. Borrowed. */
void lent_fill(const struct guest_type *t, const char *const *argv, const char *const *env,
               uint64_t token, const struct policy *policy, Sirdar__KeeperStart *m);

/* taskrunner-loader --stand-in SOCKET UID PROGRAM WORD...: the process that the jobkeeper starts.
 * It is handed the guest's descriptors by who listens at SOCKET, if that is user UID, and becomes
 * PROGRAM. Returns only when it cannot: the exit code. */
#define STAND_IN_OPTION "--stand-in"
#define STAND_IN_TICKET "SIRDAR_STAND_IN"
int stand_in_main(int argc, char **argv);

enum { TICKET_BYTES = 32, STAND_IN_FDS = 5 };

#endif
