/* daemon.h — the BaseServer put together: store, actors, threads; start and stop in order.
 *
 * daemon_stop() accepts any prefix of daemon_start().
 */
#ifndef BASESERVER_DAEMON_H
#define BASESERVER_DAEMON_H

#include <stdint.h>

struct daemon;
struct err;
struct param_baseserver;

int daemon_start(const struct param_baseserver *p, struct daemon **ret_daemon, struct err *err);
/* Until SIGTERM or SIGINT (0) or something that must end the process (its code). Signals are
 * blocked in every thread; SIGHUP calls `reload`. Thread: main. */
int daemon_run(struct daemon *d, void (*reload)(void *ctx, struct daemon *d), void *ctx,
               struct err *err);
void daemon_stop(struct daemon *d); /* NULL is fine */
/* The key file again. errors  as keys_reload() */
int daemon_reload_keys(struct daemon *d, struct err *err);

#endif
