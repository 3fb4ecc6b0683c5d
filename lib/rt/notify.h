/* notify.h — tell the service manager how it goes (sd_notify's datagram, without its library). */
#ifndef RT_NOTIFY_H
#define RT_NOTIFY_H

/* Remember where to send, from the environment, and forget the variable there so that no
 * child inherits it. Before threads. Without a manager the rest does nothing. */
void notify_open(void);

/* Send "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...". Thread: any. */
void notify_send(const char *state);

/* Seconds after which the manager ends this process if it heard no "WATCHDOG=1"; 0: it does not. */
double notify_watch_s(void);
/* Before an exec of this process: the next program finds what notify_open() found. Until that says
 * notify_watched(), or when there was no exec, nobody is watched: it may be one that does not know
 * how. */
void notify_hand_on(void);
void notify_watched(void);

#endif
