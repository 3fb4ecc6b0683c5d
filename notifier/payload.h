/* payload.h — a message in the shape each kind of channel wants, and what counts as taken. */
#ifndef NOTIFIER_PAYLOAD_H
#define NOTIFIER_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "notifier/channels.h"
#include "notifier/message.h"

struct buf;
struct push_target;

struct payload_ask {
	const struct channel *channel;
	const char *who;         /* addresses of a mail, separated by commas */
	const char *console_url; /* "" */
	bool zh;                 /* unless the channel says otherwise */
	const struct alert *const *alerts;
	size_t n;
	int64_t now_us;                 /* wall: signatures carry it, and a mail's date */
	const char *id;                 /* of a mail, the same at each try; NULL: none */
	const struct push_target *push; /* to which device; NULL unless the channel pushes */
};

/* The body, and where it goes: the channel's address, with a signature where the channel signs
 * its address. `ret_header` is one more header line, or ""; of a push all of them, one a line. A
 * mail's body is the whole message. */
void payload_print(const struct payload_ask *ask, struct buf *ret_url, struct buf *ret_header,
                   struct buf *ret_body);

/* Cut between characters, "..." says so; and blanks for control signs (but line ends, tabs). */
void payload_cut(struct buf *b, size_t most);
void payload_clean(struct buf *b, bool lines);

/* The HTTP status was 2xx: was it taken? */
bool payload_taken(enum channel_type type, const char *answer, size_t n);

#endif
