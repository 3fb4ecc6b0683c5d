/* kept.h — an extension of the host: which files are the broker's own, for runners that open what a
 * task names inside the broker's process.
 *
 * const struct runner_kept *k = host->extension(host->ctx, RUNNER_KEPT_ID), NULL when there is
 * nothing to keep. Valid {open}; members are appended only.
 */
#ifndef SIRDAR_KEPT_H
#define SIRDAR_KEPT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNNER_KEPT_ID "kept/1"

struct runner_kept {
	uint32_t size;
	uint32_t n;
	const char *const *paths; /* files, and directories with all that is in them */
	uint32_t is_root;  /* not 0: this process is root and its jobs are not: see apart.h */
	uint32_t is_boxed; /* not 0: a job's process is held apart, and its work never leaves it */
};

#ifdef __cplusplus
}
#endif
#endif
