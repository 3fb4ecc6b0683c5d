/* own.h — what a daemon keeps is its own: whatever the umask, and whoever made it.
 *
 * Directories have 0700, files 0600. One directory is shared on purpose, and only if its owner says
 * so with the setgid bit: the store's, mode 2750 and the group of those who read it (the packages'
 * tmpfiles.d makes it so). There a database is 0640, all other files are 0600 as everywhere.
 */
#ifndef UTIL_OWN_H
#define UTIL_OWN_H

#include <stdbool.h>

struct err;

/* Make a directory and those above it, or take from others what they may in one that is there, with
 * a warning: what is in it was made 0600, so nothing is lost yet. A stranger's is refused: he could
 * change all that is in it.
 *
 *   may_share  2750 stays
 *   errors     E_FORBIDDEN, E_EXISTS not a directory, E_IO
 */
int own_dir(const char *path, bool may_share, struct err *err);

/* Before SQLite opens it for writing: a database is there, and neither it nor what SQLite has put
 * beside it is open to others. SQLite gives new ones the database's mode. E_IO, E_FULL. */
int own_database(const char *path, struct err *err);

/* Nobody of this process's own user may look into it: no trace, no memory, environment or
 * descriptors through /proc, no core file. Jobs are often that user. At start, and again after an
 * exec. Not where a sanitizer looks for leaks: it traces its own process. */
void own_memory(void);

#endif
