/* What this program says of itself to a server: its name, the boot, and the highest epoch it has
 * obeyed.
 *
 * The file of the epoch also holds how far that server's store was, with the server's proof of it.
 * Reading the file never fails: what does not read was not seen, and a server then takes us for
 * one who has seen nothing. Nothing here talks to a server.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/link/impl.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/param.h"

#define SEEN_BYTES_MAX 192

void link_name_read(const struct param_taskbroker *settings, char *ret_name, size_t cap)
{
	CHECK(cap > 0);
	if (settings->name && settings->name[0])
		snprintf(ret_name, cap, "%s", settings->name);
	else if (gethostname(ret_name, cap) < 0)
		snprintf(ret_name, cap, "broker");
	ret_name[cap - 1] = 0;
}

/* Whatever the bytes are: what does not read was not seen. */
void link_seen_read(const char *path, struct link_seen *ret)
{
	char epoch[11] = "", number[21] = "";
	struct buf text;

	*ret = (struct link_seen){ 0 };
	buf_init(&text);
	if (fs_read(path, SEEN_BYTES_MAX, &text, NULL) == 0 &&
	    sscanf(buf_str(&text), "%10[0-9] %64[0-9a-f] %20[0-9] %32[0-9a-f]", epoch,
	           ret->store_id, number, ret->proof) < 3)
		ret->store_id[0] = 0; /* of a release that kept the epoch alone */
	ret->epoch = (uint32_t)strtoul(epoch, NULL, 10);
	ret->number = strtoull(number, NULL, 10);
	if (strlen(ret->proof) + 1 != sizeof ret->proof)
		ret->proof[0] = 0;
	buf_done(&text);
}

void link_seen_write(const char *path, const struct link_seen *s)
{
	char text[SEEN_BYTES_MAX];
	struct err err;
	int n = s->store_id[0]
	                ? snprintf(text, sizeof text, "%" PRIu32 " %s %" PRIu64 "%s%s\n", s->epoch,
	                           s->store_id, s->number, s->proof[0] ? " " : "", s->proof)
	                : snprintf(text, sizeof text, "%" PRIu32 "\n", s->epoch);

	CHECK(n > 0 && n < (int)sizeof text);
	if (fs_write(path, text, (size_t)n, 0600, &err) < 0)
		log_warn("link.epoch_not_kept", "epoch=%u why=\"%s\"", s->epoch, err.text);
}

void link_boot_read(char *ret_id, size_t cap)
{
	struct buf text;

	buf_init(&text);
	if (fs_read("/proc/sys/kernel/random/boot_id", 64, &text, NULL) < 0)
		buf_puts(&text, "unknown");
	snprintf(ret_id, cap, "%.*s", (int)strcspn(buf_str(&text), "\n"), buf_str(&text));
	buf_done(&text);
}

uint64_t link_dice(struct link *l)
{
	CHECK(l->dice); /* of 0 would follow nothing but 0 */
	l->dice ^= l->dice << 13;
	l->dice ^= l->dice >> 7;
	l->dice ^= l->dice << 17;
	return l->dice;
}

int link_split(const char *server, char *ret_host, size_t cap, uint16_t *ret_port)
{
	const char *colon = strrchr(server, ':');
	char *end;

	if (!colon || colon == server || (size_t)(colon - server) >= cap)
		return E_INVALID;
	unsigned long port = strtoul(colon + 1, &end, 10);

	if (*end || end == colon + 1 || port == 0 || port > 65535)
		return E_INVALID;
	size_t len = (size_t)(colon - server);

	if (server[0] == '[' && colon[-1] == ']') { /* [::1]:7420 */
		server++;
		len -= 2;
	}
	CHECK(len < cap);
	memcpy(ret_host, server, len);
	ret_host[len] = 0;
	*ret_port = (uint16_t)port;
	return 0;
}
