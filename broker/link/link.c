/* One standing connection to the server that leads, always tried for.
 *
 * The leases of a beat count from the time that beat was sent, once it is acknowledged (broker
 * rule 4). A session whose beats are not acknowledged, or whose server says a lower epoch than the
 * highest obeyed, is ended; that epoch is written down when it rises (broker rule 5). What a token
 * is, and every frame that is not about the session, is the owner's (struct link_ops).
 */
#include "broker/link/link.h"

#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "broker/link/delegate.h"
#include "broker/link/impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"
#include "wire/delegation.h"
#include "wire/net.h"
#include "wire/protocol.h"

/* Until the first welcome; SEMANTICS 3 has the same. */
#define BEAT_MS_DEFAULT  10000
#define FENCE_MS_DEFAULT 150000
#define KILL_MS_DEFAULT  15000
#define LOSE_MS_DEFAULT  180000
#define QUEUE_BYTES      (16u << 20)
#define KEEP_US          (2 * US_PER_S) /* between two writes of the file */

/* --- trying ----------------------------------------------------------------------- */

/* Between half and all of the pause, so that a fleet does not come back as one. */
static void retry_later(struct link *l, uint32_t pause_ms)
{
	CHECK(!l->session && !l->up);
	uint64_t part = link_dice(l) % (pause_ms / 2 + 1);

	ev_timer_stop(l->loop, &l->retry);
	ev_timer_set(&l->retry, (double)(pause_ms - part) / 1000.0, 0.0);
	ev_timer_start(l->loop, &l->retry);
}

static void retry_at_once(struct link *l)
{
	CHECK(!l->session);
	ev_timer_stop(l->loop, &l->retry);
	ev_timer_set(&l->retry, 0.0, 0.0);
	ev_timer_start(l->loop, &l->retry);
}

/* One that waits has told who leads. Its word is followed once; if that leads nowhere (who leads
 * has died, say), all are asked in turn, after the pause it named: it knows when there may be
 * news. */
static void try_told(struct link *l)
{
	const struct param_taskbroker *p = l->self->settings;
	uint32_t pause_ms = (uint32_t)p->retry_min_ms;

	CHECK(l->is_standby);
	l->is_standby = false;
	l->told = true;
	if (l->leader < p->server.n && !l->followed) {
		l->server = l->leader;
		l->followed = true;
	} else if (++l->server % p->server.n == 0 || l->followed) {
		pause_ms = l->retry_ms;
	}
	if (pause_ms < p->retry_min_ms)
		pause_ms = (uint32_t)p->retry_min_ms;
	if (pause_ms > p->retry_max_ms)
		pause_ms = (uint32_t)p->retry_max_ms;
	retry_later(l, pause_ms);
}

static void try_failed(struct link *l, const char *why)
{
	const struct param_taskbroker *p = l->self->settings;

	if (l->is_standby) {
		l->session = NULL;
		try_told(l);
		return;
	}
	log_info("link.down", "server=%s pause_ms=%u why=\"%s\"",
	         p->server.items[l->server % p->server.n], l->pause_ms, why);
	l->session = NULL;
	l->server++;
	/* Who waits has named the pause that counts. */
	retry_later(l, l->told ? (uint32_t)p->retry_min_ms : l->pause_ms);
	if (!l->told && l->server % p->server.n == 0)
		l->pause_ms *= 2;
	l->told = false;
	if (l->pause_ms > p->retry_max_ms)
		l->pause_ms = (uint32_t)p->retry_max_ms;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct link *l = ctx;
	bool was_up = l->up;

	(void)s;
	l->up = false;
	ev_timer_stop(l->loop, &l->beat);
	try_failed(l, err->text);
	if (was_up && l->ops->on_down)
		l->ops->on_down(l->ctx, err->text);
}

/* Of the interface that leads to the server that is tried. */
static void mac_of(const struct link *l, char ret[NET_MAC_BYTES])
{
	const struct param_taskbroker *p = l->self->settings;
	struct net_address at;
	struct err ignored;
	char host[256];
	uint16_t port;

	ret[0] = '\0';
	if (l->self->role == LINK_BROKER &&
	    link_split(p->server.items[l->server % p->server.n], host, sizeof host, &port) == 0 &&
	    net_parse(host, port, &at, &ignored) == 0)
		net_mac_towards(&at, ret);
}

/* A jobkeeper with a launcher does, and no other is talked to in keeper_dir; of our own, root's
 * alone can. `users` are everybody's. */
static uint32_t separates(const struct param_taskbroker *p)
{
	bool has_map = p->job_users_file[0] || p->job_uids[0];

	return p->keeper_dir[0] || (geteuid() == 0 && has_map && !p->users.n) ? 1 : 2;
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct link *l = ctx;
	const struct param_taskbroker *p = l->self->settings;
	Sirdar__Hello hello = SIRDAR__HELLO__INIT;
	char host[NAME_BYTES] = "", mac[NET_MAC_BYTES];
	struct err err;

	(void)identity;
	mac_of(l, mac);
	gethostname(host, sizeof host - 1);
	hello.protocol_min = protocol_min;
	hello.protocol_max = protocol_max;
	hello.role = l->self->role;
	hello.name = l->name;
	hello.software = (char *)SIRDAR_VERSION;
	hello.boot_id = l->boot_id;
	hello.incarnation = l->incarnation;
	hello.host = host;
	hello.mac = mac;
	hello.groups = p->groups.items;
	hello.n_groups = p->groups.n;
	hello.type = (char *)l->self->type;
	hello.slots = l->self->slots;
	hello.held = (uint64_t *)l->ops->held(l->ctx, &hello.n_held);
	hello.runner_version = (char *)l->self->runner_version;
	hello.highest_epoch = hello.seen_epoch = l->seen.epoch;
	hello.store_id = l->seen.store_id;
	hello.seen_number = l->seen.number;
	hello.seen_proof = l->seen.proof;
	hello.lane = l->self->lane;
	hello.separates = separates(p);
	hello.probes = l->self->probes;
	hello.proves = true;
	hello.keeps_proofs = l->ops->keeps_proofs && l->ops->keeps_proofs(l->ctx);
	hello.machine = l->machine.drawn;
	hello.machine_former = l->machine.former;
	hello.others = l->ops->others && l->ops->others(l->ctx);
	l->hello_us = clock_now_us();
	int r = l->self->delegate ? delegate_show(l->self->delegate, s, &err) : 0;
	if (r < 0 || session_send(s, FR_HELLO, &hello, &err) < 0)
		session_end(s, err.code, err.text);
}

/* --- signs of life ---------------------------------------------------------------- */

void link_beat(struct link *l)
{
	Sirdar__Beat beat = SIRDAR__BEAT__INIT;

	if (!l->up)
		return;
	if (l->ops->on_beat)
		l->ops->on_beat(l->ctx);
	beat.seq = ++l->beat_seq;
	beat.held = (uint64_t *)l->ops->held(l->ctx, &beat.n_held);
	beat.running = (uint32_t)beat.n_held;
	l->sent_us[beat.seq % BEATS_KEPT] = clock_now_us();
	session_send(l->session, FR_BEAT, &beat, NULL);
}

/* A connection whose beats are not acknowledged is no use, however alive it looks. */
static void on_beat_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct link *l = w->data;
	int64_t silent_us = clock_now_us() - l->heard_us;

	(void)loop;
	(void)events;
	CHECK(l->up);
	if (silent_us > 4LL * l->beat_ms * US_PER_MS + US_PER_S) {
		session_end(l->session, E_TIMEOUT, "beats are not acknowledged");
		return;
	}
	link_beat(l);
}

static int take_beat_ack(struct link *l, const Sirdar__BeatAck *ack)
{
	if (ack->seq > l->beat_seq || l->beat_seq - ack->seq >= BEATS_KEPT)
		return E_PROTOCOL;
	int64_t sent_us = l->sent_us[ack->seq % BEATS_KEPT];

	l->heard_us = clock_now_us();
	if (sent_us > l->acked_us)
		l->acked_us = sent_us;
	l->ops->on_lease(l->ctx, ack->seq, sent_us + (int64_t)l->fence_ms * US_PER_MS, ack->unknown,
	                 ack->n_unknown);
	return 0;
}

/* --- epochs ----------------------------------------------------------------------- */

static void keep_seen(struct link *l)
{
	link_seen_write(l->self->epoch_file, &l->seen);
	l->kept_number = l->seen.number;
	l->kept_us = clock_now_us();
}

static int check_epoch(struct link *l, uint32_t epoch)
{
	if (epoch < l->seen.epoch) {
		log_warn("link.stale_epoch", "epoch=%u highest=%u", epoch, l->seen.epoch);
		return E_EPOCH;
	}
	if (epoch > l->seen.epoch) {
		l->seen.epoch = epoch;
		l->seen.proof[0] = 0; /* it was of the former one */
		keep_seen(l);
	}
	return 0;
}

static void take_proof(struct link *l, const char *proof)
{
	bool fits = strlen(proof) < sizeof l->seen.proof;

	snprintf(l->seen.proof, sizeof l->seen.proof, "%s", fits ? proof : "");
}

/* A server that leads has told how far its store is. On disk it is behind by some seconds at most:
 * it is of use when this process is restarted while the store is put back. */
static void take_number(struct link *l, uint64_t number, const char *proof)
{
	if (!l->seen.store_id[0] || number <= l->seen.number)
		return;
	l->seen.number = number;
	take_proof(l, proof);
	if (clock_now_us() - l->kept_us > KEEP_US)
		keep_seen(l);
}

/* It has judged what we had seen: from here on its own count is what we go by. */
static void take_store(struct link *l, const Sirdar__Welcome *w)
{
	if (strlen(w->store_id) >= sizeof l->seen.store_id)
		return;
	if (strcmp(w->store_id, l->seen.store_id) == 0 && w->number == l->seen.number &&
	    strcmp(w->proof, l->seen.proof) == 0)
		return;
	memcpy(l->seen.store_id, w->store_id, strlen(w->store_id) + 1);
	l->seen.number = w->number;
	take_proof(l, w->proof);
	keep_seen(l);
}

/* --- frames ----------------------------------------------------------------------- */

static int take_welcome(struct link *l, const Sirdar__Welcome *w)
{
	if (l->up || w->beat_ms == 0 || w->fence_ms == 0 || w->protocol < protocol_min ||
	    w->protocol > protocol_max)
		return E_PROTOCOL;
	if (check_epoch(l, w->epoch) < 0)
		return E_EPOCH;
	take_store(l, w);
	l->protocol = w->protocol;
	l->beat_ms = w->beat_ms;
	l->fence_ms = w->fence_ms;
	l->kill_ms = w->kill_ms;
	l->lose_ms = w->lose_ms;
	l->server_wall_us = w->server_wall_us;
	l->server_told_us = clock_now_us();
	l->up = true;
	l->followed = false;
	l->pause_ms = (uint32_t)l->self->settings->retry_min_ms;
	l->beat_seq = 0;
	memset(l->sent_us, 0, sizeof l->sent_us);
	l->heard_us = clock_now_us();
	if (l->hello_us > l->acked_us)
		l->acked_us = l->hello_us;
	session_greeted(l->session);
	if (l->self->role == LINK_BROKER) /* for its loaders, too */
		identity_learn(l->self->settings->key_file, &l->key, w->server_keys,
		               w->n_server_keys);
	log_info("link.up", "server=%s epoch=%u session=%u", session_peer(l->session), w->epoch,
	         w->session);
	l->ops->on_lease(l->ctx, 0, l->hello_us + (int64_t)l->fence_ms * US_PER_MS, NULL, 0);
	l->ops->on_up(l->ctx, w);
	ev_timer_set(&l->beat, l->beat_ms / 1000.0, l->beat_ms / 1000.0);
	ev_timer_start(l->loop, &l->beat);
	link_beat(l);
	return 0;
}

static int take_standby(struct link *l, const Sirdar__Refuse *r)
{
	const struct param_taskbroker *p = l->self->settings;

	log_info("link.standby", "server=%s leader=%s", p->server.items[l->server % p->server.n],
	         r->leader);
	l->is_standby = true;
	l->retry_ms = r->retry_ms;
	for (l->leader = 0; l->leader < p->server.n; l->leader++)
		if (strcmp(p->server.items[l->leader], r->leader) == 0)
			break;
	return E_STANDBY;
}

static int take_refuse(struct link *l, const Sirdar__Refuse *r)
{
	if (r->code == E_STANDBY && !l->up)
		return take_standby(l, r);
	if (r->code == E_PEER && link_rekeyed(l)) { /* the next key's first use ended ours */
		log_info("link.rekeyed", "server=%s", session_peer(l->session));
		return r->code;
	}
	log_warn("link.refused", "code=%s final=%d why=\"%s\"", err_name(r->code), r->final,
	         r->text);
	if (r->code == E_DELEGATION && l->self->delegate)
		delegate_ask(l->self->delegate);
	if (r->final)
		l->pause_ms = (uint32_t)l->self->settings->retry_max_ms;
	return r->code < 0 ? r->code : E_CLOSED;
}

static int take_pong(struct link *l, const Sirdar__Ping *ping)
{
	return session_send(l->session, FR_PONG, ping, NULL);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct link *l = ctx;

	(void)s;
	if (kind == FR_WELCOME)
		return take_welcome(l, message);
	if (kind == FR_REFUSE)
		return take_refuse(l, message);
	if (kind == FR_PING)
		return take_pong(l, message);
	if (kind == FR_PONG)
		return 0;
	if (!l->up)
		return E_PROTOCOL;
	if ((kind == FR_JOBS && check_epoch(l, ((const Sirdar__Jobs *)message)->epoch) < 0) ||
	    (kind == FR_KILLS && check_epoch(l, ((const Sirdar__Kills *)message)->epoch) < 0) ||
	    (kind == FR_BEAT_ACK && check_epoch(l, ((const Sirdar__BeatAck *)message)->epoch) < 0))
		return E_EPOCH;
	if (kind == FR_JOBS) {
		const Sirdar__Jobs *jobs = message;
		take_number(l, jobs->number, jobs->proof);
	}
	if (kind == FR_BEAT_ACK) {
		const Sirdar__BeatAck *ack = message;
		take_number(l, ack->number, ack->proof);
		return take_beat_ack(l, message);
	}
	return l->ops->on_frame(l->ctx, kind, message);
}

static const struct session_ops session_calls = {
	.on_open = on_open,
	.on_frame = on_frame,
	.on_end = on_end,
};

/* As whom to greet: it may have been changed. */
static int take_key(struct link *l, struct err *err)
{
	const char *file = l->self->settings->key_file;

	if (l->self->delegate)
		return delegate_identity(l->self->delegate, file, &l->key, err);
	identity_again(file, &l->key);
	return 0;
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int events)
{
	struct link *l = w->data;
	const struct param_taskbroker *p = l->self->settings;
	struct session_limits limits = {
		.handshake_ms = (uint32_t)p->connect_ms,
		.idle_ms = 0, /* on_beat_timer() sees to that */
		.queue_bytes = QUEUE_BYTES,
	};
	const char *server = p->server.items[l->server % p->server.n];
	char host[256];
	uint16_t port;
	struct err err;
	int r;

	(void)events;
	CHECK(!l->session);
	r = take_key(l, &err);
	l->waits = r == E_AGAIN;
	if (l->waits) { /* link_delegated() goes on */
		log_info("link.waits", "why=\"%s\"", err.text);
		return;
	}
	if (r == 0 && link_split(server, host, sizeof host, &port) < 0)
		r = err_set(&err, E_INVALID, "want address:port");
	if (r == 0)
		r = session_connect(&(struct session_owner){ loop, &session_calls, l, &limits },
		                    host, port, &l->key, &l->session, &err);
	if (r < 0)
		try_failed(l, err.text);
}

/* --- life ------------------------------------------------------------------------- */

int link_open(struct ev_loop *loop, const struct link_self *self, const struct link_ops *ops,
              void *ctx, struct link **ret_link, struct err *err)
{
	struct link *l = mem_new(sizeof *l);

	CHECK(self->settings->server.n > 0 && self->epoch_file);
	CHECK(ops->held && ops->on_up && ops->on_frame && ops->on_lease);
	l->loop = loop;
	l->self = self;
	l->ops = ops;
	l->ctx = ctx;
	l->beat_ms = BEAT_MS_DEFAULT;
	l->fence_ms = FENCE_MS_DEFAULT;
	l->kill_ms = KILL_MS_DEFAULT;
	l->lose_ms = LOSE_MS_DEFAULT;
	l->pause_ms = (uint32_t)self->settings->retry_min_ms;
	link_name_read(self->settings, l->name, sizeof l->name);
	link_boot_read(l->boot_id, sizeof l->boot_id);
	machine_read(self->settings->state_dir, &l->machine);
	link_seen_read(self->epoch_file, &l->seen);
	l->kept_number = l->seen.number;
	snprintf(l->key.name, sizeof l->key.name, "%s", l->name);
	int r = self->delegate ? 0 : identity_read(self->settings->key_file, l->name, &l->key, err);

	if (r == 0 && getrandom(&l->incarnation, sizeof l->incarnation, 0) < 0)
		r = err_set(err, E_IO, "getrandom");
	if (r < 0) {
		free(l);
		return r;
	}
	l->dice = l->incarnation | 1;
	ev_timer_init(&l->retry, on_retry, 0.0, 0.0);
	ev_timer_init(&l->beat, on_beat_timer, 1.0, 1.0);
	l->retry.data = l->beat.data = l;
	ev_timer_start(loop, &l->retry);
	*ret_link = l;
	return 0;
}

static bool lists_differ(const struct param_list *a, const struct param_list *b)
{
	if (a->n != b->n)
		return true;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return true;
	return false;
}

bool link_differs(const struct param_taskbroker *a, const struct param_taskbroker *b)
{
	return lists_differ(&a->server, &b->server) || lists_differ(&a->groups, &b->groups) ||
	       separates(a) != separates(b) || strcmp(a->key_file, b->key_file) != 0;
}

void link_delegated(struct link *l)
{
	struct err err;

	if (!l)
		return;
	bool is_same = l->key.is_pair == delegate_has_pair(l->self->delegate);

	if (!l->session && (l->waits || !is_same))
		retry_at_once(l);
	else if (l->session && !is_same)
		link_again(l);
	else if (l->up && delegate_show(l->self->delegate, l->session, &err) < 0)
		session_end(l->session, err.code, err.text);
}

int link_delegate(const struct link *l, const struct link_lent *lent, struct session *to,
                  struct err *err)
{
	char servers[PINS_MAX][PAIR_TEXT], *texts[PINS_MAX];
	Sirdar__LoaderMay m = SIRDAR__LOADER_MAY__INIT;
	Sirdar__Delegation by = SIRDAR__DELEGATION__INIT;
	uint8_t sign[PAIR_SIGN_BYTES];

	CHECK(l->self->role == LINK_BROKER && lent->ms * US_PER_MS <= DELEGATION_US_MAX);
	if (!l->key.is_pair)
		return session_send(to, FR_LOADER_MAY, &m, err);
	if (!l->server_told_us)
		return err_set(err, E_AGAIN, "no server was met yet");
	by.name = (char *)(uintptr_t)l->name;
	by.machine = (char *)(uintptr_t)l->machine.drawn;
	by.type = (char *)(uintptr_t)lent->type;
	by.lane = lent->lane;
	by.key = (ProtobufCBinaryData){ PAIR_BYTES, (uint8_t *)(uintptr_t)lent->key };
	by.from_us = l->server_wall_us + clock_now_us() - l->server_told_us;
	by.until_us = by.from_us + lent->ms * US_PER_MS;
	int r = delegation_sign(&by, &l->key.pair, sign, err);
	if (r < 0)
		return r;
	m.by = &by;
	for (size_t i = 0; i < l->key.servers.n; i++) {
		pair_text(l->key.servers.key[i], servers[i]);
		texts[m.n_server_keys++] = servers[i];
	}
	m.server_keys = texts;
	return session_send(to, FR_LOADER_MAY, &m, err);
}

bool link_rekeyed(struct link *l)
{
	/* A loader that is let in by its taskbroker never looks. */
	return l && !l->self->delegate && identity_again(l->self->settings->key_file, &l->key);
}

void link_again(struct link *l)
{
	if (l && l->session)
		session_end(l->session, E_CLOSED, "its settings have changed");
}

void link_close(struct link *l)
{
	if (!l)
		return;
	ev_timer_stop(l->loop, &l->retry);
	ev_timer_stop(l->loop, &l->beat);
	session_drop(l->session);
	if (l->seen.number != l->kept_number)
		keep_seen(l);
	identity_wipe(&l->key);
	free(l);
}

bool link_is_up(const struct link *l)
{
	return l->up;
}

int link_send(struct link *l, enum frame_kind kind, const void *message, struct err *err)
{
	if (!l->up)
		return err_set(err, E_CLOSED, "no server");
	return session_send(l->session, kind, message, err);
}

uint32_t link_beat_ms(const struct link *l)
{
	return l->beat_ms;
}

uint32_t link_fence_ms(const struct link *l)
{
	return l->fence_ms;
}

uint32_t link_kill_ms(const struct link *l)
{
	return l->kill_ms;
}

uint32_t link_protocol(const struct link *l)
{
	return l->protocol;
}

uint32_t link_lose_ms(const struct link *l)
{
	return l->lose_ms;
}

uint32_t link_beat_seq(const struct link *l)
{
	return l->beat_seq;
}

int64_t link_lease_us(const struct link *l)
{
	return l->acked_us + (int64_t)l->fence_ms * US_PER_MS;
}
