/* frame.h — frames: what travels between processes.
 *
 * On the wire: 4 bytes length of the body, 2 bytes kind, 2 bytes zero, big-endian; then
 * the body, one protobuf message. A kind has its own limit (schema/tbl/frame.def),
 * checked before a byte of the body is stored; before the peer is greeted only HELLO
 * may come. Bodies are unpacked into an arena with a cap.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

#define FRAME_HEAD_BYTES 8

enum frame_kind {
#define FRAME(name, num, msg, who, max) FR_##name = (num),
#include "tbl/frame.def"
#undef FRAME
};

struct frame_head {
	uint32_t bytes;
	uint16_t kind;
};

/* A kind's name ("HELLO") or NULL if there is none; its limit in bytes, 0 if none. */
const char *frame_name(unsigned kind);
uint32_t frame_max(unsigned kind);
bool frame_from_peer(unsigned kind); /* may a peer send it to a server? */
bool frame_from_server(unsigned kind);

/* Read a head from 8 bytes.
 *   errors  E_PROTOCOL unknown kind or junk, E_TOO_BIG over the kind's limit */
int frame_head_read(const uint8_t bytes[FRAME_HEAD_BYTES], struct frame_head *ret, struct err *err);

/* Append a whole frame: `message` is the protobuf-c message of that kind.
 *   errors  E_TOO_BIG, E_INVALID a string is not UTF-8 (utf8_clean() first): nothing was
 *           appended */
int frame_pack(struct buf *out, enum frame_kind kind, const void *message, struct err *err);

/* Unpack a body into `arena` (wire/arena.h): every pointer in *ret_message lives until the
 * arena is reset. Strings are checked: UTF-8, no NUL inside.
 *   errors  E_PROTOCOL, E_TOO_BIG (arena cap) */
struct arena;
int frame_unpack(enum frame_kind kind, const uint8_t *body, size_t bytes, struct arena *arena,
                 void **ret_message, struct err *err);

#endif
