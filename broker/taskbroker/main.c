/* taskbroker — one a machine: registers it, reports its load, keeps its loaders and its
 * jobkeeper alive. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/keeper/box.h"
#include "broker/keeper/landlock.h"
#include "broker/keeper/tenant.h"
#include "broker/link/program.h"
#include "broker/taskbroker/broker.h"
#include "etcd/member.h"
#include "rt/notify.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/own.h"
#include "util/screen.h"
#include "wire/enrol.h"
#include "wire/identity.h"

struct process {
	struct param_taskbroker settings;
	struct param_args args;
	struct broker broker;
	struct program_signals signals;
};

/* One broker a state directory. */
static int lock_state(const char *dir, struct err *err)
{
	char *path = mem_fmt("%s/taskbroker.lock", dir);
	int r = program_lock(path, "taskbroker runs here", err);

	free(path);
	return r;
}

static void taskbroker_main_reload(void *ctx, const struct param_taskbroker *fresh)
{
	struct process *p = ctx;
	bool again = link_differs(&p->settings, fresh);
	struct buf restart;

	buf_init(&restart);
	size_t n = param_reload(&param_taskbroker_table, &p->settings, fresh, &restart);

	log_info("broker.reload", "settings=%zu need_restart=\"%s\"", n, buf_str(&restart));
	buf_done(&restart);
	broker_reload(&p->broker);
	bool rekeyed = link_rekeyed(p->broker.link);
	if (rekeyed) /* the former key is over when we greet by the next one */
		delegates_tell(&p->broker);
	if (rekeyed || again)
		link_again(p->broker.link);
}

static void on_signal(void *ctx, int number)
{
	struct process *p = ctx;

	if (number == SIGHUP)
		program_reload("broker.reload", &p->settings, &p->args, taskbroker_main_reload, p);
	else
		broker_stop(&p->broker, p->broker.ends_jobs);
}

/* Our other programs are where this one is. */
static int find_places(struct broker *b, struct err *err)
{
	char self[PATH_MAX] = "", state[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return err_sys(err, E_IO, errno, "/proc/self/exe");
	b->bin_dir = mem_str(dirname(self));
	int r = own_dir(b->settings->state_dir, false, err);

	if (r == 0)
		r = fs_mkdirs(b->settings->work_dir, 0755, err);
	if (r == 0 && !realpath(b->settings->state_dir, state))
		r = err_sys(err, E_IO, errno, "%s", b->settings->state_dir);
	if (r == 0)
		b->state_dir = mem_str(state);
	return r;
}

/* On a thread of its own: etcd may be slow, the broker may not. */
static int main_join(struct broker *b, struct err *err)
{
	const struct param_taskbroker *p = b->settings;
	char host[256] = "";
	struct member_settings set = {
		.etcd = { p->etcd.items, p->etcd.n, p->etcd_user_file, p->etcd_ca_file,
		          p->etcd_timeout_ms },
		.prefix = p->etcd_prefix,
		.ttl_ms = p->etcd_ttl_ms,
		.state_dir = b->state_dir,
		.name = p->name[0] ? p->name : host,
		.address = host,
		.mode = "taskbroker",
		.status = "online",
		.description = p->etcd_description,
		.told = member_log,
	};

	if (p->etcd.n == 0)
		return 0;
	if (gethostname(host, sizeof host - 1) < 0)
		snprintf(host, sizeof host, "localhost");
	return member_open(&set, &b->member, err);
}

/* By the user who starts it, or asks: --check-config is for the service's user. */
static int users_check(const struct param_taskbroker *p, struct err *err)
{
	bool is_landlocked = strcmp(p->isolation, "landlock") == 0;

	if (is_landlocked && p->new_privileges)
		return err_set(err, E_INVALID,
		               "isolation is 'landlock' and new_privileges is true: the kernel "
		               "binds only what cannot gain rights; take one of them out");
	if (is_landlocked && !p->keeper_dir[0] && landlock_check(err) < 0)
		return err->code;
	if (geteuid() != 0 && !p->keeper_dir[0] && strcmp(p->isolation, "box") == 0)
		return err_set(
			err, E_INVALID,
			"isolation is 'box', and this broker is not root: its jobs are its own "
			"user's; set keeper_dir to that of a jobkeeper with a launcher");
	if (geteuid() != 0 || p->keeper_dir[0])
		return 0;
	if (strcmp(p->isolation, "box") == 0 && box_check(err) < 0)
		return err->code;
	if (!p->jobs_as_root && !p->users.n && !p->job_users_file[0] && !p->job_uids[0])
		return err_set(
			err, E_INVALID,
			"this broker is root, and nothing says as whom jobs run: start it as "
			"a user of its own, or set job_uids (a number for each project) or "
			"job_users_file, or jobs_as_root where everybody may be root");
	if (p->jobs_as_root)
		log_warn("broker.jobs_as_root", "jobs run as root: nothing of this machine is kept "
		                                "from them");
	return 0;
}

/* It is read again at each start of a job, so a wrong one keeps no broker from its other work. */
static void map_look(const struct param_taskbroker *p)
{
	struct err err = { 0 };

	if (p->job_users_file[0] && tenant_check(p->job_users_file, &err) < 0)
		log_warn(err.code == E_CONFLICT ? "broker.users_shared" : "broker.users_unread",
		         "text=\"%s\"%s", err.text,
		         err.code == E_CONFLICT
		                 ? ""
		                 : " hint=\"jobs of its projects wait until it reads\"");
}

static int taskbroker_main_run(struct process *p)
{
	struct broker *b = &p->broker;
	enum log_level level = LOG_INFO;
	struct err err = { 0 };

	log_level_parse(p->settings.log_level, &level);
	log_open("taskbroker", level);
	notify_open();
	b->settings = &p->settings;
	b->args = &p->args;
	b->loop = ev_loop_new(EVFLAG_NOSIGMASK | EVFLAG_NOENV);
	int r = b->loop ? users_check(b->settings, &err) : err_set(&err, E_NOMEM, "no event loop");

	if (r == 0)
		map_look(b->settings);
	if (r == 0)
		r = find_places(b, &err);
	if (r == 0)
		r = lock_state(b->state_dir, &err);
	if (r == 0)
		r = program_signals(&p->signals, b->loop, 0, &err);
	if (r < 0)
		goto out;
	r = broker_open(b, &err);
	if (r == 0)
		r = main_join(b, &err);
	if (r == 0)
		ev_run(b->loop, 0);
	if (r == 0 && b->failed) /* said where it was seen */
		r = err_set(&err, b->failed, "it could not begin");
	member_close(b->member);
	broker_close(b);
out:
	if (r < 0)
		log_error("broker.end", "code=%s why=\"%s\"", err_name(r), err.text);
	free(b->state_dir);
	free(b->bin_dir);
	if (b->loop)
		ev_loop_destroy(b->loop);
	return r == 0 ? EX_OK : r == E_BUSY ? EX_TEMPFAIL : EX_CONFIG;
}

static int taskbroker_main_enrol(const struct process *p)
{
	const struct param_taskbroker *s = &p->settings;
	char name[KEY_NAME_MAX + 1];
	struct enrol_settings set = {
		name,         s->key_file,     s->server.items,    s->server.n,
		s->state_dir, .reloads = true, .kind = PEER_BROKER
	};

	log_open("taskbroker", LOG_WARN);
	link_name_read(s, name, sizeof name);
	return enrol_main(&set, "taskbroker", p->args.rest);
}

static bool take_flag(int *argc, char **argv, const char *name)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], name) != 0)
			continue;
		memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof *argv);
		--*argc;
		return true;
	}
	return false;
}

/* A map that does not read keeps a broker from no other work, but is nothing to begin with. */
static int taskbroker_main_judge(const void *self, struct err *err)
{
	const struct param_taskbroker *p = self;
	struct identity own = { 0 };
	char name[KEY_NAME_MAX + 1];
	int r = users_check(p, err);

	link_name_read(p, name, sizeof name);
	if (r == 0)
		r = identity_read(p->key_file, name, &own, err);
	identity_wipe(&own);
	if (r == 0 && p->job_users_file[0])
		r = tenant_check(p->job_users_file, err);
	return r;
}

int main(int argc, char **argv)
{
	struct process *p = mem_new(sizeof *p);
	int code = EX_USAGE;

	p->signals = (struct program_signals){ .on_signal = on_signal, .ctx = p };
	screen_open();
	own_memory();
	mallopt(M_ARENA_MAX, 1);
	p->broker.ends_jobs = take_flag(&argc, argv, "--with-jobs");
	if (param_main(&param_taskbroker_table, &p->settings,
	               &(struct param_words){ argc, argv,
	                                      "[--with-jobs | " ENROL_USES "]\n"
	                                      " (--with-jobs: end the jobs too when told to end)",
	                                      taskbroker_main_judge },
	               &p->args, &code))
		code = p->args.rest[0] ? taskbroker_main_enrol(p) : taskbroker_main_run(p);
	param_args_done(&p->args);
	param_done(&param_taskbroker_table, &p->settings);
	free(p);
	return code;
}
