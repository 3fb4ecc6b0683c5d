/* hold.h — the processes of guests (runners/foreign), held as the jobkeeper holds jobs: the user
 * from this machine's list, limits, mask and privileges; a group of their own, or their descent,
 * by which all that came from one is ended.
 */
#ifndef LOADER_HOLD_H
#define LOADER_HOLD_H

struct err;
struct guest_type;
struct loader;

/* Fill in what `t` lends its runner. Ends what a former loader of this type left in its groups.
 * Drops this process's environment: nothing of it may reach a guest.
 *
 *   errors  E_FORBIDDEN guest.user is not among `users`; E_IO, E_INVALID the setting `cgroup`
 *   thread  before others; guest_free() ends it
 */
int hold_open(struct loader *l, struct guest_type *t, struct err *err);
#endif
