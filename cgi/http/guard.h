/* guard.h — what is refused before anyone looks at a request's meaning. */
#ifndef CGI_GUARD_H
#define CGI_GUARD_H

struct call;

/* The request line and head as libmicrohttpd took them, which is more than is safe: two
 * lengths, a length with a transfer coding, two hosts, NUL, lines that do not end with CR LF.
 * `method` and `version` are where the library has them, as c->target: no copies.
 * Sets c->error_status where err.def has no fitting one. */
int guard_head(struct call *c, const char *method, const char *version);

/* The body, by its length and the route; sets c->body_max. */
int guard_length(struct call *c);

/* Of large bodies a few are taken at once, and only of who may send them. */
int guard_large(struct call *c);

/* For a request that changes something with a cookie: Origin and the CSRF token. */
int guard_csrf(struct call *c, const char *csrf);

/* Origin, when there is one, is this server. */
int guard_origin(struct call *c);

#endif
