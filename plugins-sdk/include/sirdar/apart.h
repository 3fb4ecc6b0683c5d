/* apart.h — an extension of the host: an attempt that touches files runs in a process of its
 * project's user.
 *
 * const struct runner_apart *a = host->extension(host->ctx, RUNNER_APART_ID). NULL where this
 * machine does not separate projects, in that process itself, and in brokers that have none: the
 * work is done where it is. A runner that may want it asks in its open(), for the loader then has a
 * jobkeeper, RUNNER_NO_PROCESS or not. Valid {open}; members are appended only.
 */
#ifndef SIRDAR_APART_H
#define SIRDAR_APART_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNNER_APART_ID "apart/1"

struct runner_job;

/* Host's parameter of such a process: the text of `egress` below. */
#define RUNNER_APART_EGRESS "sirdar.egress"

struct runner_apart {
	uint32_t size;
	/* [job]{job} From execute(), with its job as it came: the whole attempt, prepare() to
	 * finish(), is made in a process that has this plugin and its job's parameters. It has the
	 * secrets that were asked for until now, no others. `egress`: what it should know of where
	 * it may connect to, for it may not be able to read that itself; NULL: nothing.
	 * RUNNER_PROCESS, which execute() answers then; RUNNER_FAILED: the result says why. */
	int (*begin)(const struct runner_job *job, const char *egress);
};

#ifdef __cplusplus
}
#endif
#endif
