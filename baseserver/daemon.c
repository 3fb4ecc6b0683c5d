/* A server that leads: what is made in which order, which thread runs it, who watches the threads,
 * how it ends.
 *
 * daemon_start() makes the ledger out of the store, then everybody who reads its stream, then the
 * net; threads start in the order in which they were named, so the router, which lets peers in, is
 * last. thread.def says which actor has which thread. daemon_run() is the main thread: signals,
 * the watchdog, the lease. What is fatal anywhere ends the process through on_fatal(), and main
 * says why. daemon_stop() takes any part of what daemon_start() made, stops threads in the
 * opposite order, leaves the store before it frees anything else, and gives the lease back unless
 * it may be another's. */
#include "baseserver/daemon.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseserver/command/commander.h"
#include "baseserver/daemon_quarantine.h"
#include "baseserver/forecast/forecaster.h"
#include "baseserver/keep/maintainer.h"
#include "baseserver/lead/admin.h"
#include "baseserver/lead/cluster.h"
#include "baseserver/lead/lead.h"
#include "baseserver/lead/registry.h"
#include "baseserver/lead/scrubber.h"
#include "baseserver/lead/site.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/warm.h"
#include "baseserver/model/definitions.h"
#include "baseserver/model/front.h"
#include "baseserver/model/invites.h"
#include "baseserver/model/params.h"
#include "baseserver/model/turned.h"
#include "baseserver/net/logkeeper.h"
#include "baseserver/net/logkeeper_carrier.h"
#include "baseserver/net/router.h"
#include "baseserver/net/worker.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/plan/instantiator.h"
#include "baseserver/plan/resolver.h"
#include "baseserver/query/query.h"
#include "baseserver/secret/directories.h"
#include "baseserver/secret/outsiders.h"
#include "baseserver/secret/passwords.h"
#include "baseserver/secret/secrets.h"
#include "baseserver/settings.h"
#include "baseserver/sort/registrar.h"
#include "baseserver/sort/sorter.h"
#include "etcd/election.h"
#include "rt/notify.h"
#include "rt/thread.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/near.h"
#include "util/param.h"
#include "wire/keys.h"

enum { WATCH_MS = 5000 };
#define ABORT_US (30 * US_PER_S)
/* So many looks missed, the watchdog itself stood still. */
#define STOOD_LOOKS 5
/* The store's thread waits for a database, that of the registry for etcd's endpoints, each time no
 * longer than its timeout. */
#define ABORT_STORE_US (600 * US_PER_S)
enum { STALL_SLOW = 6 }; /* what waits or computes may take so many times longer */

enum { THREADS_MAX = 80, WORKERS_MAX = FRONT_WORKERS_MAX };

struct daemon {
	struct site *site;
	const struct param_baseserver *p;
	struct definitions defs;
	struct quarantine *quarantine; /* NULL: there is none */
	struct thread *threads[THREADS_MAX];
	const char *thread_names[THREADS_MAX];
	char worker_names[WORKERS_MAX][16];
	size_t n_threads, n_started;
	struct lead *lead;
	struct ledger *ledger;
	struct resolver *resolver;
	struct sorter *sorter;
	struct instantiator *instantiator;
	struct maintainer *maintainer;
	struct registrar *registrar;
	struct registry *registry; /* NULL: no etcd */
	struct params *params;
	struct secrets *secrets;
	struct passwords *passwords;
	struct outsiders *outsiders;     /* NULL: no provider is set */
	struct directories *directories; /* NULL: no directory is set */
	struct logkeeper *logkeeper;
	struct carrier *shipper, *fetcher; /* NULL: logs have no home */
	struct commander *commander;
	struct invites *invites;
	struct turned *turned;
	struct forecaster *forecaster;
	struct scrubber *scrubber;
	struct worker *workers[WORKERS_MAX];
	size_t n_workers;
	struct router *router;
	struct admin *admin;
	struct front front;
	_Atomic bool is_fatal, fatal_set; /* the first one writes, then says so */
	int64_t revision;                 /* of our key in etcd when we began: the fence */
	bool lost;                        /* the lease may be another's */
	bool reads_again;                 /* no descriptor was free for settings or keys */
	struct err fatal;
};

static struct thread *thread_named(struct daemon *d, const char *name)
{
	for (size_t i = 0; i < d->n_threads; i++)
		if (strcmp(d->thread_names[i], name) == 0)
			return d->threads[i];
	CHECK(d->n_threads < THREADS_MAX && d->n_started == 0);
	d->thread_names[d->n_threads] = name;
	d->threads[d->n_threads] = thread_new(name, &clock_machine);
	return d->threads[d->n_threads++];
}

static const struct {
	const char *actor, *few, *each;
} places[] = {
#define PLACE(actor, few, each) { #actor, few, each },
#include "tbl/thread.def"
#undef PLACE
};

static struct thread *place_of(struct daemon *d, const char *actor)
{
	bool each = strcmp(d->p->placement, "each") == 0;

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		if (strcmp(places[i].actor, actor) == 0)
			return thread_named(d, each ? places[i].each : places[i].few);
	return thread_named(d, actor);
}

/* From any thread: the process ends, main says why. */
static void on_fatal(void *ctx, const struct err *err)
{
	struct daemon *d = ctx;

	if (!atomic_exchange(&d->is_fatal, true)) {
		d->fatal = *err;
		atomic_store(&d->fatal_set, true);
	}
	kill(getpid(), SIGTERM);
}

static void on_leave(void *ctx)
{
	(void)ctx;
	kill(getpid(), SIGUSR1);
}

/* Both of the store and of the jobs' logs: what starts writes into both. */
static bool disk_room(void *ctx, uint64_t *ret_free, uint64_t *ret_min)
{
	const struct daemon *d = ctx;
	const char *const at[] = { d->p->state_dir, d->p->log_dir };
	unsigned long long bytes;

	*ret_min = (uint64_t)d->p->disk_free_min_bytes;
	*ret_free = UINT64_MAX;
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
		if (fs_free_bytes(at[i], &bytes, NULL) == 0 && bytes < *ret_free)
			*ret_free = bytes;
	return *ret_free >= *ret_min;
}

static int make_registrar(struct daemon *d, struct err *err)
{
	const struct param_baseserver *p = d->p;
	int r = registrar_new(place_of(d, "registrar"), d->ledger, d->site->store, &d->registrar,
	                      err);

	if (r < 0)
		return r;
	registrar_set_types(d->registrar, p->types_dir);
	registrar_set_beat(d->registrar, p->beat_ms * US_PER_MS);
	sorter_set_starts(d->sorter, d->registrar, p->start_pause_ms * US_PER_MS,
	                  p->start_pause_max_ms * US_PER_MS);
	return 0;
}

/* Those whom the commander asks who somebody is, or what a secret says: each may wait, so each has
 * a thread of its own. */
static int make_judges(struct daemon *d, struct commander_settings *set, struct err *err)
{
	const struct param_baseserver *p = d->p;
	int r = secrets_new(place_of(d, "secrets"), p, &d->secrets, err);

	set->secrets = d->secrets;
	set->passwords = d->passwords = passwords_new(place_of(d, "passwords"));
	if (r == 0 && p->oidc_issuer[0])
		r = outsiders_new(place_of(d, "outsiders"), p, &d->outsiders, err);
	set->outsiders = d->outsiders;
	if (r == 0 && p->ldap_url[0])
		r = directories_new(place_of(d, "directories"), p, &d->directories, err);
	set->directories = d->directories;
	return r;
}

/* The logkeeper, and who goes to the home of its logs. */
static int make_logs(struct daemon *d, struct err *err)
{
	const struct param_baseserver *p = d->p;
	struct logkeeper_settings set = settings_of_logkeeper(p);
	struct carrier_settings cset = { .name = "shipper",
		                         .url = p->log_home,
		                         .ca_file = p->log_home_ca_file,
		                         .secret = p->log_home_secret,
		                         .timeout_ms = p->log_home_timeout_ms,
		                         .secrets = d->secrets };
	int r = p->log_home[0] ? carrier_new(place_of(d, "shipper"), &cset, &d->shipper, err) : 0;

	cset.name = "fetcher";
	if (r == 0 && p->log_home[0])
		r = carrier_new(place_of(d, "fetcher"), &cset, &d->fetcher, err);
	set.ships = d->shipper;
	set.reads = d->fetcher;
	return r < 0 ? r : logkeeper_new(place_of(d, "logkeeper"), &set, &d->logkeeper, err);
}

static int make_core(struct daemon *d, struct err *err)
{
	const struct param_baseserver *p = d->p;
	const struct election *election = cluster_election(d->site->cluster);
	struct ledger_settings set = settings_of_ledger(p);
	struct maintainer_settings mset = settings_of_maintainer(p);
	struct commander_settings cset = settings_of_commander(p);
	cset.guests = &query_guests;
	int r = definitions_load(d->site->store, p->timezone, p->types_dir, (int)p->infra_max,
	                         &d->defs, err);

	set.until_us = election ? election_until_us(election) : NULL;
	set.epoch = d->site->epoch;
	set.warm = d->site->warm;
	set.writer = place_of(d, "writer");
	set.waits = store_waits(d->site->store);
	set.fatal = on_fatal;
	set.fatal_ctx = d;
	if (r == 0)
		quarantine_new(p, &d->defs, &d->quarantine);
	if (r == 0)
		r = ledger_new(&(struct ledger_start){ .thread = place_of(d, "ledger"),
		                                       .store = d->site->store,
		                                       .who = "baseserver",
		                                       .set = &set,
		                                       .tasks = d->defs.tasks,
		                                       .rows = d->defs.rows,
		                                       .n_tasks = d->defs.n },
		               &d->ledger, err);
	warm_free(d->site->warm); /* the ledger has what is in it */
	d->site->warm = NULL;
	if (r < 0)
		return r;
	d->resolver = resolver_new(place_of(d, "resolver"), d->ledger);
	d->sorter = sorter_new(place_of(d, "sorter"), d->ledger);
	sorter_set_room(d->sorter, disk_room, d);
	r = sorter_load_bounds(d->sorter, d->site->store, p->trust_new_projects, err);
	if (r < 0)
		return r;
	d->instantiator = instantiator_new(place_of(d, "instantiator"), d->ledger);
	d->maintainer = maintainer_new(place_of(d, "maintainer"), d->ledger, &mset);
	r = make_judges(d, &cset, err);
	if (r == 0)
		r = params_new(place_of(d, "params"), d->ledger, d->site->store,
		               &(struct params_secrets){ p->secrets_key_file, d->secrets },
		               &d->params, err);
	if (r == 0)
		r = make_registrar(d, err);
	if (r == 0)
		r = make_logs(d, err);
	if (r == 0)
		r = commander_new(place_of(d, "commander"), d->ledger, d->site->store, &cset,
		                  &d->commander, err);
	if (r == 0) {
		registrar_set_teller(d->registrar, commander_meets, d->commander);
		quarantine_watch(d->quarantine, d->resolver, d->commander);
		d->forecaster = forecaster_new(place_of(d, "forecaster"), d->site->store_url,
		                               p->baseline_every_ms * US_PER_MS);
		struct forecast_source promises = query_promises(d->commander);
		forecaster_set_source(d->forecaster, &promises);
	}
	return r;
}

static int make_net(struct daemon *d, struct err *err)
{
	const struct param_baseserver *p = d->p;
	struct worker_settings set = settings_of_worker(p);
	struct worker_peers peers = {
		d->ledger,    d->sorter,     d->maintainer,   d->registrar,
		d->logkeeper, d->params,     &d->front,       d->site->keys,
		d->invites,   &d->site->own, &p->server_keys, router_release
	};
	struct router_settings rset = { &p->listen, (uint32_t)p->sessions_max,
		                        (uint32_t)p->sessions_per_address_max };

	int r = 0;

	set.software = SIRDAR_VERSION;
	for (int64_t i = 0; i < p->workers && r == 0; i++) {
		CHECK(d->n_workers < WORKERS_MAX);
		set.index = (uint32_t)i + 1;
		snprintf(d->worker_names[i], sizeof d->worker_names[i], "worker%d",
		         (int)(i % 999) + 1);
		struct worker *w = worker_new(place_of(d, d->worker_names[i]), &set, &peers);
		d->workers[d->n_workers++] = w;
		r = worker_load(w, d->site->store, err);
	}
	if (r < 0)
		return r;
	struct lead_settings lset = { d->site, d->commander, on_leave, d };
	d->scrubber = scrubber_new(place_of(d, "scrubber"), d->site, d->ledger);
	d->lead = lead_new(place_of(d, "lead"), &lset);
	d->router = router_new(place_of(d, "router"), &rset, d->workers, d->n_workers);
	struct admin_settings aset = { p->state_dir, d->commander, d->ledger, "" };
	d->admin = admin_new(place_of(d, "admin"), &aset);
	maintainer_listens(d->maintainer, router_actor(d->router));
	for (size_t i = 0; i < d->n_workers; i++)
		maintainer_listens(d->maintainer, worker_actor(d->workers[i]));
	return 0;
}

/* These threads may wait for another process or compute for long. No request waits for them, so the
 * watchdog gives them STALL_SLOW times the limit. */
static int64_t stall_us(const struct param_baseserver *p, const char *thread)
{
	static const char *const slow[] = { "store",     "registry",  "lead",        "scrub",
		                            "scrubber",  "forecast",  "forecaster",  "secrets",
		                            "passwords", "outsiders", "directories", "ship",
		                            "shipper",   "fetch",     "fetcher",     NULL };

	return p->stall_ms * US_PER_MS * (near_is_one(thread, slow) ? STALL_SLOW : 1);
}

static void fill_front(struct daemon *d)
{
	struct front *f = &d->front;

	f->commander = d->commander;
	f->params = d->params;
	f->forecaster = d->forecaster;
	f->ledger = d->ledger;
	f->resolver = d->resolver;
	f->sorter = d->sorter;
	f->registrar = d->registrar;
	f->logkeeper = d->logkeeper;
	f->logs = d->logkeeper ? logkeeper_actor(d->logkeeper) : NULL;
	f->survey_logs = logkeeper_survey;
	f->log_home = logkeeper_home;
	f->lead = d->lead;
	f->step_down = lead_step_down;
	f->scrubber = d->scrubber;
	f->registry = d->registry;
	f->forget_node = registry_forget;
	f->saved = registry_saved;
	for (size_t i = 0; i < d->n_workers; i++)
		f->workers[f->n_workers++] = d->workers[i];
	for (size_t i = 0; i < d->n_threads && i < FRONT_THREADS_MAX; i++) {
		f->threads[i].name = d->thread_names[i];
		f->threads[i].thread = d->threads[i];
		f->threads[i].stall_us = stall_us(d->p, d->thread_names[i]);
		f->n_threads++;
	}
	f->software = SIRDAR_VERSION;
	f->timezone = d->p->timezone;
	f->store = strncmp(d->site->store_url, "mem:", 4) == 0     ? "mem"
	           : strncmp(d->site->store_url, "mysql:", 6) == 0 ? "mysql"
	                                                           : "sqlite";
	f->store_dir = d->p->state_dir;
	f->log_dir = d->p->log_dir;
	f->figures = worker_figures;
	f->started_us = clock_wall_us(&clock_machine);
	f->drain = worker_drain;
	f->probe = worker_probe;
	f->level = worker_level;
	f->news = worker_news;
	f->plugin = worker_plugin;
	f->release = worker_release;
	f->ask = worker_ask;
	f->peer = worker_peer;
	f->keys = d->site->keys;
	f->invites = d->invites;
	f->turned = d->turned;
	f->first_over = admin_first_over;
	f->admin = d->admin;
	f->asks_trust = !d->p->trust_new_projects;
	f->each_key = keys_each;
	commander_set_front(d->commander, f);
}

int daemon_start(struct site *site, struct daemon **ret_daemon, struct err *err)
{
	struct daemon *d = mem_new(sizeof *d);

	d->site = site;
	d->p = site->p;
	d->invites = invites_new();
	d->turned = turned_new();
	if (cluster_election(site->cluster))
		d->revision = election_revision(cluster_election(site->cluster));
	int r = make_core(d, err);
	if (r == 0 && site->p->etcd.n > 0) {
		struct registry_settings set = { site->p, d->ledger, d->commander };
		r = registry_new(place_of(d, "registry"), site->store, &set, &d->registry, err);
	}
	if (r == 0)
		r = make_net(d, err);
	if (r == 0) {
		fill_front(d);
		admin_first(d->admin, commander_is_new(d->commander));
	}
	/* The router's thread comes last in the table: nobody is let in before all is up. */
	for (size_t i = 0; r == 0 && i < d->n_threads; i++) {
		r = thread_start(d->threads[i], err);
		d->n_started += r == 0;
	}
	if (r < 0) {
		daemon_stop(d, &(struct err){ 0 });
		return r;
	}
	quarantine_begin(d->quarantine);
	log_info("baseserver.up", "epoch=%u tasks=%zu threads=%zu", ledger_epoch(d->ledger),
	         d->defs.n, d->n_threads);
	*ret_daemon = d;
	return 0;
}

static int64_t abort_us(const char *thread)
{
	static const char *const waits[] = { "store",       "registry", "secrets", "outsiders",
		                             "directories", "ship",     "shipper", "fetch",
		                             "fetcher",     NULL };

	return near_is_one(thread, waits) ? ABORT_STORE_US : ABORT_US;
}

/* A thread that stalls unseen would be worse than a restart: every one must answer a ping. */
static void watch_threads(struct daemon *d, bool stood)
{
	int64_t now = clock_mono_us(&clock_machine);
	const char *actor;

	for (size_t i = 0; i < d->n_threads; i++) {
		/* Who watches has stood still as well: they get until the next look to answer. */
		if (!stood &&
		    thread_silent_us(d->threads[i], now, &actor) > abort_us(d->thread_names[i])) {
			log_error("thread.stalled", "thread=%s actor=%s", d->thread_names[i],
			          actor ? actor : "");
			abort();
		}
		thread_ping(d->threads[i]);
	}
	notify_send("WATCHDOG=1");
}

/* Between T_epoch, when nothing leaves any more, and the end of the lease, when another may take
 * it. Who is alone waits for its store instead. */
static bool lease_lost(struct daemon *d, struct err *err)
{
	int64_t limit_us = (d->p->epoch_ms + d->p->lead_ms) / 2 * US_PER_MS;
	int64_t age_us = clock_mono_us(&clock_machine) - ledger_proof_us(d->ledger);

	if (age_us < limit_us || !lead_has_standby(d->lead) || store_is_exclusive(d->site->store))
		return false;
	err_set(err, E_EPOCH,
	        "the lease of epoch %u could not be renewed for %lld ms: a standby may lead now",
	        d->site->epoch, (long long)(age_us / US_PER_MS));
	return true;
}

/* Nothing has left since (ledger_may_speak), and whoever is elected takes the epoch in the store
 * before he does anything. */
static bool unelected(const struct daemon *d)
{
	const struct election *e = cluster_election(d->site->cluster);

	if (!e || (election_holds(e) && election_revision(e) == d->revision))
		return false;
	log_warn("lead.unelected",
	         "epoch=%u text=\"etcd does not say any more that we lead: this "
	         "server waits\"",
	         d->site->epoch);
	return true;
}

static int64_t watch_ms(const struct param_baseserver *p)
{
	return p->stall_ms / 2 < WATCH_MS ? p->stall_ms / 2 : WATCH_MS;
}

static int wait_signal(const struct daemon *d)
{
	int64_t ms = d->p->lead_ms / 8 < watch_ms(d->p) ? d->p->lead_ms / 8 : watch_ms(d->p);
	struct timespec wait = { ms / 1000, (long)(ms % 1000 * 1000000) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &wait);
}

/* A key that is gone takes its sessions with it. Strangers who hold all descriptors do not keep one
 * that was taken away: the files are read again until there is room. */
static void daemon_reload(struct daemon *d)
{
	d->reads_again = d->site->reload(d->site->reload_ctx) == E_LIMIT;
	for (size_t i = 0; i < d->n_workers; i++)
		worker_peer(d->workers[i], NULL);
}

int daemon_run(struct daemon *d, struct err *err)
{
	int64_t watched_us = 0, ticked_us = clock_mono_us(&clock_machine);

	for (;;) {
		int sig = wait_signal(d);
		int64_t now = clock_mono_us(&clock_machine), look_us = watch_ms(d->p) * US_PER_MS;
		quarantine_tick(d->quarantine,
		                now - ticked_us < look_us ? now - ticked_us : look_us);
		ticked_us = now;
		if (sig < 0 && now - watched_us >= watch_ms(d->p) * US_PER_MS) {
			watch_threads(d,
			              now - watched_us > STOOD_LOOKS * watch_ms(d->p) * US_PER_MS);
			watched_us = now;
			if (d->reads_again)
				daemon_reload(d);
		}
		if (sig == SIGTERM || sig == SIGINT)
			break;
		if (sig == SIGHUP)
			daemon_reload(d);
		else if (sig == SIGUSR1)
			return DAEMON_STEPS_DOWN;
		else if (unelected(d))
			return DAEMON_UNELECTED;
		else if (lease_lost(d, err))
			return d->lost = true, E_EPOCH;
	}
	if (!atomic_load(&d->fatal_set))
		return DAEMON_STOPPED;
	*err = d->fatal;
	d->lost = true;
	return d->fatal.code;
}

static void give_lease(struct daemon *d)
{
	struct err err = { 0 };

	if (d->lost || store_give_lease(d->site->store, d->site->epoch,
	                                clock_wall_us(&clock_machine), &err) == 0)
		return;
	log_warn("lead.not-given", "text=\"%s\"", err.text);
}

/* Nothing is written any more: the next one need not wait until a million rows are freed. */
static int leave_store(struct daemon *d, struct err *err)
{
	int r = 0;

	if (atomic_load(&d->fatal_set)) {
		*err = d->fatal;
		r = d->fatal.code;
		d->lost = true;
	}
	if (d->ledger && !d->lost)
		ledger_keep_anchor(d->ledger, true);
	give_lease(d);
	store_close(d->site->store);
	d->site->store = NULL;
	return r;
}

int daemon_stop(struct daemon *d, struct err *err)
{
	if (!d)
		return 0;
	registry_halt(d->registry);
	carrier_stop(d->shipper);
	carrier_stop(d->fetcher);
	for (size_t i = d->n_started; i-- > 0;)
		thread_stop(d->threads[i]);
	int r = leave_store(d, err);
	admin_free(d->admin);
	router_free(d->router);
	lead_free(d->lead);
	scrubber_free(d->scrubber);
	for (size_t i = 0; i < d->n_workers; i++)
		worker_free(d->workers[i]);
	forecaster_free(d->forecaster);
	commander_free(d->commander);
	invites_free(d->invites);
	turned_free(d->turned);
	logkeeper_free(d->logkeeper);
	carrier_free(d->shipper);
	carrier_free(d->fetcher);
	registry_free(d->registry);
	registrar_free(d->registrar);
	params_free(d->params);
	passwords_free(d->passwords);
	outsiders_free(d->outsiders);
	directories_free(d->directories);
	secrets_free(d->secrets);
	maintainer_free(d->maintainer);
	instantiator_free(d->instantiator);
	sorter_free(d->sorter);
	resolver_free(d->resolver);
	ledger_free(d->ledger);
	for (size_t i = 0; i < d->n_threads; i++)
		thread_free(d->threads[i]);
	quarantine_free(d->quarantine);
	definitions_done(&d->defs);
	free(d);
	return r;
}
