/* guest.h — task types whose runner is said by a manifest on this machine, not by a plugin file
 * of their name: `runner: NAME`, and `guest:`, the program that runners/foreign hosts.
 */
#ifndef LOADER_GUEST_H
#define LOADER_GUEST_H

#include <sirdar/guest.h>
#include <stdbool.h>
#include <stddef.h>

struct err;
struct hold;
struct lent;

struct cause_pattern;

struct guest_type {
	struct runner_guest about; /* argv[0] is NULL when there is no `guest` */
	char *plugin_path;
	char why[240];                         /* of a refused open() */
	struct hold *hold;                     /* NULL: nobody holds its processes */
	struct lent *lent;                     /* its processes are their projects'; NULL: no */
	void (*release)(struct guest_type *t); /* of `hold`; NULL: none */
	struct cause_pattern *errors;          /* what its jobs print when they fail; in order */
	size_t n_errors;
	uint32_t processes; /* it may have at once, and percent of a processor; 0: as jobs may */
	uint32_t cpu_percent;
};

/* What a version was registered as; both borrowed. */
struct guest_version {
	const char *version, *sha256;
};

/* What is to be loaded for a type: PATH.so when there is one, else what PATH.yaml says.
 *
 *   path    of a plugin (.so) or of a manifest (.yaml)
 *   type    whose manifest it must be; NULL: any
 *   runners where other plugins are, when `runner` is not beside the manifest
 *   version NULL: any; else `path` is a manifest that must be this version: its own digest, its
 *           `version`, and of every file that the guest's command names the digest in `files`
 *   owns    *ret_type is the caller's, until guest_free(); NULL: load `path` as it is
 *   errors  E_INVALID with the place in the manifest, E_FORBIDDEN also for what is not what was
 *           registered, E_IO
 */
int guest_read(const char *path, const char *type, const char *runners,
               const struct guest_version *version, struct guest_type **ret_type, struct err *err);
bool guest_is_manifest(const char *path); /* by its name */
void guest_free(struct guest_type *t);    /* NULL is fine */

/* The extension, or NULL: for another one, or without a `guest`. */
const void *guest_extension(const struct guest_type *t, const char *id);

#endif
