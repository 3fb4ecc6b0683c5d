/* dial.h — an extension of the host: a runner whose clients dial by themselves judges where to.
 *
 * const struct runner_dial *d = host->extension(host->ctx, RUNNER_DIAL_ID), NULL when this broker
 * has none. Valid {open}; members are appended only.
 */
#ifndef SIRDAR_DIAL_H
#define SIRDAR_DIAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNNER_DIAL_ID "dial/1"

struct sockaddr;

struct runner_dial {
	uint32_t size;
	/* [job]{job} From now on `may` is asked of every address that this thread connects or
	 * sends to, in whatever library; 0: it fails with EACCES. NULL: nobody is asked. No
	 * boundary for code that makes system calls itself. */
	void (*judge)(int (*may)(void *ctx, const struct sockaddr *to, uint32_t len), void *ctx);
};

#ifdef __cplusplus
}
#endif
#endif
