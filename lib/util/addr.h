/* addr.h — which addresses are of the public internet. */
#ifndef UTIL_ADDR_H
#define UTIL_ADDR_H

#include <stdbool.h>

struct sockaddr;

/* False of loopback, private, link-local, shared, multicast and reserved ones, of these written as
 * IPv6 too, and of what is no IP address. */
bool addr_is_public(const struct sockaddr *a);

#endif
