/* names.h — names of tasks and brokers by id, for what shows ids to people.
 *
 * Filled by the disk thread, read by it and by net. A lock, held for a copy.
 */
#ifndef CGI_NAMES_H
#define CGI_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct names;

enum names_kind { NAMES_TASK, NAMES_BROKER, NAMES_KINDS };

#define NAMES_MAX 400 /* bytes of one, with the NUL */

struct names *names_new(void);
void names_free(struct names *n);
void names_set(struct names *n, enum names_kind kind, uint32_t id, const char *name);
/* False: not known; the miss is remembered. */
bool names_get(struct names *n, enum names_kind kind, uint32_t id, char ret[NAMES_MAX]);
uint32_t names_count(struct names *n);
/* Was anything missed since the last time this was asked? */
bool names_missed(struct names *n);

#endif
