/* handover.c — the keeper execs itself, or its successor, and keeps its children.
 *
 * Children stay children, and the descriptors named in the message stay open. What the
 * message says is versioned by protobuf: fields are only added.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/keeper.h"
#include "broker/keeper/record.h"
#include "broker/keeper/service.h"
#include "rt/notify.h"
#include "rt/spawn.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

enum { VERSION = 1, PROBE_MS = 3000 };

struct parcel { /* one job's part of the message */
	Sirdar__KeeperHandoverJob job;
	Sirdar__KeeperJob what;
	Sirdar__KeeperStreamState out, err;
	Sirdar__KeeperExited end;
	Sirdar__KeeperNotStarted not_started;
	ProtobufCBinaryData *secrets; /* what they name is borrowed */
};

static void stream_pack(const struct output *x, Sirdar__KeeperStreamState *to)
{
	sirdar__keeper_stream_state__init(to);
	to->fd = x->io.fd;
	to->bytes = x->bytes;
	to->dropped = x->dropped;
	to->gap = x->gap;
	to->capped = x->limit.is_capped;
	to->hurry = x->hurry;
	to->held.data = x->mask.held.len ? x->mask.held.data + x->mask.held.from : NULL;
	to->held.len = x->mask.held.len;
	to->covered = x->mask.covered;
	to->in_run = x->mask.in_run;
}

static void secrets_pack(const struct job *job, struct parcel *p)
{
	size_t n = mask_count(job->mask);

	p->secrets = mem_array(n + 1, sizeof *p->secrets);
	for (size_t i = 0; i < n; i++)
		p->secrets[i].data = (uint8_t *)(uintptr_t)mask_value(job->mask, i,
		                                                      &p->secrets[i].len);
	p->job.secret = p->secrets;
	p->job.n_secret = n;
}

static void job_pack(const struct job *job, struct parcel *p)
{
	Sirdar__KeeperHandoverJob *to = &p->job;

	sirdar__keeper_handover_job__init(to);
	job_message(job, &p->what);
	stream_pack(&job->out, &p->out);
	stream_pack(&job->err, &p->err);
	p->end = job->end;
	sirdar__keeper_not_started__init(&p->not_started);
	p->not_started.code = job->start_code;
	p->not_started.text = job->start_text ? job->start_text : (char *)"";
	to->job = &p->what;
	to->pid_ticks = job->pid_ticks;
	to->group = job->group;
	to->grace_us = job->grace_us;
	to->fence_kill_us = job->fence_kill_us;
	to->server_lost_keep = job->is_keep;
	to->out = &p->out;
	to->err = &p->err;
	to->main_done = job->is_main_done;
	to->end = &p->end;
	to->not_started = &p->not_started;
	to->phase = job->phase;
	to->phase_us = (uint64_t)job->phase_us;
	to->hang_us = (uint64_t)job->hang_us;
	to->finish = (job->is_foreign ? 1u : 0) | (job->is_fenced ? 2u : 0) |
	             (job->is_hang_told ? 4u : 0);
	if (job->record) {
		to->begins = job->record->begins ? job->record->begins : (char *)"";
		to->capped = job->record->limit.is_capped;
	}
	secrets_pack(job, p);
}

static int message_write(const Sirdar__KeeperHandover *m, int *ret_fd, struct err *err)
{
	size_t n = sirdar__keeper_handover__get_packed_size(m);
	int fd = memfd_create("keeper", 0); /* stays open over the exec */
	uint8_t *p;

	if (fd < 0 || ftruncate(fd, (off_t)n) < 0) {
		if (fd >= 0)
			close(fd);
		return err_sys(err, E_NOMEM, errno, "memory to hand over");
	}
	p = mem_new(n + 1); /* holds secrets */
	sirdar__keeper_handover__pack(m, p);
	size_t done = 0;
	ssize_t w = 1;
	while (done < n && (w = write(fd, p + done, n - done)) > 0)
		done += (size_t)w;
	explicit_bzero(p, n);
	free(p);
	if (done < n) {
		close(fd);
		return err_sys(err, E_NOMEM, errno, "memory to hand over");
	}
	lseek(fd, 0, SEEK_SET);
	*ret_fd = fd;
	return 0;
}

static int state_write(struct keeper *k, int *ret_fd, struct err *err)
{
	Sirdar__KeeperHandover m = SIRDAR__KEEPER_HANDOVER__INIT;
	struct parcel *parcels = mem_array(k->jobs.len + 1, sizeof *parcels);
	Sirdar__KeeperHandoverJob **list = mem_array(k->jobs.len + 1, sizeof *list);
	size_t from = k->forgotten_n > FORGOTTEN_MAX ? k->forgotten_n - FORGOTTEN_MAX : 0;

	m.version = VERSION;
	m.incarnation = k->incarnation;
	m.lock_fd = k->lock_fd;
	m.listen_fd = service_listen_fd(k->service);
	m.cgroup_dir = (char *)tree_dir(k->tree);
	m.job = list;
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		const struct job *job = slab_at(&k->jobs, i);
		if (!job->keeper)
			continue;
		job_pack(job, &parcels[m.n_job]);
		list[m.n_job] = &parcels[m.n_job].job;
		m.n_job++;
	}
	CHECK(m.n_job == k->jobs.len);
	m.forgotten = mem_array(k->forgotten_n - from + 1, sizeof *m.forgotten);
	while (from < k->forgotten_n)
		m.forgotten[m.n_forgotten++] = k->forgotten[from++ % FORGOTTEN_MAX];
	int r = message_write(&m, ret_fd, err);
	free(m.forgotten);
	for (size_t i = 0; i < m.n_job; i++)
		free(parcels[i].secrets);
	free(list);
	free(parcels);
	return r;
}

static void keep_over_exec(int fd, bool keep)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

static void descriptors_mark(struct keeper *k, bool keep)
{
	keep_over_exec(k->lock_fd, keep);
	keep_over_exec(k->settings.launcher.fd, keep);
	keep_over_exec(service_listen_fd(k->service), keep);
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		struct job *job = slab_at(&k->jobs, i);
		if (!job->keeper)
			continue;
		keep_over_exec(job->out.io.fd, keep);
		keep_over_exec(job->err.io.fd, keep);
	}
}

/* A program that cannot even say its version would take every job with it. */
static int probe(const char *program, struct err *err)
{
	char *argv[] = { (char *)program, (char *)"--version", NULL };
	struct spawn what = { .path = program, .argv = argv };
	struct pollfd p = { .events = POLLIN };
	int status = -1, pidfd;
	pid_t pid;
	int r = spawn_run(&what, &pid, &pidfd, err);

	if (r < 0)
		return r;
	p.fd = pidfd;
	if (poll(&p, 1, PROBE_MS) != 1)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	waitpid(pid, &status, 0);
	close(pidfd);
	if (status != 0)
		return err_set(err, E_INVALID, "%s --version ended with status %d", program,
		               status);
	return 0;
}

int keeper_upgrade(struct keeper *k, const char *program, struct err *err)
{
	const struct keeper_settings *s = &k->settings;
	char *options[] = {
		mem_str(program),
		mem_fmt("--state=%s", s->state_dir),
		mem_fmt("--cgroup=%s", tree_has_groups(k->tree) ? tree_dir(k->tree) : "off"),
		mem_fmt("--jobs-max=%" PRId64, s->jobs_max),
		mem_fmt("--output-max=%" PRId64, s->output_bytes_max),
		mem_fmt("--journal-bytes=%" PRId64, s->journal_bytes),
		mem_fmt("--hang-ms=%" PRId64, s->hang_ms),
		mem_fmt("--files=%s", k->files_dir),
		mem_fmt("--program=%s", k->program),
		NULL, /* the handover */
		/* An older program does not know it. */
		s->output_rate_max ? mem_fmt("--output-rate=%" PRId64, s->output_rate_max)
				   : mem_str("--foreground"),
		s->separates ? mem_fmt("--launcher=%d:%d", s->launcher.fd, (int)s->launcher.pid)
			     : NULL,
		s->separates ? mem_fmt("--peer=%u:0", (unsigned)s->peer) : NULL,
		NULL,
	};
	int fd = -1, r = probe(program, err);

	if (r == 0)
		r = state_write(k, &fd, err);
	if (r < 0)
		goto out;
	CHECK(!options[9] && k->starts.n == 0 && !k->is_stopping);
	options[9] = mem_fmt("--handover=%d", fd);
	log_info("keeper.upgrading", "program=%s running=%zu", program, k->running);
	tree_drop_spares(k->tree);
	descriptors_mark(k, true);
	notify_hand_on();
	execve(program, options, environ);
	r = err_sys(err, E_IO, errno, "%s", program);
	notify_watched();
	descriptors_mark(k, false);
	close(fd);
out:
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
		free(options[i]);
	return r;
}

/* --- the other side --- */

static void stream_take(struct keeper *k, struct output *x, const Sirdar__KeeperStreamState *m)
{
	if (!m)
		return;
	x->bytes = m->bytes;
	x->dropped = m->dropped;
	x->gap = m->gap;
	x->limit.is_capped = m->capped;
	x->hurry = m->hurry;
	buf_put(&x->mask.held, m->held.data, m->held.len);
	x->mask.covered = m->covered;
	x->mask.in_run = m->in_run;
	if (m->fd < 0)
		return;
	keep_over_exec(m->fd, false);
	output_resume(k->outputs, x, m->fd);
}

static void job_take(struct keeper *k, const Sirdar__KeeperHandoverJob *m)
{
	struct job *job = keeper_add(k, m->job->token, m->job->type);

	job_from_message(job, m->job);
	job->pid = (pid_t)m->job->pid;
	job->pid_ticks = m->pid_ticks;
	job->group = m->group;
	job->deadline_us = m->job->deadline_us;
	job->grace_us = m->grace_us;
	job->fence_kill_us = m->fence_kill_us;
	job->is_keep = m->server_lost_keep;
	job->is_main_done = m->main_done;
	job->phase = (enum job_phase)m->phase;
	job->phase_us = (int64_t)m->phase_us;
	job->hang_us = (int64_t)m->hang_us;
	job->is_foreign = m->finish & 1;
	job->is_fenced = m->finish & 2;
	job->is_hang_told = m->finish & 4;
	if (m->end) {
		job->end = *m->end;
		job->end.type = job->type;
		job->end.text = mem_str(m->end->text);
		job->end.base.n_unknown_fields = 0;
		job->end.base.unknown_fields = NULL;
	}
	if (job->state == JOB_NOT_STARTED) {
		job->start_code = m->not_started ? m->not_started->code : E_IO;
		job->start_text = mem_str(m->not_started ? m->not_started->text : "");
	}
	keeper_hide(job, m->secret, m->n_secret); /* before there is a byte of output */
	if (job->is_recorded && !job_is_over(job)) {
		record_begin(job, m->begins);
		job->record->limit.is_capped = m->capped;
	}
	stream_take(k, &job->out, m->out);
	stream_take(k, &job->err, m->err);
	if (job_is_over(job))
		return;
	k->running++;
	if (!job->is_main_done && job->pid)
		map_add(&k->pids, (uint64_t)job->pid, job->at);
	keeper_due_set(k, job);
}

static int message_read(int fd, Sirdar__KeeperHandover **ret, struct err *err)
{
	struct stat st;
	struct buf text;
	ssize_t n;

	buf_init(&text);
	if (fstat(fd, &st) < 0 || st.st_size <= 0) {
		buf_done(&text);
		return err_set(err, E_INVALID, "descriptor %d holds no handover", fd);
	}
	while ((n = read(fd, buf_room(&text, (size_t)st.st_size), (size_t)st.st_size)) > 0)
		buf_added(&text, (size_t)n);
	*ret = sirdar__keeper_handover__unpack(NULL, text.len, buf_at(&text));
	buf_done(&text);
	close(fd);
	return *ret ? 0 : err_set(err, E_CORRUPT, "what was handed over does not read");
}

int keeper_handover_take(struct keeper *k, int fd, int *ret_listen_fd, struct err *err)
{
	Sirdar__KeeperHandover *m = NULL;
	int r = message_read(fd, &m, err);

	if (r < 0)
		return r;
	k->incarnation = m->incarnation;
	tree_begin(k->tree, k->incarnation);
	k->lock_fd = m->lock_fd;
	*ret_listen_fd = m->listen_fd;
	keep_over_exec(k->lock_fd, false);
	keep_over_exec(m->listen_fd, false);
	for (size_t i = 0; i < m->n_forgotten; i++)
		keeper_remember_forgotten(k, m->forgotten[i]);
	for (size_t i = 0; i < m->n_job; i++)
		if (m->job[i]->job)
			job_take(k, m->job[i]);
	log_info("keeper.upgraded", "software=%s running=%zu held=%zu", SIRDAR_VERSION, k->running,
	         k->jobs.len);
	sirdar__keeper_handover__free_unpacked(m, NULL);
	r = journal_resume(&k->journal, err);
	if (r == 0)
		keeper_record_boot(k, &k->journal); /* a former release's has no place */
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		struct job *job = slab_at(&k->jobs, i);
		if (job->keeper && job->is_main_done && !job_is_over(job))
			keeper_settle(k, job);
	}
	return r;
}
