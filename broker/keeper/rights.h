/* rights.h — what a process that becomes another user can never do again: the kernel's word.
 *
 * Filters of system calls stay for ever, for all that comes of the process. None of them gives
 * anything. All calls here are system calls only, fit for a child that shares memory.
 */
#ifndef KEEPER_RIGHTS_H
#define KEEPER_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* From here on no user or group but numbers JOB_UID_MIN..2^31-1 can be taken, none be kept by -1,
 * and there are no calls of other machines (i386, x32). Programs gain no rights any more, either.
 * False: the kernel has no filters (errno). */
bool rights_bind_users(void);

/* Mounts, bpf, keyrings, performance counters and userfaultfd answer EPERM: doors into the
 * kernel, by which jobs have got out before. As above. */
bool rights_bind_job(void);

/* Give up every capability. False: errno. */
bool rights_drop(void);

#endif
