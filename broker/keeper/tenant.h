/* tenant.h — which user of this machine a project may have; it knows lines and numbers only.
 */
#ifndef KEEPER_TENANT_H
#define KEEPER_TENANT_H

#include <stdint.h>

struct buf;
struct err;

/* Users in the line of a project, or (NULL) of all, with blanks between; nothing is added where it
 * has none. The file and its way are judged as trust.h has it.
 *   errors  E_MACHINE: it does not read; with the place */
int tenant_lines(const char *path, const char *project, struct buf *ret_users, struct err *err);

/* The file as a whole, when somebody begins who will ask it.
 *   errors  E_MACHINE: it does not read, with the place; E_CONFLICT: two projects have one user */
int tenant_check(const char *path, struct err *err);

/* The first of the users; with a wish, that one of them. NULL: not among them. Owned. */
char *tenant_pick(const char *users, const char *wish);

/* The number of a project, drawn from `uids` ("59000-59999") where it has none yet.
 *   errors  E_NOT_FOUND all are given to others; E_MACHINE */
int tenant_number(const char *uids, const char *file, const char *project, uint32_t *ret_uid,
                  struct err *err);

#endif
