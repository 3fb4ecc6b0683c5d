/* Frames: a head of eight bytes and a protobuf message. The head is judged before a byte of the
 * body counts; then the body's wire form is walked, for broken fields and texts that are no UTF-8
 * or hold a NUL, which protobuf-c would let pass; then it is unpacked within an allowance. What is
 * packed is walked the same way: a message that the other side would refuse is not sent. */
#include "wire/frame.h"

#include <protobuf-c/protobuf-c.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/utf8.h"
#include "wire/arena.h"

/* A small body may become this much larger in memory (measured: tiny sub-messages 20 times,
 * with the scratch of the library), anything beyond is an attack. */
enum { GROWTH_TIMES = 16, GROWTH_BASE = 64 * 1024, DEPTH_MAX = 8 };

#define FRAME(name, num, msg, who, max) \
	extern const ProtobufCMessageDescriptor sirdar__##msg##__descriptor;
#include "tbl/frame.def"
#undef FRAME

enum { WHO_P = 1, WHO_S = 2, WHO_B = 3 };

static const struct row {
	const char *name;
	const ProtobufCMessageDescriptor *of;
	uint32_t max;
	unsigned who;
} rows[] = {
#define FRAME(name, num, msg, who, max) \
	[num] = { #name, &sirdar__##msg##__descriptor, max, WHO_##who },
#include "tbl/frame.def"
#undef FRAME
};

static const struct row *row_of(unsigned kind)
{
	if (kind >= sizeof rows / sizeof rows[0] || !rows[kind].name)
		return NULL;
	return &rows[kind];
}

const char *frame_name(unsigned kind)
{
	const struct row *r = row_of(kind);
	return r ? r->name : NULL;
}

uint32_t frame_max(unsigned kind)
{
	const struct row *r = row_of(kind);
	return r ? r->max : 0;
}

bool frame_from_peer(unsigned kind)
{
	const struct row *r = row_of(kind);
	return r && r->who & WHO_P;
}

bool frame_from_server(unsigned kind)
{
	const struct row *r = row_of(kind);
	return r && r->who & WHO_S;
}

int frame_head_read(const uint8_t b[FRAME_HEAD_BYTES], struct frame_head *ret, struct err *err)
{
	uint32_t bytes = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	unsigned kind = (unsigned)b[4] << 8 | b[5];
	const struct row *r = row_of(kind);

	if (b[6] || b[7] || !r)
		return err_set(err, E_PROTOCOL, "no frame starts with kind %u, length %u, %02x%02x",
		               kind, bytes, b[6], b[7]);
	if (bytes > r->max)
		return err_set(err, E_TOO_BIG, "frame %s of %u bytes, the most is %u", r->name,
		               bytes, r->max);
	ret->bytes = bytes;
	ret->kind = (uint16_t)kind;
	return 0;
}

static void head_write(uint8_t b[FRAME_HEAD_BYTES], unsigned kind, size_t bytes)
{
	CHECK(bytes <= UINT32_MAX);
	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(bytes >> (24 - 8 * i));
	b[4] = (uint8_t)(kind >> 8);
	b[5] = (uint8_t)kind;
	b[6] = b[7] = 0;
}

/* --- strings ---------------------------------------------------------------------
 * protobuf-c accepts any bytes as a string and ends it at the first NUL, so a message
 * in memory no longer shows what was sent: the wire form is what gets looked at. */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
/* protobuf's own bounds are 1 and this one. protobuf-c keeps 0 as an unknown field, and packs it to
 * what nobody unpacks. */
#define FIELD_NUMBER_MAX 536870911U

static bool varint_read(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *at < end && shift < 70; shift += 7) {
		uint8_t c = *(*at)++;
		v |= (uint64_t)(c & 0x7f) << (shift < 64 ? shift : 0);
		if (!(c & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessageDescriptor *of,
                                                uint64_t number)
{
	return number > UINT32_MAX ? NULL
	                           : protobuf_c_message_descriptor_get_field(of, (unsigned)number);
}

static int message_check(const ProtobufCMessageDescriptor *of, const uint8_t *at,
                         const uint8_t *end, unsigned depth, struct err *err);

static int bytes_check(const ProtobufCMessageDescriptor *of, const ProtobufCFieldDescriptor *f,
                       const uint8_t *p, size_t n, unsigned depth, struct err *err)
{
	if (f && f->type == PROTOBUF_C_TYPE_STRING && !utf8_is_text(p, n))
		return err_set(err, E_PROTOCOL,
		               "%s.%s is not text: bad UTF-8 or a NUL in %zu bytes", of->short_name,
		               f->name, n);
	if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
		return message_check(f->descriptor, p, p + n, depth + 1, err);
	return 0;
}

/* The depth is that of the schema: no message contains itself (tests/lint/proto.sh). */
static int message_check(const ProtobufCMessageDescriptor *of, const uint8_t *at,
                         const uint8_t *end, unsigned depth, struct err *err)
{
	CHECK(depth < DEPTH_MAX);
	while (at < end) {
		uint64_t tag, n = 0;
		if (!varint_read(&at, end, &tag) || tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX)
			return err_set(err, E_PROTOCOL, "%s: broken field number", of->short_name);
		bool ok = true;
		switch (tag & 7) {
		case WIRE_VARINT:
			ok = varint_read(&at, end, &n), n = 0;
			break;
		case WIRE_64:
			n = 8;
			break;
		case WIRE_32:
			n = 4;
			break;
		case WIRE_BYTES:
			ok = varint_read(&at, end, &n);
			break;
		default:
			ok = false;
		}
		if (!ok || n > (size_t)(end - at))
			return err_set(err, E_PROTOCOL, "%s: field %llu runs past the end",
			               of->short_name, (unsigned long long)(tag >> 3));
		if ((tag & 7) == WIRE_BYTES) {
			int r = bytes_check(of, field_of(of, tag >> 3), at, n, depth, err);
			if (r < 0)
				return r;
		}
		at += n;
	}
	CHECK(at == end); /* each field was looked at before it was passed over */
	return 0;
}

int frame_pack(struct buf *out, enum frame_kind kind, const void *message, struct err *err)
{
	const struct row *r = row_of(kind);
	const ProtobufCMessage *m = message;

	CHECK(r && m->descriptor == r->of);
	size_t bytes = protobuf_c_message_get_packed_size(m);
	if (bytes > r->max)
		return err_set(err, E_TOO_BIG, "frame %s of %zu bytes, the most is %u", r->name,
		               bytes, r->max);
	uint8_t *at = buf_room(out, FRAME_HEAD_BYTES + bytes);
	head_write(at, kind, bytes);
	at += FRAME_HEAD_BYTES;
	CHECK(protobuf_c_message_pack(m, at) == bytes);
	/* The other side would end the session over it, again and again. */
	if (message_check(r->of, at, at + bytes, 0, err) < 0)
		return err ? err->code = E_INVALID : E_INVALID;
	buf_added(out, FRAME_HEAD_BYTES + bytes);
	return 0;
}

struct allowance {
	struct arena *arena;
	size_t left;
	bool spent;
};

static void *piece_take(void *ctx, size_t bytes)
{
	struct allowance *a = ctx;
	void *p = bytes <= a->left ? arena_take(a->arena, bytes) : NULL;

	if (!p) {
		a->spent = true;
		return NULL;
	}
	CHECK(a->left >= bytes);
	a->left -= bytes;
	return p;
}

static void piece_drop(void *ctx, void *p)
{
	(void)ctx;
	(void)p; /* the arena is reset as a whole */
}

int frame_unpack(enum frame_kind kind, const uint8_t *body, size_t bytes, struct arena *arena,
                 void **ret_message, struct err *err)
{
	const struct row *r = row_of(kind);

	CHECK(r);
	if (bytes > r->max)
		return err_set(err, E_TOO_BIG, "frame %s of %zu bytes, the most is %u", r->name,
		               bytes, r->max);
	int rc = message_check(r->of, body, body + bytes, 0, err);
	if (rc < 0)
		return err_wrap(err, rc, r->name);
	struct allowance a = { arena, GROWTH_TIMES * bytes + GROWTH_BASE, false };
	ProtobufCAllocator allocator = { piece_take, piece_drop, &a };
	void *m = protobuf_c_message_unpack(r->of, &allocator, bytes, body);
	if (!m && a.spent)
		return err_set(err, E_TOO_BIG, "frame %s of %zu bytes unpacks to more than %zu",
		               r->name, bytes, GROWTH_TIMES * bytes + GROWTH_BASE);
	if (!m)
		return err_set(err, E_PROTOCOL, "frame %s of %zu bytes does not unpack", r->name,
		               bytes);
	*ret_message = m;
	return 0;
}
