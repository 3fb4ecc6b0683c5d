/* Addresses as text and as sockaddr, both ways; names of hosts; the hardware address of the way to
 * a host. Listening takes addresses only, servers may be names. net_resolve() may block for as
 * long as the machine's resolver does; everything else asks nobody. */
#include "wire/net.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if_arp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/err.h"

int net_split_listen(const char *text, char host[256], uint16_t *ret_port, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char *end;

	if (!colon || colon == text || (size_t)(colon - text) >= 256)
		return err_set(err, E_INVALID, "listen is '%s', want address:port", text);
	size_t n = (size_t)(colon - text);
	bool bracketed = text[0] == '[' && text[n - 1] == ']';
	memcpy(host, text + bracketed, n - 2 * bracketed);
	host[n - 2 * bracketed] = 0;
	long port = strtol(colon + 1, &end, 10);
	if (*end || end == colon + 1 || port < 0 || port > 65535)
		return err_set(err, E_INVALID, "listen is '%s', want a port of 0..65535", text);
	*ret_port = (uint16_t)port;
	return 0;
}

int net_parse(const char *host, uint16_t port, struct net_address *ret, struct err *err)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (strcmp(host, "localhost") == 0)
		host = "127.0.0.1";
	bool is_v4 = inet_pton(AF_INET, host, &v4.sin_addr) == 1;
	if (!is_v4 && inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
		return err_set(err, E_INVALID, "\"%.100s\" is not an address", host);
	*ret = (struct net_address){ .bytes = is_v4 ? sizeof v4 : sizeof v6 };
	memcpy(&ret->at, is_v4 ? (void *)&v4 : (void *)&v6, ret->bytes);
	return 0;
}

int net_resolve(const char *host, char ret_text[NET_TEXT_BYTES], struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	int r = getaddrinfo(host, NULL, &hints, &list);

	if (r != 0)
		return err_set(err, E_NOT_FOUND, "host \"%.100s\": %s", host, gai_strerror(r));
	r = getnameinfo(list->ai_addr, list->ai_addrlen, ret_text, NET_TEXT_BYTES, NULL, 0,
	                NI_NUMERICHOST);
	freeaddrinfo(list);
	return r ? err_set(err, E_NOT_FOUND, "host \"%.100s\": %s", host, gai_strerror(r)) : 0;
}

int net_server(const char *text, char ret_host[NET_TEXT_BYTES], uint16_t *ret_port, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char host[256], *end = NULL;
	long port = colon ? strtol(colon + 1, &end, 10) : 0;
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (len == 0 || len >= sizeof host || port < 1 || port > 65535 || *end)
		return err_set(err, E_INVALID, "server is '%.100s', want address:port", text);
	snprintf(host, sizeof host, "%.*s", (int)len, text);
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = 0;
		memmove(host, host + 1, len - 1);
	}
	*ret_port = (uint16_t)port;
	return net_resolve(host, ret_host, err);
}

void net_text(const struct net_address *a, char ret_text[NET_TEXT_BYTES])
{
	char host[INET6_ADDRSTRLEN] = "";
	const struct sockaddr_in *v4 = (const void *)&a->at;
	const struct sockaddr_in6 *v6 = (const void *)&a->at;

	if (a->at.ss_family == AF_INET && inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host))
		snprintf(ret_text, NET_TEXT_BYTES, "%s:%u", host, ntohs(v4->sin_port));
	else if (a->at.ss_family == AF_INET6 &&
	         inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host))
		snprintf(ret_text, NET_TEXT_BYTES, "[%s]:%u", host, ntohs(v6->sin6_port));
	else
		snprintf(ret_text, NET_TEXT_BYTES, "local");
}

void net_peer_text(int fd, char ret_text[NET_TEXT_BYTES])
{
	struct net_address a = { .bytes = sizeof a.at };

	if (getpeername(fd, (struct sockaddr *)&a.at, &a.bytes) < 0)
		a.at.ss_family = AF_UNSPEC;
	net_text(&a, ret_text);
}

/* --- hardware addresses ----------------------------------------------------------------- */

static bool is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (!a || a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
		              &((const struct sockaddr_in *)(const void *)b)->sin_addr,
		              sizeof(struct in_addr)) == 0;
	return memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
	              &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
	              sizeof(struct in6_addr)) == 0;
}

/* The name of the interface that has this address. */
static const char *interface_of(const struct ifaddrs *all, const struct sockaddr *own)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		if (is_same_host(i->ifa_addr, own))
			return i->ifa_name;
	return NULL;
}

static void mac_of(const struct ifaddrs *all, const char *name, char ret_text[NET_MAC_BYTES])
{
	for (const struct ifaddrs *i = all; i && name; i = i->ifa_next) {
		const struct sockaddr_ll *l = (const void *)i->ifa_addr;

		if (!l || l->sll_family != AF_PACKET || strcmp(i->ifa_name, name) != 0 ||
		    l->sll_hatype != ARPHRD_ETHER || l->sll_halen != 6)
			continue;
		snprintf(ret_text, NET_MAC_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", l->sll_addr[0],
		         l->sll_addr[1], l->sll_addr[2], l->sll_addr[3], l->sll_addr[4],
		         l->sll_addr[5]);
	}
}

void net_mac_towards(const struct net_address *to, char ret_text[NET_MAC_BYTES])
{
	/* Connecting a datagram's socket asks the routes and sends nothing. */
	int fd = socket(to->at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct net_address own = { .bytes = sizeof own.at };
	struct ifaddrs *all = NULL;

	ret_text[0] = '\0';
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&to->at, to->bytes) == 0 &&
	    getsockname(fd, (struct sockaddr *)&own.at, &own.bytes) == 0 && getifaddrs(&all) == 0) {
		mac_of(all, interface_of(all, (const struct sockaddr *)&own.at), ret_text);
		freeifaddrs(all);
	}
	if (fd >= 0)
		close(fd);
}
