/* notify.h — tell the service manager how it goes (sd_notify's datagram, without its library). */
#ifndef RT_NOTIFY_H
#define RT_NOTIFY_H

/* Remember where to send, from the environment, and forget the variable there so that no
 * child inherits it. Before threads. Without a manager the rest does nothing. */
void notify_open(void);

/* Send "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...". Thread: any. */
void notify_send(const char *state);

#endif
