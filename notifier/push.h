/* push.h — one message as a request to the push service of a browser's maker (RFC 8030): where it
 * may go, its headers, and the small JSON that the console's worker reads (public/sw.js):
 *
 *   {"title", "body", "path", "tag", "lang"}
 *
 * No secret is in it: whoever holds the device reads it.
 */
#ifndef NOTIFIER_PUSH_H
#define NOTIFIER_PUSH_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct channel;
struct device;
struct err;
struct notifier;
struct payload_ask;
struct webpush_pair;
struct webpush_to;

struct push_target {
	const struct device *device;
	const struct webpush_pair *pair;
	int64_t alert; /* of the first; 0: a test */
	bool brief;    /* its service found the whole too long */
};

/* The pair of the channel `push`, read or made; without that channel none.
 *
 *   errors  of webpush_pair_file() */
int push_pair(const struct notifier *n, struct webpush_pair **ret_pair, struct err *err);

/* Under which name the outbox knows how the last push to it went; to be freed. */
char *push_try_name(const char *device);

/* Whether what is known of a browser may be pushed to: its host is one of the channel's, its keys
 * are keys.
 *
 *   errors  E_FORBIDDEN, E_INVALID; the text says what is wanted */
int push_check(const struct channel *c, const struct webpush_to *to, struct err *err);

/* The JSON before it is sealed: WEBPUSH_TEXT_MAX at most, whatever an alert holds. */
void push_text(const struct payload_ask *ask, const char *tag, struct buf *out);

/* Body, address and header lines, separated by '\n'; for payload.c. `ask->push` was checked. */
void push_print(const struct payload_ask *ask, struct buf *ret_url, struct buf *ret_headers,
                struct buf *ret_body);

#endif
