#include "baseserver/model/told.h"

#include <stddef.h>

#include "util/buf.h"

const char *const channel_secrets[CHANNEL_SECRETS + 1] = { "url", "password", "secret", NULL };

void channel_about(const char *name, const char *secret, struct buf *out)
{
	buf_printf(out, "channel %s %s", name, secret);
}
