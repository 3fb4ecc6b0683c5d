/* definitions.h — tasks from the stored documents, compiled: what the ledger starts with. */
#ifndef BASESERVER_DEFINITIONS_H
#define BASESERVER_DEFINITIONS_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct store;
struct store_task;
struct task;

/* Tasks and their rows, same order. Retired tasks are left out. */
struct definitions {
	struct task **tasks;     /* one reference each */
	struct store_task *rows; /* strings: the tasks' */
	size_t n;
};

/* Read and compile every workflow that is stored.
 *
 *   timezone   of tasks that say none
 *   infra_max  of every task; 0: the default
 *   types_dir manifests of task types: which parameters name a target server; NULL: none
 *   owns      *ret is the caller's, until definitions_done()
 *   errors    E_CORRUPT a stored document or row that no longer compiles; those of the store
 */
int definitions_load(struct store *store, const char *timezone, const char *types_dir,
                     int infra_max, struct definitions *ret, struct err *err);
void definitions_done(struct definitions *d);

/* Its tasks are in quarantine since then, before anybody looks at them: not durable. Its name, the
 * caller's; NULL: there is no such workflow. */
char *definitions_put_aside(struct definitions *d, uint32_t workflow, int64_t since_us);

#endif
