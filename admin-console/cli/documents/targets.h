/* targets.h — documents of target servers among those of apply, diff, export and check.
 *
 *     target: warehouse
 *     kind: postgresql
 *     host: db.lan
 *     password_file: secrets/warehouse     # beside this file; never the password itself
 *
 * The server's `apply` keeps its documents with the command, so these are taken out before, and
 * sent as commands of their own.
 */
#ifndef CLI_TARGETS_H
#define CLI_TARGETS_H

#include "admin-console/cli/online/online.h"

struct buf;
struct diags;

/* Take them out of a text (lines stay where they are) and append each to `list` as the arguments
 * of server-set, all members said, with `password_file` as a path. What is wrong goes to d.
 * False: nothing else was in the text. */
bool targets_take(struct buf *text, const char *file, cJSON *list, struct diags *d);
/* Compare them with the server's, append what changes to `changes` as `apply` does, and unless
 * `dry` make it so. `again`: set passwords also where one is kept. */
int targets_send(struct online *o, cJSON *list, bool dry, bool again, cJSON *changes);
/* Of an item of GET /api/v1/servers; without its password. */
void target_print(const cJSON *server, struct buf *out);
/* The file's first line. A line on stderr when it cannot be had. */
int password_of_file(const char *path, char *ret, size_t size);

#endif
