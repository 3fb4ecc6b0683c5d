/* failed.h — the digest of an instance that ended badly, as the API shows it: what its broker
 * found, or what its reason and exit code say.
 */
#ifndef CGI_FAILED_H
#define CGI_FAILED_H

#include <stdbool.h>

struct buf;
struct instance;
struct reader;

enum failed_how {
	FAILED_SHORT, /* of a list: without the last lines */
	FAILED_WHOLE, /* and who had it killed */
};

/* Failed, StopSchedule or Killed. */
bool failed_is(const struct instance *i);
/* "failure": {...}; nothing of one that did not fail. Blocks: reads the store. */
void failed_put(struct buf *out, struct reader *r, const struct instance *i, enum failed_how how);

#endif
