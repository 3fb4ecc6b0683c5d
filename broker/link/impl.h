/* impl.h — inside of broker/link. */
#ifndef BROKER_LINK_IMPL_H
#define BROKER_LINK_IMPL_H

#include <ev.h>

#include "broker/link/link.h"
#include "broker/link/machine.h"
#include "wire/identity.h"
#include "wire/session.h"

#define NAME_BYTES 65
#define BEATS_KEPT 16

/* What was obeyed, as it stands in the file: "EPOCH STORE NUMBER PROOF". */
struct link_seen {
	uint32_t epoch;
	char store_id[65]; /* "": the server told none */
	uint64_t number;   /* the highest durable transition that this store's server told */
	char proof[33];    /* that came with it; "": none did */
};

struct link {
	struct ev_loop *loop;
	const struct link_self *self;
	const struct link_ops *ops;
	void *ctx;
	char name[NAME_BYTES];
	char boot_id[40];
	struct machine machine;
	struct identity key;
	uint64_t incarnation, dice;
	int64_t server_wall_us, server_told_us; /* a server's clock, as told then; 0: by none yet */

	struct session *session; /* NULL between tries */
	bool up;
	bool waits;        /* a loader: for its taskbroker's word before the next try */
	size_t server;     /* which of the list is next */
	uint32_t pause_ms; /* before the next try */
	bool is_standby;   /* this try met one that does not lead, which says: */
	size_t leader;     /* which of the list leads; the list's length: none of it */
	uint32_t retry_ms; /* and when to ask again */
	bool followed;     /* such word was followed, and nobody has welcomed us since */
	bool told;         /* the try before this one met a standby */
	ev_timer retry, beat;

	struct link_seen seen; /* highest obeyed, and what it had done by then */
	uint64_t kept_number;  /* of it, on disk */
	int64_t kept_us;
	uint32_t beat_ms, fence_ms, kill_ms, lose_ms, protocol;
	uint32_t beat_seq;
	int64_t sent_us[BEATS_KEPT]; /* of beat seq, at seq % BEATS_KEPT */
	int64_t acked_us;            /* send time of the last acknowledged beat or HELLO */
	int64_t hello_us;
	int64_t heard_us; /* when the last acknowledgement came */
};

/* identity.c: what we are besides our key (wire/identity.h) */
void link_seen_read(const char *path, struct link_seen *ret);
void link_seen_write(const char *path, const struct link_seen *s);
void link_boot_read(char *ret_id, size_t cap);
uint64_t link_dice(struct link *l); /* next pseudo-random number, for jitter */
int link_split(const char *server, char *ret_host, size_t cap, uint16_t *ret_port);

#endif
