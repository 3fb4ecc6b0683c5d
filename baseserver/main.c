/* baseserver — hands out the loads. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "baseserver/daemon.h"
#include "baseserver/daemon_check.h"
#include "baseserver/lead/admin.h"
#include "baseserver/lead/cluster.h"
#include "baseserver/lead/site.h"
#include "baseserver/lead/soundness.h"
#include "baseserver/lead/standby.h"
#include "rt/notify.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/log.h"
#include "util/own.h"
#include "util/param.h"
#include "util/screen.h"
#include "util/trust.h"
#include "wire/keys.h"

#define USES ADMIN_USES " | server-key | key-add NAME [KIND] | key-kind NAME KIND"
enum { ARENAS = 2, MMAP_BYTES = 1 << 20, TRIM_BYTES = 4 << 20 };

struct run {
	struct param_baseserver *p;
	struct param_args *args;
	struct site site;
};

static int main_die(int code, const struct err *err)
{
	const char *advice = soundness_advice(err->code);

	fprintf(stderr, "baseserver: %s\n%s", err->text, advice ? advice : "");
	return advice ? soundness_exit(err->code) : code;
}

/* Returns 0, E_LIMIT when no descriptor was free for what it reads, or what is wrong with that. */
static int main_reload(void *ctx)
{
	struct run *run = ctx;
	struct param_baseserver fresh = { 0 };
	struct err err = { 0 };
	struct buf restart;
	enum log_level level;

	int r = param_again(&param_baseserver_table, &fresh, run->args, &err);
	if (r < 0) {
		log_error("settings.refused", "text=\"%s\"", err.text);
	} else {
		buf_init(&restart);
		size_t n = param_reload(&param_baseserver_table, run->p, &fresh, &restart);
		log_info("settings.reloaded", "changed=%zu need_restart=\"%s\"", n,
		         buf_str(&restart));
		buf_done(&restart);
		if (log_level_parse(run->p->log_level, &level) == 0)
			log_level_set(level);
	}
	param_done(&param_baseserver_table, &fresh);
	int read = keys_reload(run->site.keys, &err);
	if (read < 0)
		log_error("keys.refused", "text=\"%s\"", err.text);
	return r < 0 ? r : read;
}

/* The keys are the server's, whose user the owner of state_dir is: where root adds one, it must be
 * able to read it, and it still is a good file to root. */
static uid_t server_user(const struct param_baseserver *p)
{
	struct stat st;

	return geteuid() == 0 && stat(p->state_dir, &st) == 0 ? st.st_uid : geteuid();
}

/* `baseserver -c FILE key-add NAME [KIND]`: a new key for a peer. The key goes into the file of the
 * server and, once, to standard output in the form that the peer's own file has. Without a kind it
 * is what the name means by itself, else a broker: the kind that may least.
 *
 * `key-kind NAME KIND` says what the owner of a key is that the file has already. */
static int key_change(const struct param_baseserver *p, bool adds, const char *name,
                      enum peer_kind kind)
{
	uint8_t key[KEY_BYTES];
	struct err err = { 0 };
	uid_t user = server_user(p);

	if (!p->keys_file[0]) {
		err_set(&err, E_INVALID, "keys_file is not set");
		return main_die(EX_CONFIG, &err);
	}
	trust_user(user);
	int r = adds ? keys_add(p->keys_file, name, kind, key, &err)
	             : keys_assign(p->keys_file, name, kind, &err);
	if (r < 0)
		return main_die(EX_CANTCREAT, &err);
	if (user != geteuid() && chown(p->keys_file, user, (gid_t)-1) < 0) {
		err_sys(&err, E_IO, errno, "chown %s", p->keys_file);
		return main_die(EX_CANTCREAT, &err);
	}
	if (!adds) {
		fprintf(stderr,
		        "baseserver: %s is a %s, as far as %s says it; a server that runs reads "
		        "it at a SIGHUP, and a document of the peer (sirdar peer list) decides "
		        "before the file\n",
		        name, peer_kind_name(kind), p->keys_file);
		return 0;
	}
	printf("%s:", name);
	for (int i = 0; i < KEY_BYTES; i++)
		printf("%02x", key[i]);
	putchar('\n');
	return 0;
}

static int main_usage(void)
{
	fprintf(stderr, "usage: baseserver [options] [" USES "]\n"
	                "KIND is " PEER_KINDS "; key-add without one: face for the name cgi, "
	                "notifier for the name notifier, else broker\n");
	return EX_USAGE;
}

static int main_key(const struct param_baseserver *p, char *const *words)
{
	bool adds = strcmp(words[0], "key-add") == 0;
	const char *name = words[1], *word = name ? words[2] : NULL;
	enum peer_kind kind = PEER_NONE;

	if (word && words[3])
		fprintf(stderr, "baseserver: '%s' is one word too many\n", words[3]);
	else if (word && (kind = peer_kind_parse(word, strlen(word))) == PEER_NONE)
		fprintf(stderr, "baseserver: '%s' is no kind\n", word);
	else if (!word && name && adds && (kind = peer_kind_usual(name)) == PEER_NONE)
		kind = PEER_BROKER;
	if (!kind || (!adds && strcmp(words[0], "key-kind") != 0))
		return main_usage();
	return key_change(p, adds, name, kind);
}

/* `baseserver -c FILE server-key`: what peers know this server by. It draws the pair where it never
 * ran: so that the settings of both servers can be written before either runs. */
static int main_server_key(const struct param_baseserver *p)
{
	struct err err = { 0 };
	struct pair own;
	char text[PAIR_TEXT];

	trust_user(server_user(p));
	if (site_pair(p, &own, &err) < 0)
		return main_die(EX_CANTCREAT, &err);
	pair_text(own.key, text);
	printf("%s\n", text);
	pair_wipe(&own);
	return 0;
}

static void main_prepare(const struct param_baseserver *p)
{
	enum log_level level = LOG_INFO;
	sigset_t all;

	log_level_parse(p->log_level, &level);
	log_open("baseserver", level);
	notify_open();
	mallopt(M_ARENA_MAX, ARENAS);
	/* Left alone, malloc() keeps ever larger arrays on its heap once one was freed: what an
	 * index outgrew would never go back to the system. */
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
	signal(SIGPIPE, SIG_IGN);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* inherited by every thread below */
}

/* Lead until told otherwise: what daemon_run() says. */
static int main_lead(struct site *site, int *ret_code, struct err *err)
{
	struct daemon *d = NULL;
	int r = daemon_start(site, &d, err);

	*ret_code = r < 0 ? EX_UNAVAILABLE : EX_SOFTWARE;
	if (r < 0)
		return r;
	notify_send("READY=1\nSTATUS=leads");
	cluster_show(site->cluster, true);
	r = daemon_run(d, err);
	cluster_show(site->cluster, false);
	notify_send(r > DAEMON_STOPPED ? "STATUS=steps down" : "STOPPING=1");
	/* What is in memory is not ours any more, and the store may not answer: others must not
	 * wait for us. */
	if (r == E_EPOCH) {
		main_die(EX_SOFTWARE, err);
		fflush(NULL);
		_exit(EX_SOFTWARE);
	}
	/* A refusal of the store that came while it stopped: no standby with a SIGTERM to come. */
	struct err late = { 0 };
	int failed = daemon_stop(d, &late);
	if (r > DAEMON_STOPPED && failed < 0) {
		*err = late;
		r = failed;
	}
	return r;
}

static int main_run(struct param_baseserver *p, struct param_args *args)
{
	struct run ctx = { p, args, { .lock_fd = -1 } };
	struct err err = { 0 };
	int64_t shy_ms = 0;

	main_prepare(p);
	int r = site_open(&ctx.site, p, &err);
	ctx.site.reload = main_reload;
	ctx.site.reload_ctx = &ctx;
	int code = 0;
	for (bool again = true; again;) {
		if (r == 0)
			r = standby_wait(&ctx.site, shy_ms, &err);
		if (r != STANDBY_LEADS) {
			if (r < 0)
				code = main_die(err.code == E_INVALID ? EX_CONFIG : EX_UNAVAILABLE,
				                &err);
			break;
		}
		int failed = 0;
		r = main_lead(&ctx.site, &failed, &err);
		again = r > DAEMON_STOPPED;
		shy_ms = r == DAEMON_STEPS_DOWN ? p->lead_ms : 0;
		if (r < 0)
			code = main_die(err.code == E_INVALID ? EX_CONFIG : failed, &err);
		r = 0;
	}
	site_close(&ctx.site);
	return code;
}

/* Whose files the server reads is not whom root would be. */
static int main_judge(const void *self, struct err *err)
{
	const struct param_baseserver *p = self;

	trust_user(server_user(p));
	return daemon_check(p, err);
}

int main(int argc, char **argv)
{
	struct param_baseserver p = { 0 };
	struct param_args args = { 0 };
	int code = 0;

	screen_open();
	own_memory();
	if (!param_main(&param_baseserver_table, &p,
	                &(struct param_words){ argc, argv, "[" USES "]", main_judge }, &args,
	                &code))
		; /* what it said is all */
	else if (!args.rest[0])
		code = main_run(&p, &args);
	else if (strcmp(args.rest[0], "admin") == 0)
		code = admin_main(p.state_dir, args.rest + 1);
	else if (strcmp(args.rest[0], "server-key") == 0 && !args.rest[1])
		code = main_server_key(&p);
	else
		code = main_key(&p, args.rest);
	param_args_done(&args);
	param_done(&param_baseserver_table, &p);
	return code;
}
