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

#include <cjson/cJSON.h>
#include <stdbool.h>

struct buf;
struct diags;

/* Take them out of a text (lines stay where they are) and append each to `list` as the arguments
 * of server-set, all members said, with `password_file` as a path. What is wrong goes to d.
 * False: nothing else was in the text. */
bool targets_take(struct buf *text, const char *file, cJSON *list, struct diags *d);
/* What one of them changes, as `apply` tells of a change: kind, name, change, fields. `is`: an item
 * of GET /api/v1/servers, NULL for a server that is not there. *ret_password: its password is to be
 * read and sent, because the server has none or `again` asks for it. The caller's to delete. */
cJSON *target_change(const cJSON *is, const cJSON *wanted, bool again, bool *ret_password);
/* Of an item of GET /api/v1/servers; without its password. */
void target_print(const cJSON *server, struct buf *out);

#endif
