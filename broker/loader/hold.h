/* hold.h — the processes of guests (runners/foreign), held as the jobkeeper holds jobs: the user
 * from this machine's list, limits, mask and privileges; a group of their own, or their descent,
 * by which all that came from one is ended.
 */
#ifndef LOADER_HOLD_H
#define LOADER_HOLD_H

#include <stdint.h>

struct err;
struct guest_type;
struct lent;
struct loader;
struct policy;
typedef struct Sirdar__KeeperStart Sirdar__KeeperStart;

/* Fill in what `t` lends its runner. Ends what a former loader of this type left in its groups.
 * Drops this process's environment: nothing of it may reach a guest.
 *
 *   errors  E_FORBIDDEN guest.user is not among `users`; E_IO, E_INVALID the setting `cgroup`
 *   thread  before others; guest_free() ends it
 */
int hold_open(struct loader *l, struct guest_type *t, struct err *err);

/* What the start of a guest takes of its manifest and of this machine's settings. Borrowed. */
void hold_fill(const struct guest_type *t, const char *const *argv, const char *const *env,
               uint64_t token, const struct policy *policy, Sirdar__KeeperStart *m);
/* Of a type whose hold_open() opened that. */
struct lent *hold_lent(const struct guest_type *t);
#endif
