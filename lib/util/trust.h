/* trust.h — may this file decide what a daemon does? Plugins, manifests, settings, secrets.
 *
 * A file is as good as everybody who can change it, or put another in its place. So all of its way
 * is judged, from the root: each directory, each link and what it leads to. Each belongs to root or
 * to this process's user, and neither its group nor others may write it; a directory with the
 * sticky bit (/tmp) may be written, for there nobody moves what is another's. A group that has
 * nobody but this process's user in it is no stranger. Mode bits show what an ACL gives, too.
 */
#ifndef UTIL_TRUST_H
#define UTIL_TRUST_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/* Open a file for reading whose way is good. Each step is taken from the directory that was judged
 * before it, so nobody swaps one in between. The file itself is not judged.
 *
 *   errors  E_FORBIDDEN, with the path, what is wrong with it and the remedy; E_NOT_FOUND, E_IO
 */
int trust_open(const char *path, int *ret_fd, struct err *err);

/* The file itself, open. E_FORBIDDEN, E_IO. */
int trust_judge(int fd, const char *path, struct err *err);

/* Way and file; nothing is kept open. Who wants to be sure of a race reads what trust_open() gave;
 * where the way is good, nobody but root and this process's user can begin one. */
int trust_check(const char *path, struct err *err);

/* Root at work in the place of a daemon that is another user, as `key-add` is: what belongs to that
 * user is good as well. Before the first judgement, from one thread. */
void trust_user(uid_t user);
bool trust_is_ours(uid_t owner);

#endif
