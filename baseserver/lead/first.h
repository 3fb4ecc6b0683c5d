/* first.h — the password of the first administrator, where a new installation keeps it.
 *
 * A server whose store never had anything in it draws a password for `admin` and writes it once,
 * into a file of its state directory that nobody but its user and root can read. The file goes when
 * that password is no longer the one in force.
 */
#ifndef BASESERVER_FIRST_H
#define BASESERVER_FIRST_H

#include <stdbool.h>

struct err;

#define FIRST_FILE "first-password"
enum { FIRST_HASH = 128 };

/* Draw a password, write the file (0600, on disk when this returns), and hash it.
 *   errors  E_IO, E_FULL, E_NOMEM; there is no file then */
int first_draw(const char *state_dir, char ret_hash[FIRST_HASH], struct err *err);
bool first_is_kept(const char *state_dir);
/* Remove the file; what cannot be removed is told in the log. */
void first_forget(const char *state_dir);

#endif
