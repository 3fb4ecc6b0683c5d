/* vault.h — secrets at rest: sealed with a key from a file, opened for who may have them.
 *
 * The file has a line `name:64 hex digits` for each key, mode 0600; what is sealed anew takes the
 * first, the others open what was sealed with them. It is read again when it was replaced. One
 * owner, one thread.
 */
#ifndef BASESERVER_VAULT_H
#define BASESERVER_VAULT_H

#include <stdbool.h>

struct err;
struct vault;

struct vault *vault_new(const char *path); /* copied; NULL or "": there are no keys */
void vault_free(struct vault *v);          /* NULL is fine */

bool vault_is_set(const struct vault *v); /* there is a file with keys, by the settings */

/* `about` is what the secret belongs to: sealed for one thing, it does not open as another's.
 *
 *   owns    *ret_sealed is the caller's: free()
 *   errors  E_FORBIDDEN no key, or a file that others may read; E_INVALID a file that is none */
int vault_seal(struct vault *v, const char *about, const char *text, char **ret_sealed,
               struct err *err);
/*   owns    *ret_text is the caller's: vault_forget()
 *   errors  as above; E_CORRUPT sealed with another key, for something else, or damaged */
int vault_open(struct vault *v, const char *about, const char *sealed, char **ret_text,
               struct err *err);
/* Was it sealed with the key that is the first now? errors  as vault_seal() */
int vault_is_current(struct vault *v, const char *sealed, bool *ret, struct err *err);
void vault_forget(char *text); /* wiped and freed; NULL is fine */

#endif
