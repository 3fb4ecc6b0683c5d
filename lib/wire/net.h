/* net.h — addresses of sockets. */
#ifndef WIRE_NET_H
#define WIRE_NET_H

#include <stdint.h>
#include <sys/socket.h>

struct err;

#define NET_TEXT_BYTES 64 /* "[addr]:port" and a NUL */

struct net_address {
	struct sockaddr_storage at;
	socklen_t bytes;
};

/* An address ("127.0.0.1", "::1") or "localhost"; no name, nothing is asked.
 *   errors  E_INVALID */
int net_parse(const char *host, uint16_t port, struct net_address *ret, struct err *err);
/* What the setting `listen` says, "127.0.0.1:7420" or "[::1]:7420", as address and port.
 *   errors  E_INVALID */
int net_split_listen(const char *text, char host[256], uint16_t *ret_port, struct err *err);
/* The first address of a name as text net_parse() takes. Blocks on the network.
 *   errors  E_NOT_FOUND */
int net_resolve(const char *host, char ret_text[NET_TEXT_BYTES], struct err *err);
/* "host:port" or "[::1]:port" as a person wrote it: the host's address as text, and the port.
 * Blocks on the network.
 *   errors  E_INVALID, E_NOT_FOUND */
int net_server(const char *text, char ret_host[NET_TEXT_BYTES], uint16_t *ret_port,
               struct err *err);
/* "127.0.0.1:4711", "[::1]:4711", or "local". */
void net_text(const struct net_address *a, char ret_text[NET_TEXT_BYTES]);
/* The address of the other end of a socket as text; "local" if it has none. */
void net_peer_text(int fd, char ret_text[NET_TEXT_BYTES]);
/* The hardware address, "02:42:ac:11:00:02", of the interface by which this address would be
 * reached; "" for one that has none (loopback, tunnels). Nothing is sent. */
enum { NET_MAC_BYTES = 18 };
void net_mac_towards(const struct net_address *to, char ret_text[NET_MAC_BYTES]);

#endif
