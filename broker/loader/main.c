/* taskrunner-loader — one task type's runner on this machine. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "broker/link/lane.h"
#include "broker/link/program.h"
#include "broker/loader/apart.h"
#include "broker/loader/hold.h"
#include "broker/loader/lent.h"
#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/own.h"
#include "util/screen.h"

#define SLOTS_MAX 65536

struct process {
	struct param_taskbroker settings;
	struct param_args args;
	struct loader_args what;
	char *plugin_path;
	struct ev_loop *loop;
	struct loader *loader;
	struct program_signals signals;
};

/* One loader of a type and lane: a second would take its jobs twice. */
static int lock_type(const struct process *p, struct err *err)
{
	char *path = lane_lock(p->settings.state_dir, p->what.type, p->what.lane);
	int r = program_lock(path, "loader of this type runs", err);

	free(path);
	return r;
}

static void loader_main_reload(void *ctx, const struct param_taskbroker *fresh)
{
	struct process *p = ctx;
	struct buf restart;

	buf_init(&restart);
	size_t n = loader_reload(p->loader, &p->settings, fresh, &restart);

	log_info("loader.reload", "type=%s settings=%zu need_restart=\"%s\"", p->what.type, n,
	         buf_str(&restart));
	buf_done(&restart);
}

static void on_signal(void *ctx, int number)
{
	struct process *p = ctx;

	if (number == SIGHUP)
		program_reload("loader.reload", &p->settings, &p->args, loader_main_reload, p);
	else if (number == SIGUSR1 && p->loader)
		loader_retire(p->loader);
	else if (p->loader)
		loader_stop(p->loader);
}

/* Takes our own options out of argv; the rest is param_main()'s. */
static const char *take_option(int *argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < *argc; i++) {
		if (strcmp(argv[i], name) != 0)
			continue;
		const char *value = argv[i + 1];

		memmove(argv + i, argv + i + 2, (size_t)(*argc - i - 1) * sizeof *argv);
		*argc -= 2;
		return value;
	}
	return NULL;
}

static bool read_options(struct process *p, int *argc, char **argv)
{
	const char *type = take_option(argc, argv, "--type");
	const char *slots = take_option(argc, argv, "--slots");
	const char *plugin = take_option(argc, argv, "--plugin");
	const char *status = take_option(argc, argv, "--status-fd");
	const char *lane = take_option(argc, argv, "--lane");
	const char *heir = take_option(argc, argv, "--heir-of");

	p->what.key_socket = take_option(argc, argv, "--key-socket");
	char *end = NULL;
	unsigned long n = slots ? strtoul(slots, &end, 10) : 1;

	p->what.version = take_option(argc, argv, "--version-wanted");
	p->what.sha256 = take_option(argc, argv, "--sha256");
	p->what.type = type;
	p->what.slots = (uint32_t)n;
	p->what.lane = lane ? (uint32_t)strtoul(lane, NULL, 10) : 0;
	p->what.heir_of = heir;
	p->what.status_fd = status ? (int)strtoul(status, NULL, 10) : -1;
	p->plugin_path = mem_str(plugin);
	return !end || (*end == 0 && n > 0 && n <= SLOTS_MAX);
}

static int loader_main_run(struct process *p)
{
	struct err err = { 0 };
	enum log_level level = LOG_INFO;
	int r;

	log_level_parse(p->settings.log_level, &level);
	log_open("taskrunner-loader", level);
	if (!p->plugin_path)
		p->plugin_path = mem_fmt("%s/%s.so", p->settings.runners_dir, p->what.type);
	p->what.plugin_path = p->plugin_path;
	p->what.settings_file = p->args.config;
	p->what.hold = hold_open;
	if (p->what.status_fd >= 0)
		fcntl(p->what.status_fd, F_SETFD, FD_CLOEXEC);
	p->loop = ev_loop_new(EVFLAG_NOSIGMASK | EVFLAG_NOENV);
	r = p->loop ? program_signals(&p->signals, p->loop, SIGUSR1, &err)
	            : err_set(&err, E_NOMEM, "no event loop");
	if (r == 0)
		r = lock_type(p, &err);
	if (r == 0)
		r = loader_run(&p->settings, &p->what, p->loop, &p->loader, &err);
	if (r < 0)
		log_error("loader.end", "type=%s code=%s why=\"%s\"", p->what.type, err_name(r),
		          err.text);
	return r == 0 ? EX_OK : r == E_BUSY ? EX_TEMPFAIL : EX_CONFIG;
}

int main(int argc, char **argv)
{
	struct process p;
	int code = EX_USAGE;

	screen_open();
	own_memory();
	if (argc > 1 && strcmp(argv[1], APART_OPTION) == 0)
		return one_main(argc, argv);
	if (argc > 1 && strcmp(argv[1], STAND_IN_OPTION) == 0)
		return stand_in_main(argc, argv);
	memset(&p, 0, sizeof p);
	p.signals = (struct program_signals){ .on_signal = on_signal, .ctx = &p };
	mallopt(M_ARENA_MAX, 2);
	bool good = read_options(&p, &argc, argv);

	if (!param_main(&param_taskbroker_table, &p.settings,
	                &(struct param_words){ argc, argv,
	                                       "--type TYPE [--slots N] [--plugin FILE.so]" },
	                &p.args, &code))
		return code;
	if (!good || !p.what.type || !fs_name_ok(p.what.type, 64)) {
		fprintf(stderr, "taskrunner-loader: want --type TYPE, and --slots from 1 to %d\n",
		        SLOTS_MAX);
		return EX_USAGE;
	}
	code = loader_main_run(&p);
	if (p.loop)
		ev_loop_destroy(p.loop);
	free(p.plugin_path);
	param_args_done(&p.args);
	param_done(&param_taskbroker_table, &p.settings);
	return code;
}
