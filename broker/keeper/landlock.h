/* landlock.h — a job that may neither look into nor signal processes that are not its own.
 *
 * The kernel's Landlock: no right is needed, nothing is mounted, and no file is kept from anybody.
 * What the job starts is bound with it. */
#ifndef KEEPER_LANDLOCK_H
#define KEEPER_LANDLOCK_H

#include <stdbool.h>

struct err;

/* Does this machine's kernel have it (Linux 6.12)? E_MACHINE, with the remedy. */
int landlock_check(struct err *err);

/* Between birth and exec, for good: system calls only. It wants no_new_privs before. False: errno
 * says why, and nothing is bound. */
bool landlock_bind(void);

#endif
