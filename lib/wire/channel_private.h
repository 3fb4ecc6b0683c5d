/* channel_private.h — what channel*.c share; nobody else includes it.
 *
 * The plain half calls the other through a table, so that a program with local peers only
 * (jobkeeper) links no TLS library.
 */
#ifndef WIRE_CHANNEL_PRIVATE_H
#define WIRE_CHANNEL_PRIVATE_H

#include <gnutls/gnutls.h>

#include "wire/channel.h"
#include "wire/identity.h"

enum { IDENTITY_MAX = KEY_NAME_MAX };

struct channel_tls {
	void (*free)(struct channel *c);
	int (*shake)(struct channel *c, struct err *err);
	ssize_t (*read)(struct channel *c, uint8_t *to, size_t bytes, struct err *err);
	ssize_t (*write)(struct channel *c, const uint8_t *from, size_t bytes, struct err *err);
	bool (*bye)(struct channel *c); /* said? */
	void (*send_away)(struct channel *c);
	int (*proof)(const struct channel *c, uint8_t ret[SESSION_PROOF_BYTES], struct err *err);
};

struct channel {
	const struct channel_tls *is_tls; /* NULL: plain */
	int fd;
	gnutls_session_t tls;
	gnutls_psk_server_credentials_t server;
	gnutls_psk_client_credentials_t client;
	gnutls_certificate_credentials_t pair;
	const struct session_door *door; /* of a server */
	void *door_ctx;
	struct pins servers; /* of a client with a pair */
	bool is_known;       /* the other end's public key is */
	size_t half_sent;    /* bytes of the record TLS still has to write */
	bool wants_write;
	char identity[IDENTITY_MAX + 1];
};

#endif
