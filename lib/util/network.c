#include "util/network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

void network_of(const char *address, size_t bytes, char ret[NETWORK_TEXT])
{
	unsigned char at[16] = { 0 };
	int family = strchr(address, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(family, address, at) != 1) {
		snprintf(ret, NETWORK_TEXT, "?");
		return;
	}
	if (family == AF_INET6)
		bytes = 8;
	memset(at + bytes, 0, sizeof at - bytes);
	inet_ntop(family, at, ret, NETWORK_TEXT);
}
