/* webpush.h — a message for one browser, as its maker's push service wants it: sealed so that only
 * the browser reads it (RFC 8291, in the coding aes128gcm of RFC 8188), and signed so that the
 * service knows who sends (VAPID, RFC 8292).
 *
 * Keys and secrets of subscriptions are base64url without padding, as browsers give them.
 */
#ifndef NOTIFIER_WEBPUSH_H
#define NOTIFIER_WEBPUSH_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct webpush_pair;

enum {
	WEBPUSH_SCALAR = 32, /* bytes of a private key */
	WEBPUSH_POINT = 65,  /* of a public one, uncompressed */
	WEBPUSH_AUTH = 16,
	WEBPUSH_SALT = 16,
	WEBPUSH_TEXT_MAX = 3072, /* services take 4096 bytes, all counted */
};

/* A subscription, as a browser gives it. */
struct webpush_to {
	const char *endpoint, *p256dh, *auth;
};

/* A pair of keys of the curve P-256; `scalar` NULL: a new one.
 *
 *   errors  E_INVALID the scalar is none of the curve's */
int webpush_pair_new(const unsigned char *scalar, struct webpush_pair **ret_pair, struct err *err);
/* The pair that a file holds, its private key as one line of base64url; made and written (mode
 * 0600) when there is none.
 *
 *   errors  E_FORBIDDEN others may read it, E_INVALID, E_IO */
int webpush_pair_file(const char *path, struct webpush_pair **ret_pair, struct err *err);
void webpush_pair_free(struct webpush_pair *p); /* NULL is fine */
/* The public key, as browsers want it to subscribe. */
const char *webpush_pair_public(const struct webpush_pair *p);

/* Whether keys of a subscription are what they must be: a point of the curve, 16 bytes.
 *
 *   errors  E_INVALID says which is wrong */
int webpush_check(const struct webpush_to *to, struct err *err);

/* What is of one message alone. */
struct webpush_once {
	const struct webpush_pair *pair;
	const unsigned char *salt; /* WEBPUSH_SALT random bytes */
};

/* The body of the request.
 *
 *   errors  E_INVALID a key, E_TOO_BIG the text */
int webpush_seal(const struct webpush_to *to, const struct webpush_once *once, const char *text,
                 size_t n, struct buf *ret_body, struct err *err);

/* The header line "Authorization: vapid ...". contact: mailto: or https:, of who answers for us. */
void webpush_sign(const struct webpush_pair *p, const char *endpoint, const char *contact,
                  int64_t now_s, struct buf *ret_header);

#endif
