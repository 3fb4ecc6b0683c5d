/* proxy.h — the proxies that are believed about whose a request is, by which scheme, for which
 * host: `trusted_proxies`. Nobody else is: his headers count for nothing. */
#ifndef CGI_PROXY_H
#define CGI_PROXY_H

#include <stdbool.h>

struct call;
struct err;
struct param_cgi;
struct proxies;
struct sockaddr;

/* E_INVALID: no address, no network, no header of that name. */
int proxies_read(const struct param_cgi *p, struct proxies **ret, struct err *err);
void proxies_free(struct proxies *p); /* NULL is fine */
bool proxies_any(const struct proxies *p);

/* Sets c->address, c->https and c->host, which are those of the connection to `peer`, or what a
 * chain of trusted proxies says. The header is here, and not yet judged. */
void proxy_judge(struct call *c, const struct sockaddr *peer);

#endif
