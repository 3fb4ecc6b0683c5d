/* apart.h — attempts in a process of their own, of their project's user: apart.c gives them away,
 * one.c is the process.
 */
#ifndef LOADER_APART_H
#define LOADER_APART_H

#include <stdbool.h>

struct job;
struct loader;
struct param_taskbroker;

#define APART_OPTION "--run-one"         /* TYPE PLUGIN [SHA256] */
#define APART_JOB    "job"               /* files in SIRDAR_FILES: a Job */
#define APART_GIVEN  "given"             /* and a ParamGive: what the host answers besides */
#define APART_ROOM   "sirdar.output_max" /* there: how much of its output is kept */

/* Does this machine separate projects? */
bool apart_is(const struct param_taskbroker *s);
void apart_init(struct loader *l);
void apart_loaded(struct loader *l, const char *plugin_path, const char *sha256);
void apart_done(struct loader *l);
/* NULL: this machine does not separate projects. */
const void *apart_extension(struct loader *l);
/* What a job was told when it asked, for its process; and wiped. Under loader.mu, or alone. */
void apart_keep(struct job *j, const char *name, const char *value);
void apart_forget(struct job *j);

/* main() of the process: the exit code; never comes back to a loop. */
int one_main(int argc, char **argv);

#endif
