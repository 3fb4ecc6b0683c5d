/* face.h — the HTTP server: from bytes to calls, from calls to routes. */
#ifndef CGI_FACE_H
#define CGI_FACE_H

struct cgi;
struct err;

/* Starts libmicrohttpd's thread. The actors must run.
 *   errors  E_INVALID address, E_FORBIDDEN public address without a certificate, E_IO */
int face_start(struct cgi *cgi, struct err *err);
/* The actors must have stopped, so that nothing is suspended. */
void face_stop(struct cgi *cgi);
/* Why it would not start on this address with these settings; before anything else. */
int face_check(const struct cgi *cgi, struct err *err);

#endif
