/* daemon_check.h — would a server with these settings start? */
#ifndef BASESERVER_DAEMON_CHECK_H
#define BASESERVER_DAEMON_CHECK_H

struct err;
struct param_baseserver;

/* As whoever asks may read: files are judged, and none is made. errors as of a start */
int daemon_check(const struct param_baseserver *p, struct err *err);

#endif
