/* source.h — a place outside that keeps secrets: one file each, a row of sources.def.
 *
 * A reference says where a value is, never the value. Only the documents of target servers have
 * references, and only administrators write those.
 */
#ifndef BASESERVER_SOURCE_H
#define BASESERVER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_BYTES_MAX 16384
#define SECRET_PATH_MAX  300

struct buf;
struct err;
struct fetch_ops;
struct param_baseserver;

struct secret_ref {
	const char *from, *path;
	const char *key; /* "": none */
};

struct source {
	const char *name;
	/* Is that a reference of this kind? Its words alone are judged. Thread: any. E_INVALID */
	int (*check)(const struct secret_ref *ref, struct err *err);
	/* At start. *ret stays NULL where no setting allows it. */
	int (*open)(const struct param_baseserver *p, void **ret, struct err *err);
	void (*close)(void *self);
	/* The value, appended. It may block, for secret_timeout_ms a step. Thread: any, and
	 * several at once.
	 *
	 *   ret_lease_us  how long the value is good; 0: as long as it is kept
	 *   errors        E_IO, E_TIMEOUT, E_AUTH: of one place (is_one), nothing can be had there
	 *                 now; else this value */
	int (*fetch)(void *self, const struct secret_ref *ref, struct buf *out,
	             int64_t *ret_lease_us, struct err *err);
	const char *setting; /* that turns it on */
	bool is_one; /* one place answers for all paths: where it is away, all of them wait */
};

extern const struct source source_file, source_env, source_exec, source_vault;

const struct source *source_find(const char *from); /* NULL: there is none */
extern const char source_names[];                   /* "file, env, ..." */
/* All that can be said of a reference without asking. E_INVALID, thread: any. */
int source_check(const struct secret_ref *ref, struct err *err);

/* A path of names between slashes, of letters, digits and _ . -; none begins with '.' or '-'. */
bool source_path_ok(const char *path);
/* Wiped, and empty. */
void source_wipe(struct buf *b);
/* A file of one line, its end left out: appended. `is_open`: others may read it, too. */
int source_line(const char *path, bool is_open, struct buf *out, struct err *err);

#endif
