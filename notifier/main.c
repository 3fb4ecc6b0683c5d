/* Start, signals and end. All of the work is notifier_round() on this thread; beside it runs
 * the thread that listens to the server (wake.c) and the one that exports traces. SIGHUP reads
 * the channels anew and keeps the former ones if the file is wrong. If the outbox cannot be
 * written the process ends: it must not tell what it cannot remember. */
#include <curl/curl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "notifier/alerts.h"
#include "notifier/channels.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/post.h"
#include "notifier/sender.h"
#include "notifier/traces.h"
#include "notifier/wake.h"
#include "rt/notify.h"
#include "util/err.h"
#include "util/log.h"
#include "util/own.h"
#include "util/screen.h"
#include "wire/enrol.h"
#include "wire/identity.h"

static int notifier_main_die(int code, const struct err *err)
{
	fprintf(stderr, "sirdar-notifier: %s\n", err->text);
	return code;
}

/* --test RECIPIENT and --status, wherever they stand: taken out of argv, they are no settings. */
struct asked {
	const char *test;
	bool status;
};

static int asked_take(int argc, char **argv, struct asked *ret)
{
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--status") == 0)
			ret->status = true;
		else if (strcmp(argv[i], "--test") == 0)
			ret->test = i + 1 < argc ? argv[++i] : "";
		else
			argv[kept++] = argv[i];
	}
	argv[kept] = NULL;
	return kept;
}

static int main_test(struct notifier *n, const char *recipient)
{
	static const struct sender_ops ops = { .done = post_probed };
	struct err err = { 0 };
	int r = channels_read(n->param.channels_file, &n->channels, &err);

	if (r == 0)
		r = sender_new(n->param.send_ms, &ops, n, &n->sender, &err);
	if (r == 0)
		r = post_test(n, recipient, &err);
	if (r < 0)
		return notifier_main_die(EX_UNAVAILABLE, &err);
	printf("%s took it\n", recipient);
	return EX_OK;
}

static int main_status(struct notifier *n)
{
	struct outbox_figures f = { 0 };
	char went[OUTBOX_FACT_BYTES] = "";
	struct err err = { 0 };
	int r = outbox_open_read(n->param.state_dir, &n->outbox, &err);

	if (r == 0)
		r = outbox_figures(n->outbox, &f, &err);
	if (r == 0)
		r = outbox_fact(n->outbox, NEWS_WENT, went, &err);
	if (r < 0)
		return notifier_main_die(EX_UNAVAILABLE, &err);
	printf("waiting %lld, sent %lld, given up %lld, read up to event %lld\n",
	       (long long)f.waiting, (long long)f.sent, (long long)f.given_up, (long long)f.cursor);
	if (went[0])
		printf("%s\n", went);
	if (f.error[0])
		printf("last error: %s\n", f.error);
	return f.given_up || f.error[0] ? 1 : EX_OK;
}

/* 0: go on. */
static int take_signal(struct notifier *n, int fd)
{
	struct signalfd_siginfo s;
	struct err err = { 0 };

	if (read(fd, &s, sizeof s) != sizeof s)
		return 0;
	if (s.ssi_signo != SIGHUP)
		return (int)s.ssi_signo;
	if (notifier_reload(n, &err) < 0)
		log_error("reload.channels", "why=\"%s\"; the former ones stay", err.text);
	return 0;
}

static int notifier_main_run(struct notifier *n, int fd)
{
	static const struct sender_ops ops = { .done = post_done, .drop = post_drop };
	static const struct wake_ops wakes = { notifier_news, notifier_place, told_back,
		                               system_answer, alerts_said,    notifier_given,
		                               asked_put };
	struct traces *traces = NULL;
	struct err err = { 0 };
	int sig = 0, r;

	r = sender_new(n->param.send_ms, &ops, n, &n->sender, &err);
	if (r == 0)
		sender_set_files(n->sender,
		                 &(struct sender_files){ n->param.state_dir, n->param.file_bytes });
	if (r == 0)
		r = notifier_open(n, &err);
	if (r == 0)
		r = wake_start(&n->param, &wakes, n, &n->wake, &err);
	if (r == 0) {
		notify_send("READY=1");
		log_info("notifier.ready", "channels=%zu cursor=%lld", channels_count(n->channels),
		         (long long)atomic_load(&n->cursor));
	}
	if (r == 0)
		r = traces_start(&n->param, &traces, &err);
	while (r == 0 && sig == 0) {
		r = notifier_round(n, fd, &err);
		sig = take_signal(n, fd);
	}
	log_info("notifier.stopping", "signal=%d", sig);
	notify_send("STOPPING=1");
	traces_stop(traces);
	wake_stop(n->wake);
	return r < 0 ? notifier_main_die(EX_UNAVAILABLE, &err) : EX_OK;
}

static int signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return fd;
}

static int notifier_main_judge(const void *self, struct err *err)
{
	const struct param_notifier *p = self;
	struct channels *read = NULL;
	struct identity own = { 0 };
	int r = identity_read(p->key_file, p->name, &own, err);

	identity_wipe(&own);
	if (r < 0)
		return r;
	r = channels_read(p->channels_file, &read, err);
	channels_free(read);
	return r == E_NOT_FOUND ? 0 : r; /* documents of the server may be all there is */
}

int main(int argc, char **argv)
{
	struct notifier n = { 0 };
	struct asked asked = { NULL, false };
	struct param_args args;
	enum log_level level = LOG_INFO;
	int code = EX_OK;

	screen_open();
	own_memory();
	argc = asked_take(argc, argv, &asked);
	if (!param_main(&param_notifier_table, &n.param,
	                &(struct param_words){ argc, argv,
	                                       "[--test RECIPIENT | --status | " ENROL_USES "]",
	                                       notifier_main_judge },
	                &args, &code))
		goto out;
	log_level_parse(n.param.log_level, &level);
	log_open("sirdar-notifier", level);
	int fd = signals_open();
	if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || fd < 0) {
		fprintf(stderr,
		        "sirdar-notifier: no random numbers, no libcurl or no descriptor\n");
		code = EX_OSERR;
		goto out;
	}
	notify_open();
	struct enrol_settings set = { n.param.name,     n.param.key_file,  n.param.server.items,
		                      n.param.server.n, n.param.state_dir, .kind = PEER_NOTIFIER };
	code = args.rest[0]   ? enrol_main(&set, "sirdar-notifier", args.rest)
	       : asked.test   ? main_test(&n, asked.test)
	       : asked.status ? main_status(&n)
	                      : notifier_main_run(&n, fd);
	notifier_close(&n);
	curl_global_cleanup();
out:
	param_args_done(&args);
	param_done(&param_notifier_table, &n.param);
	return code;
}
