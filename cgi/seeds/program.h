/* program.h — a command line as people write it, into parameters of the types java and mapreduce.
 */
#ifndef CGI_SEEDS_PROGRAM_H
#define CGI_SEEDS_PROGRAM_H

#include <stdbool.h>

struct call;
struct cJSON;

bool program_is(const char *type);
/* `java -Xmx1g -cp lib a.b.Main x`, `hadoop jar count.jar a.b.Main in out`; the program's own
 * name may be left out. Sets task's type and params. E_INVALID names what is missing. */
int program_put(struct call *c, struct cJSON *task, const char *type, const char *command);

#endif
