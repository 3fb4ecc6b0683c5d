/* TLS 1.3 with ephemeral ECDH, and a pre-shared key or a pair on either side (RFC 7250); nothing
 * else. An identity that nobody has gets a key that nobody has, so that it fails as a wrong key
 * does, in what is answered and in the work done. A public key is known or not; there are no
 * certificates, no names in them, and nobody who signs them. Who handles the bytes sees the same
 * calls as over a plain socket. */
#include <gnutls/crypto.h>
#include <pthread.h>
#include <string.h>

#include "util/check.h"
#include "util/err.h"
#include "wire/channel_private.h"
#include "wire/pair.h"

/* TLS 1.3 only, a pre-shared key with ephemeral ECDH (forward secrecy) and nothing else:
 * no certificates, no plain PSK, no older version. The key's hash is SHA-256, which leaves
 * AES-128-GCM and CHACHA20. */
#define SUITES \
	"NONE:+VERS-TLS1.3:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:+GROUP-SECP256R1:+GROUP-X25519"
#define SHARED ":+ECDHE-PSK:+SIGN-ECDSA-SECP256R1-SHA256"
/* Or a pair of Ed25519 on either side, as a bare key. */
#define PAIRED ":+ECDHE-ECDSA:+SIGN-EDDSA-ED25519:+CTYPE-SRV-RAWPK:+CTYPE-CLI-RAWPK"

enum { HANDSHAKE_BYTES_MAX = 16384 };

static pthread_once_t priority_once = PTHREAD_ONCE_INIT;
/* By what it has: bit 0 a key that both have, bit 1 a pair. Read only after the once. */
enum { HAS_SHARED = 1, HAS_PAIR = 2 };
static gnutls_priority_t priority[4];

static void priority_make(void)
{
	static const char *const texts[4] = { NULL, SUITES SHARED, SUITES PAIRED,
		                              SUITES SHARED PAIRED };

	for (int i = HAS_SHARED; i <= (HAS_SHARED | HAS_PAIR); i++)
		if (gnutls_priority_init(&priority[i], texts[i], NULL) < 0)
			priority[i] = NULL;
}

static int tls_error(struct err *err, int code, int rc, const char *what)
{
	return err_set(err, code, "%s: %s", what, gnutls_strerror(rc));
}

static void tls_free(struct channel *c)
{
	if (c->tls)
		gnutls_deinit(c->tls);
	if (c->server)
		gnutls_psk_free_server_credentials(c->server);
	if (c->client)
		gnutls_psk_free_client_credentials(c->client);
	if (c->pair)
		gnutls_certificate_free_credentials(c->pair);
}

static bool is_again(int rc)
{
	return rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED;
}

static int tls_wait(struct channel *c)
{
	c->wants_write = gnutls_record_get_direction(c->tls) == 1;
	return E_AGAIN;
}

static int shake_failed(struct channel *c, int rc, struct err *err)
{
	bool is_server = c->door != NULL;

	switch (rc) {
	case GNUTLS_E_PREMATURE_TERMINATION:
	case GNUTLS_E_PUSH_ERROR:
	case GNUTLS_E_PULL_ERROR:
		return tls_error(err, E_IO, rc, "handshake");
	case GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER: /* the binder is that of another key */
	case GNUTLS_E_INSUFFICIENT_CREDENTIALS:
	case GNUTLS_E_NO_CIPHER_SUITES:
	case GNUTLS_E_DECRYPTION_FAILED:
	case GNUTLS_E_ERROR_IN_FINISHED_PACKET:
		gnutls_alert_send_appropriate(c->tls, rc);
		return is_server ? err_set(err, E_AUTH,
		                           "unknown identity or wrong key: '%s' was offered; a key "
		                           "that was added is known after a SIGHUP",
		                           c->identity)
		                 : err_set(err, E_AUTH, "unknown identity or wrong key");
	case GNUTLS_E_FATAL_ALERT_RECEIVED:
		return is_server ? err_set(err, E_PROTOCOL, "handshake: the peer gave up (%s)",
		                           gnutls_alert_get_name(gnutls_alert_get(c->tls)))
		                 : err_set(err, E_AUTH, "the server refuses identity %s or its key",
		                           c->identity);
	case GNUTLS_E_CERTIFICATE_ERROR: /* as judge_key() has it */
		gnutls_alert_send(c->tls, GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE);
		return is_server ? err_set(err, E_AUTH, "nobody's public key")
		                 : err_set(err, E_AUTH,
		                           "the server's key is none that %s knows: enrol anew "
		                           "if it has another one now",
		                           c->identity);
	default:
		gnutls_alert_send_appropriate(c->tls, rc);
		return tls_error(err, E_PROTOCOL, rc, "handshake");
	}
}

static int shake(struct channel *c, struct err *err)
{
	c->wants_write = false;
	int r;
	do {
		r = gnutls_handshake(c->tls);
	} while (r < 0 && !is_again(r) && !gnutls_error_is_fatal(r));
	if (is_again(r))
		return tls_wait(c);
	if (r < 0)
		return shake_failed(c, r, err);
	bool is_shared = gnutls_kx_get(c->tls) == GNUTLS_KX_ECDHE_PSK;
	bool is_paired = gnutls_auth_get_type(c->tls) == GNUTLS_CRD_CERTIFICATE && c->is_known;
	if (gnutls_protocol_get_version(c->tls) != GNUTLS_TLS1_3 ||
	    gnutls_group_get(c->tls) == GNUTLS_GROUP_INVALID || !(is_shared || is_paired))
		return err_set(err, E_AUTH, "handshake ended without a key that was known");
	return 0;
}

static ssize_t record_read(struct channel *c, uint8_t *to, size_t bytes, struct err *err)
{
	c->wants_write = false;
	ssize_t n = gnutls_record_recv(c->tls, to, bytes);
	if (n >= 0)
		return n;
	if (n == GNUTLS_E_PREMATURE_TERMINATION)
		return err_set(err, E_CLOSED, "the peer is gone without a goodbye");
	/* A server judges a client's public key when the client has ended its handshake, or, by its
	 * first frame, whether it is let in by another. */
	if (n == GNUTLS_E_FATAL_ALERT_RECEIVED && !c->door &&
	    gnutls_alert_get(c->tls) == GNUTLS_A_BAD_CERTIFICATE)
		return err_set(err, E_AUTH, "the server does not know the public key of %s",
		               c->identity);
	/* A warning alert or a new key: nothing to hand out, look again when there is more. */
	if (is_again((int)n) || !gnutls_error_is_fatal((int)n))
		return tls_wait(c);
	return tls_error(err, n == GNUTLS_E_PULL_ERROR ? E_IO : E_PROTOCOL, (int)n, "read");
}

static ssize_t record_write(struct channel *c, const uint8_t *from, size_t bytes, struct err *err)
{
	CHECK(bytes >= c->half_sent);
	/* A record cut short by a full socket is kept encrypted: it is asked for with NULL. */
	ssize_t n = c->half_sent ? gnutls_record_send(c->tls, NULL, 0)
	                         : gnutls_record_send(c->tls, from, bytes);
	if (n >= 0) {
		c->half_sent = 0;
		c->wants_write = false;
		return n;
	}
	if (!is_again((int)n))
		return tls_error(err, E_IO, (int)n, "write");
	size_t record = gnutls_record_get_max_size(c->tls);
	if (!c->half_sent)
		c->half_sent = bytes < record ? bytes : record;
	return tls_wait(c);
}

static bool bye(struct channel *c)
{
	if (!is_again(gnutls_bye(c->tls, GNUTLS_SHUT_WR)))
		return true;
	tls_wait(c);
	return false;
}

static int tls_proof(const struct channel *c, uint8_t ret[SESSION_PROOF_BYTES], struct err *err)
{
	static const char label[] = "EXPORTER-sirdar";
	int r = gnutls_prf_rfc5705(c->tls, sizeof label - 1, label, 0, NULL, SESSION_PROOF_BYTES,
	                           (char *)ret);

	return r < 0 ? tls_error(err, E_UNSUPPORTED, r, "exporter") : 0;
}

static void send_away(struct channel *c)
{
	gnutls_alert_send(c->tls, GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE);
}

static const struct channel_tls tls_channel = {
	.send_away = send_away,
	.proof = tls_proof,
	.free = tls_free,
	.shake = shake,
	.read = record_read,
	.write = record_write,
	.bye = bye,
};

/* Whose key is it that came? It was not proven yet: the handshake fails if it is not. */
static int judge_key(gnutls_session_t tls)
{
	struct channel *c = gnutls_session_get_ptr(tls);
	char name[SESSION_NAME_BYTES] = "";
	uint8_t key[PAIR_BYTES];
	unsigned n = 0;
	const gnutls_datum_t *came = gnutls_certificate_get_peers(tls, &n);

	if (!came || n != 1 || !pair_of_spki(came->data, came->size, key))
		return GNUTLS_E_CERTIFICATE_ERROR;
	if (!c->door)
		c->is_known = pins_have(&c->servers, key);
	else if (c->door->whose)
		c->is_known = c->door->whose(c->door_ctx, key, name) == 0;
	if (c->is_known && c->door)
		memcpy(c->identity, name, sizeof c->identity);
	return c->is_known ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

static int pair_use(struct channel *c, const struct pair *own)
{
	uint8_t spki[PAIR_SPKI_BYTES], pkcs8[PAIR_PKCS8_BYTES];
	gnutls_datum_t public = { spki, sizeof spki }, private = { pkcs8, sizeof pkcs8 };
	int r = gnutls_certificate_allocate_credentials(&c->pair);

	if (r < 0)
		return r;
	pair_spki(own->key, spki);
	pair_pkcs8(own->secret, pkcs8);
	r = gnutls_certificate_set_rawpk_key_mem(c->pair, &public, &private, GNUTLS_X509_FMT_DER,
	                                         NULL, 0, NULL, 0, 0);
	gnutls_memset(pkcs8, 0, sizeof pkcs8);
	return r;
}

static int tls_start(struct channel *c, unsigned side, struct err *err)
{
	int has = (c->server || c->client ? HAS_SHARED : 0) | (c->pair ? HAS_PAIR : 0);

	pthread_once(&priority_once, priority_make);
	if (!priority[has])
		return err_set(err, E_UNSUPPORTED, "TLS 1.3 with these keys is not available");
	int r = gnutls_init(&c->tls, side | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS |
	                                     (c->pair ? GNUTLS_ENABLE_RAWPK : 0));
	if (r < 0)
		return tls_error(err, E_NOMEM, r, "TLS session");
	gnutls_session_set_ptr(c->tls, c);
	gnutls_transport_set_int(c->tls, c->fd);
	gnutls_handshake_set_timeout(c->tls, GNUTLS_INDEFINITE_TIMEOUT); /* the session's clock */
	gnutls_handshake_set_max_packet_length(c->tls, HANDSHAKE_BYTES_MAX);
	r = gnutls_priority_set(c->tls, priority[has]);
	if (r >= 0 && c->pair) {
		gnutls_session_set_verify_function(c->tls, judge_key);
		if (side == GNUTLS_SERVER)
			gnutls_certificate_server_set_request(c->tls, GNUTLS_CERT_REQUIRE);
		r = gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, c->pair);
	}
	if (r >= 0 && has & HAS_SHARED)
		r = gnutls_credentials_set(c->tls, GNUTLS_CRD_PSK,
		                           side == GNUTLS_SERVER ? (void *)c->server
		                                                 : (void *)c->client);
	return r < 0 ? tls_error(err, E_IO, r, "TLS session") : 0;
}

/* An identity nobody has gets a key nobody has: from here on it is a wrong key like any
 * other, in what is answered and in the work done. */
static int key_find(gnutls_session_t tls, const gnutls_datum_t *name, gnutls_datum_t *ret)
{
	struct channel *c = gnutls_session_get_ptr(tls);
	uint8_t key[KEY_BYTES], dummy[KEY_BYTES];

	if (gnutls_rnd(GNUTLS_RND_NONCE, dummy, sizeof dummy) < 0)
		return -1;
	bool fits = name->size > 0 && name->size <= IDENTITY_MAX &&
	            !memchr(name->data, 0, name->size);
	memset(c->identity, 0, sizeof c->identity);
	memcpy(c->identity, name->data, fits ? name->size : 0);
	if (!fits || c->door->key(c->door_ctx, c->identity, key) < 0)
		memcpy(key, dummy, sizeof key);
	ret->data = gnutls_malloc(sizeof key);
	ret->size = sizeof key;
	if (ret->data)
		memcpy(ret->data, key, sizeof key);
	gnutls_memset(key, 0, sizeof key);
	return ret->data ? 0 : -1;
}

/* The credentials are there, or `rc` says why not: begin, or free it all. */
static int tls_begin(struct channel *c, int rc, unsigned side, struct channel **ret,
                     struct err *err)
{
	rc = rc < 0 ? tls_error(err, E_NOMEM, rc, "TLS credentials") : tls_start(c, side, err);
	if (rc < 0)
		channel_free(c);
	else
		*ret = c;
	return rc;
}

int channel_server(int fd, const struct session_door *door, void *door_ctx, struct channel **ret,
                   struct err *err)
{
	struct channel *c = NULL;
	int r = channel_plain(fd, &c, err);

	if (r < 0)
		return r;
	c->is_tls = &tls_channel;
	c->door = door;
	c->door_ctx = door_ctx;
	r = gnutls_psk_allocate_server_credentials(&c->server);
	if (r >= 0)
		gnutls_psk_set_server_credentials_function2(c->server, key_find);
	if (r >= 0 && door->own)
		r = pair_use(c, door->own);
	return tls_begin(c, r, GNUTLS_SERVER, ret, err);
}

int channel_client(int fd, const struct identity *self, struct channel **ret, struct err *err)
{
	struct channel *c = NULL;
	int r = channel_plain(fd, &c, err);

	if (r < 0)
		return r;
	c->is_tls = &tls_channel;
	size_t bytes = strlen(self->name);
	if (bytes == 0 || bytes > IDENTITY_MAX) {
		channel_free(c);
		return err_set(err, E_INVALID, "identity of %zu bytes, 1 to %d are possible", bytes,
		               IDENTITY_MAX);
	}
	memcpy(c->identity, self->name, bytes + 1);
	c->servers = self->servers;
	if (self->is_pair)
		return tls_begin(c, pair_use(c, &self->pair), GNUTLS_CLIENT, ret, err);
	gnutls_datum_t name = { (uint8_t *)c->identity, (unsigned)bytes };
	gnutls_datum_t secret = { (uint8_t *)self->key,
		                  KEY_BYTES }; /* copied by the next but one */
	r = gnutls_psk_allocate_client_credentials(&c->client);
	if (r >= 0)
		r = gnutls_psk_set_client_credentials2(c->client, &name, &secret,
		                                       GNUTLS_PSK_KEY_RAW);
	return tls_begin(c, r, GNUTLS_CLIENT, ret, err);
}
