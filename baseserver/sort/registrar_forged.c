/* Brokers that speak of leases of others, or show proofs that are none. Each time is counted and
 * shown; three within an hour end all sessions of the broker, and for a minute it is not admitted.
 * An honest one never does it: what it lists that is over, unknown or of its own former machine is
 * stale, not forged (baseserver/net/worker_claim.c). In memory only: a server that begins anew
 * counts anew. */
#include <stdio.h>
#include <string.h>

#include "baseserver/sort/broker.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

enum { STRIKES_MAX = 3 };
#define STRIKES_KEPT_US (3600 * US_PER_S)
#define OUT_US          (60 * US_PER_S)

static bool is_forgotten(const struct forgeries *f, int64_t now_us)
{
	return !f->last_us || now_us - f->last_us >= STRIKES_KEPT_US;
}

bool forged_note(struct broker *b, const char *frame, const char *of, int64_t now_us)
{
	struct forgeries *f = &b->forged;

	if (is_forgotten(f, now_us))
		f->strikes = 0;
	f->ever++;
	f->strikes++;
	f->last_us = now_us ? now_us : 1;
	snprintf(f->what, sizeof f->what,
	         strcmp(of, b->name) == 0 ? "it showed a false proof of a lease of %s (%.20s)"
	                                  : "it spoke of a lease of broker %s (%.20s)",
	         of, frame);
	if (f->strikes < STRIKES_MAX)
		return false;
	f->strikes = 0;
	f->until_us = now_us + OUT_US;
	return true;
}

int forged_admit(const struct broker *b, int64_t now_us, struct greeting *g)
{
	int64_t left_us = b->forged.until_us - now_us;
	char text[sizeof g->text];

	if (left_us <= 0)
		return 0;
	snprintf(text, sizeof text,
	         "this broker spoke of leases of others three times: it is not admitted for "
	         "%lld s more",
	         (long long)((left_us + US_PER_S - 1) / US_PER_S));
	return registrar_refuse(g, E_FORGED, text);
}

void forged_print(const struct broker *b, int64_t now_us, struct buf *out)
{
	const struct forgeries *f = &b->forged;
	bool is_shown = !is_forgotten(f, now_us);

	put_text(out, "misbehaves", is_shown ? f->what : "");
	put_int(out, "forged", (int64_t)f->ever);
}
