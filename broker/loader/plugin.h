/* plugin.h — bring a runner plugin into this process, or say exactly why not. */
#ifndef LOADER_PLUGIN_H
#define LOADER_PLUGIN_H

#include <stdint.h>

struct err;
struct runner_host;
struct runner_plugin;

/* Map a private copy of the file: replacing it on disk later changes nothing here. Never
 * unmapped; to load another one, start another process.
 *
 *   errors  E_NOT_FOUND, E_IO no file or not loadable (a symbol missing), E_ABI no
 *           runner_entry, another ABI, a short struct, a member missing
 *   thread  before job threads
 */
int plugin_map(const char *path, const struct runner_plugin **ret_plugin, struct err *err);

/* The same, of a copy that `judge` has seen and taken (0); it may say why not in err. */
int plugin_map_judged(const char *path, int (*judge)(void *ctx, int fd, struct err *err), void *ctx,
                      const struct runner_plugin **ret_plugin, struct err *err);

/* A host's functions, for a file that calls each of them host_NAME. */
#define PLUGIN_HOST_CALLS \
	.log = host_log, .progress = host_progress, .param = host_param, \
	.param_name = host_param_name, .output = host_output, .cancelled = host_cancelled, \
	.pause = host_pause, .spawn = host_spawn, .process_wait = host_process_wait, \
	.extension = host_extension

/* As a host answers a plugin that asks for text: cut to `cap` with its NUL; the whole length. */
int64_t plugin_copy_out(const char *value, char *ret_value, uint64_t cap);

/* Its open(). errors  E_ABI with the number it answered */
int plugin_open(const struct runner_plugin *p, const struct runner_host *host, void **ret_self,
                struct err *err);

#endif
