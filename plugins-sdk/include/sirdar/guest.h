/* guest.h — an extension of the host: what a type's manifest says of the program that does its
 * work, for runners that host programs of other languages (runners/foreign).
 *
 * const struct runner_guest *g = host->extension(host->ctx, RUNNER_GUEST_ID), NULL when the
 * type was loaded without such a manifest. Valid {open}; members are appended only.
 */
#ifndef SIRDAR_GUEST_H
#define SIRDAR_GUEST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNNER_GUEST_ID "guest/1"

/* Lists end with NULL and are never NULL; texts are the host's. */
struct runner_guest {
	uint32_t size;
	uint32_t concurrency; /* jobs at a time in one process; 0: as many as it says itself */
	uint32_t start_ms;    /* until its hello */
	uint32_t hang_ms;     /* without a word while jobs run: it hangs */
	const char *type;
	const char *directory;      /* absolute: where it runs */
	const char *const *argv;    /* at least the program */
	const char *const *env;     /* NAME=value */
	const char *const *secrets; /* parameters whose values are names of secrets */
	const char *const *servers; /* parameters that name a target server */
	void *ctx;                  /* for refuse() */
	/* [control]{loaded} Why open() is about to fail, for people. */
	void (*refuse)(void *ctx, const char *text);
	/* ---- guest/1 ends here ---- */
};

#ifdef __cplusplus
}
#endif
#endif
