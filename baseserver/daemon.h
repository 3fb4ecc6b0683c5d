/* daemon.h — the BaseServer put together: store, actors, threads; start and stop in order.
 *
 * daemon_stop() accepts any prefix of daemon_start().
 */
#ifndef BASESERVER_DAEMON_H
#define BASESERVER_DAEMON_H

struct daemon;
struct err;
struct site;

enum { DAEMON_STOPPED = 0, DAEMON_STEPS_DOWN = 1, DAEMON_UNELECTED = 2 };

/* `site`: borrowed; its store and epoch are set. */
int daemon_start(struct site *site, struct daemon **ret_daemon, struct err *err);
/* Until SIGTERM or SIGINT (DAEMON_STOPPED), a step-down that was asked for, an election in etcd
 * that is not surely ours any more (DAEMON_UNELECTED), or something that must end the process
 * (its code; E_EPOCH: another leads, or may soon). Signals are blocked in every thread; SIGHUP
 * calls site->reload. Thread: main. */
int daemon_run(struct daemon *d, struct err *err);
/* Gives the lease back when it is still ours, and closes the store. NULL is fine. Returns 0, or
 * what an actor said meanwhile that must end the process. */
int daemon_stop(struct daemon *d, struct err *err);

#endif
