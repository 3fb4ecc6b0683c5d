/* known.h — what the server knows that no file of a command line says: check --online judges by
 * it. */
#ifndef CLI_KNOWN_H
#define CLI_KNOWN_H

#include "admin-console/cli/documents/files.h"

struct cli;
struct known;
struct type_set;

/* Ask the server. CLI_OK: *ret is the caller's, to known_free(); else it was said why not. */
int known_ask(struct cli *cli, struct known **ret);
void known_free(struct known *k);                          /* NULL is fine */
const struct type_set *known_types(const struct known *k); /* borrowed; NULL of NULL */
/* The world of the files answers by it from now on; it borrows both. */
void known_join(struct known *k, struct workflow_files *f);

#endif
