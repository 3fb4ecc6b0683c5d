#include "util/addr.h"

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "util/check.h"

/* RFC 6890 and what came after it: the first bits, and how many of them count. */
static const struct {
	uint32_t net;
	int bits;
} inner4[] = {
	{ 0x00000000, 8 },  { 0x0a000000, 8 },  { 0x64400000, 10 }, { 0x7f000000, 8 },
	{ 0xa9fe0000, 16 }, { 0xac100000, 12 }, { 0xc0000000, 24 }, { 0xc0000200, 24 },
	{ 0xc0586300, 24 }, { 0xc0a80000, 16 }, { 0xc6120000, 15 }, { 0xc6336400, 24 },
	{ 0xcb007100, 24 }, { 0xe0000000, 3 },
};

static bool public4(uint32_t ip)
{
	for (size_t i = 0; i < sizeof inner4 / sizeof inner4[0]; i++)
		if ((ip ^ inner4[i].net) >> (32 - inner4[i].bits) == 0)
			return false;
	return true;
}

static uint32_t four(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Global unicast is 2000::/3; in it, documentation, and 6to4 and Teredo, which carry an IPv4. */
static bool public6(const uint8_t ip[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b };

	if (memcmp(ip, mapped, sizeof mapped) == 0 || memcmp(ip, nat64, sizeof nat64) == 0)
		return public4(four(ip + 12));
	if ((ip[0] & 0xe0) != 0x20)
		return false;
	uint32_t first = four(ip);
	return first != 0x20010db8 && first >> 9 != 0x20010000 >> 9 && first >> 16 != 0x2002 &&
	       first >> 12 != 0x3fff0;
}

bool addr_is_public(const struct sockaddr *a)
{
	CHECK(a);
	if (a->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, a, sizeof in);
		return public4(ntohl(in.sin_addr.s_addr));
	}
	if (a->sa_family != AF_INET6)
		return false;
	struct sockaddr_in6 in6;
	memcpy(&in6, a, sizeof in6);
	return public6(in6.sin6_addr.s6_addr);
}
