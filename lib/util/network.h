/* network.h — whoever has an address has its neighbours. */
#ifndef UTIL_NETWORK_H
#define UTIL_NETWORK_H

#include <stddef.h>

#define NETWORK_TEXT 48

/* Of IPv4 the first `bytes`, of IPv6 a /64; "?" of what is no address. */
void network_of(const char *address, size_t bytes, char ret[NETWORK_TEXT]);

#endif
