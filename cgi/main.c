/* The web server's start and end. Actors are started before the face, so that a request finds
 * all of them; at the end the actors are stopped first and give back every call, so that the
 * face finds no connection suspended. The main thread then only waits for signals, keeps the
 * sessions that changed, and pings the other threads; /healthz says which of them has stalled.
 * --make-token and --make-app do their work and start nothing. */
#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "cgi/face.h"
#include "cgi/handlers/route.h"
#include "cgi/http/cgi.h"
#include "cgi/http/janitor.h"
#include "cgi/http/pages.h"
#include "cgi/http/traffic.h"
#include "cgi/seeds/seed_routes.h"
#include "cgi/server/disk.h"
#include "cgi/server/fresh.h"
#include "cgi/server/names.h"
#include "cgi/server/net.h"
#include "cgi/who/auth.h"
#include "cgi/who/budget.h"
#include "cgi/who/hash.h"
#include "cgi/who/people.h"
#include "cgi/who/signs.h"
#include "cgi/who/ways.h"
#include "etcd/member.h"
#include "rt/notify.h"
#include "rt/thread.h"
#include "util/beside.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/own.h"
#include "util/screen.h"

#define PEM_BYTES_MAX 65536

static int cgi_main_die(int code, const struct err *err)
{
	fprintf(stderr, "sirdar-cgi: %s\n", err->text);
	return code;
}

/* --make-token or --make-app NAME [ROLE], wherever it stands: out of argv, as it is no setting. */
struct make_token {
	const char *name, *role;
	bool is_app;
};

static int make_token_take(int argc, char **argv, struct make_token *ret)
{
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		bool is_app = strcmp(argv[i], "--make-app") == 0;

		if (!is_app && strcmp(argv[i], "--make-token") != 0) {
			argv[kept++] = argv[i];
			continue;
		}
		ret->is_app = is_app;
		ret->name = i + 1 < argc ? argv[++i] : "";
		if (i + 1 < argc && argv[i + 1][0] != '-')
			ret->role = argv[++i];
	}
	argv[kept] = NULL;
	return kept;
}

static int make_token(const struct cgi *cgi, const struct make_token *want)
{
	struct err err = { 0 };
	char token[AUTH_TEXT_MAX];
	enum role role = ROLE_ADMIN;

	if (want->role && !role_from_name(want->role, &role)) {
		err_set(&err, E_INVALID, "role is '%s', want viewer, developer, operator or admin",
		        want->role);
		return cgi_main_die(EX_USAGE, &err);
	}
	if (auth_token_may(cgi, &err) < 0 ||
	    auth_token_make(cgi->param.state_dir,
	                    &(struct token_made){ want->name, role, 0,
	                                          want->is_app ? TOKEN_APP : TOKEN_MADE_HERE },
	                    token, &err) < 0)
		return cgi_main_die(EX_CONFIG, &err);
	printf("%s\n", token);
	return EX_OK;
}

static int certificates_read(struct cgi *cgi, struct err *err)
{
	const struct param_cgi *p = &cgi->param;
	int r;

	buf_init(&cgi->certificate);
	buf_init(&cgi->certificate_key);
	if (p->certificate_file[0] == '\0')
		return 0;
	r = fs_read(p->certificate_file, PEM_BYTES_MAX, &cgi->certificate, err);
	if (r == 0)
		r = fs_read_secret(p->certificate_key_file, PEM_BYTES_MAX, &cgi->certificate_key,
		                   err);
	cgi->tls = r == 0;
	return r;
}

/* A console or a manual that is not there is no failure: the status page serves, /docs/ says so. */
static int folder_load(const char *dir, const char *first, struct pages **ret, struct err *err)
{
	int r = dir[0] == '\0' ? E_NOT_FOUND : pages_load(dir, first, ret, err);

	if (r != E_NOT_FOUND)
		return r;
	memset(err, 0, sizeof *err);
	return 0;
}

/* They came with this program: there is no setting for where. */
static int schemas_load(struct cgi *cgi, struct err *err)
{
	char *dir = beside_program("schema");
	int r = dir ? folder_load(dir, "document.json", &cgi->schemas, err) : 0;

	free(dir);
	return r;
}

static int console_load(struct cgi *cgi, struct err *err)
{
	const struct param_cgi *p = &cgi->param;
	int r = folder_load(p->web_dir, "index.html", &cgi->pages, err);

	if (r == 0)
		r = folder_load(p->docs_dir, "index.html", &cgi->docs, err);
	if (r == 0)
		r = schemas_load(cgi, err);
	if (r < 0)
		return r;
	if (!cgi->pages && p->web_dir[0] != '\0')
		log_info("console.absent",
		         "web_dir=%s hint=\"make console builds it; / is the status page\"",
		         p->web_dir);
	if (!cgi->docs && p->docs_dir[0] != '\0')
		log_info("docs.absent", "docs_dir=%s hint=\"make book builds it\"", p->docs_dir);
	return 0;
}

static int cgi_main_join(struct cgi *cgi, struct err *err)
{
	const struct param_cgi *p = &cgi->param;
	struct member_settings set = {
		.etcd = { p->etcd.items, p->etcd.n, p->etcd_user_file, p->etcd_ca_file,
		          p->etcd_timeout_ms },
		.prefix = p->etcd_prefix,
		.ttl_ms = p->etcd_ttl_ms,
		.state_dir = p->state_dir,
		.name = p->name,
		.address = p->listen,
		.mode = "cgi",
		.status = "online",
		.description = p->etcd_description,
		.told = member_log,
	};

	return p->etcd.n ? member_open(&set, &cgi->member, err) : 0;
}

/* Actors first, then the face: a request finds all of them. */
static int cgi_start(struct cgi *cgi, struct err *err)
{
	int r = certificates_read(cgi, err);

	cgi->fresh = fresh_new();
	cgi->names = names_new();
	cgi->routes = routes_new();
	seeds_register(cgi);
	cgi->traffic = traffic_new(cgi->routes->items, cgi->routes->n);
	cgi->people = people_new();
	cgi->budget = budget_new();
	cgi->signs = signs_new();
	if (r == 0)
		r = auth_open(cgi, &cgi->auth, err);
	if (r == 0)
		r = console_load(cgi, err);
	if (r < 0)
		return r;
	cgi->net_thread = thread_new("net", &clock_machine);
	cgi->hash_thread = thread_new("hash", &clock_machine);
	cgi->janitor = janitor_new(cgi->net_thread, (int)cgi->param.connections_max);
	cgi->disk = disk_new(cgi);
	cgi->hash = hash_new(cgi->hash_thread, "hash");
	cgi->search_thread = thread_new("search", &clock_machine);
	cgi->search = hash_new(cgi->search_thread, "search");
	r = net_new(cgi->net_thread, cgi, &cgi->net, err);
	if (r == 0)
		r = thread_start(cgi->net_thread, err);
	if (r == 0)
		r = disk_start(cgi->disk, err);
	if (r == 0)
		r = thread_start(cgi->hash_thread, err);
	if (r == 0)
		r = thread_start(cgi->search_thread, err);
	if (r == 0)
		r = ways_open(cgi, &cgi->ways, err);
	if (r == 0)
		r = face_start(cgi, err);
	if (r == 0)
		r = cgi_main_join(cgi, err);
	return r;
}

/* The actors end first and give back every call they have, so that the face finds no
 * connection suspended. Their threads are freed last: the face still posts to them. */
static void cgi_stop(struct cgi *cgi)
{
	struct thread *threads[] = { cgi->search_thread, cgi->hash_thread, cgi->net_thread };
	enum { THREADS = sizeof threads / sizeof threads[0] };

	member_close(cgi->member);
	ways_stop(cgi->ways);
	disk_stop(cgi->disk);
	for (size_t i = 0; i < THREADS; i++)
		if (threads[i])
			thread_stop(threads[i]);
	face_stop(cgi);
	for (size_t i = 0; i < THREADS; i++)
		thread_free(threads[i]);
	net_free(cgi->net);
	disk_free(cgi->disk);
	hash_free(cgi->hash);
	hash_free(cgi->search);
	janitor_free(cgi->janitor);
	ways_close(cgi->ways);
	auth_close(cgi->auth);
	budget_free(cgi->budget);
	signs_free(cgi->signs);
	fresh_free(cgi->fresh);
	names_free(cgi->names);
	traffic_free(cgi->traffic);
	routes_free(cgi->routes);
	people_free(cgi->people);
	pages_free(cgi->pages);
	pages_free(cgi->docs);
	pages_free(cgi->schemas);
	buf_done(&cgi->certificate);
	if (cgi->certificate_key.data)
		sodium_memzero(cgi->certificate_key.data, cgi->certificate_key.cap);
	buf_done(&cgi->certificate_key);
}

/* Numbers, the level of the log, and the tokens. Other threads read the numbers meanwhile. */
static void cgi_reload(struct cgi *cgi, const struct param_args *args)
{
	struct param_cgi fresh;
	struct buf restart;
	enum log_level level;
	struct err err = { 0 };

	memset(&fresh, 0, sizeof fresh);
	buf_init(&restart);
	if (auth_tokens_load(cgi->auth, &err) < 0)
		log_warn("reload.tokens", "why=\"%s\"", err.text);
	if (param_again(&param_cgi_table, &fresh, args, &err) < 0) {
		log_warn("reload.settings", "going on as before: %s", err.text);
	} else {
		size_t n = param_reload(&param_cgi_table, &cgi->param, &fresh, &restart);

		log_info("reload.done", "what=tokens settings=%zu need_restart=\"%s\"", n,
		         buf_str(&restart));
		if (log_level_parse(cgi->param.log_level, &level) == 0)
			log_level_set(level);
	}
	param_done(&param_cgi_table, &fresh);
	buf_done(&restart);
}

/* What does not answer is seen by who asks how we are: cgi/handlers/handle_server.c. */
static void threads_ping(const struct cgi *cgi)
{
	thread_ping(cgi->net_thread);
	for (size_t i = 0; i < DISK_READERS; i++)
		thread_ping(disk_thread(cgi->disk, i));
	thread_ping(cgi->hash_thread);
	thread_ping(cgi->search_thread);
}

/* Until SIGTERM or SIGINT. */
static void cgi_run(struct cgi *cgi, const struct param_args *args, const sigset_t *signals)
{
	int sig = 0;

	notify_send("READY=1");
	log_info("cgi.ready", "listen=%s tls=%d", cgi->param.listen, cgi->tls);
	do {
		const int64_t ms = cgi->param.stall_ms / 2;
		const struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };

		threads_ping(cgi);
		auth_sessions_keep(cgi->auth, false);
		sig = sigtimedwait(signals, NULL, &wait);
		if (sig == SIGHUP)
			cgi_reload(cgi, args);
	} while (sig < 0 || sig == SIGHUP);
	log_info("cgi.stopping", "signal=%d", sig);
	notify_send("STOPPING=1");
}

static void signals_block(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGHUP);
	sigaddset(ret, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, ret, NULL);
	sigdelset(ret, SIGPIPE);
}

/* A start would end for each of these; nothing is made. */
static int cgi_main_judge(const void *self, struct err *err)
{
	struct cgi cgi = { .param = *(const struct param_cgi *)self }; /* borrows the texts */
	int r = face_check(&cgi, err);

	if (r == 0)
		r = net_check(&cgi.param, err);
	if (r == 0)
		r = certificates_read(&cgi, err);
	buf_done(&cgi.certificate);
	if (cgi.certificate_key.data)
		sodium_memzero(cgi.certificate_key.data, cgi.certificate_key.cap);
	buf_done(&cgi.certificate_key);
	if (r == 0)
		r = console_load(&cgi, err);
	pages_free(cgi.pages);
	pages_free(cgi.docs);
	pages_free(cgi.schemas);
	return r == 0 ? ways_check(&cgi, err) : r;
}

int main(int argc, char **argv)
{
	struct make_token token = { 0 };
	struct param_args args;
	struct cgi cgi = { 0 };
	struct err err = { 0 };
	enum log_level level = LOG_INFO;
	sigset_t signals;
	int code = EX_OK;

	screen_open();
	own_memory();
	/* Connections come and go by thousands, on threads that would each keep what is free. */
	mallopt(M_ARENA_MAX, 2);
	argc = make_token_take(argc, argv, &token);
	if (!param_main(&param_cgi_table, &cgi.param,
	                &(struct param_words){
				argc, argv,
				"[--make-token|--make-app NAME [ROLE] | " NET_ENROL_USES "]",
				cgi_main_judge },
	                &args, &code))
		goto out;
	if (sodium_init() < 0) {
		err_set(&err, E_IO, "no random numbers");
		code = cgi_main_die(EX_OSERR, &err);
		goto out;
	}
	if (token.name) {
		code = make_token(&cgi, &token);
		goto out;
	}
	log_level_parse(cgi.param.log_level, &level);
	log_open("sirdar-cgi", level);
	if (args.rest[0]) {
		code = net_enrol(&cgi.param, args.rest);
		goto out;
	}
	notify_open();
	/* Who looks on does not take from who schedules; a unit that forbids the call says Nice. */
	if (cgi.param.nice > 0)
		(void)setpriority(PRIO_PROCESS, 0, (int)cgi.param.nice);
	signals_block(&signals);
	if (face_check(&cgi, &err) < 0) {
		code = cgi_main_die(EX_CONFIG, &err);
		goto out;
	}
	if (cgi_start(&cgi, &err) < 0)
		code = cgi_main_die(EX_UNAVAILABLE, &err);
	else
		cgi_run(&cgi, &args, &signals);
	cgi_stop(&cgi);
out:
	param_args_done(&args);
	param_done(&param_cgi_table, &cgi.param);
	return code;
}
