/* The text that is signed has every field but the signature; texts end with their NUL, which none
 * of them holds, and numbers are of fixed size: no two delegations have the same. */
#include "wire/delegation.h"

#include <sirdar.pb-c.h>
#include <string.h>

#include "util/buf.h"

static void number_put(struct buf *out, uint64_t n)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(n >> 8 * i);
	buf_put(out, bytes, sizeof bytes);
}

static void delegation_text(const Sirdar__Delegation *d, struct buf *out)
{
	static const char what[] = "sirdar delegation";

	buf_put(out, what, sizeof what);
	buf_put(out, d->name, strlen(d->name) + 1);
	buf_put(out, d->machine, strlen(d->machine) + 1);
	buf_put(out, d->type, strlen(d->type) + 1);
	number_put(out, d->lane);
	number_put(out, (uint64_t)d->from_us);
	number_put(out, (uint64_t)d->until_us);
	buf_put(out, d->key.data, d->key.len);
}

int delegation_sign(Sirdar__Delegation *d, const struct pair *by, uint8_t ret_sign[PAIR_SIGN_BYTES],
                    struct err *err)
{
	struct buf text;

	buf_init(&text);
	delegation_text(d, &text);
	int r = pair_sign(by, buf_at(&text), text.len, ret_sign, err);
	buf_done(&text);
	d->sign = (ProtobufCBinaryData){ r == 0 ? PAIR_SIGN_BYTES : 0, ret_sign };
	return r;
}

bool delegation_signed(const Sirdar__Delegation *d, const uint8_t key[PAIR_BYTES])
{
	struct buf text;

	buf_init(&text);
	delegation_text(d, &text);
	bool ok = pair_signed(key, buf_at(&text), text.len, d->sign.data, d->sign.len);
	buf_done(&text);
	return ok;
}
