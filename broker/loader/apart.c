/* Attempts that touch files, given to the jobkeeper as processes of their project's user
 * (sirdar/apart.h).
 *
 * The process is this program once more, with another first word (one.c). It has one attempt, no
 * key, no delegation and no settings: in a file of its own that it takes away, where scripts and
 * secrets of every job are, stand the grant as a server would send it, without the lease's proof,
 * and what a host answers besides. Only secrets that the runner asked for before are in it. What it
 * tells, it prints (lines.c), so that whoever adopts it reads the same.
 */
#include "broker/loader/apart.h"

#include <inttypes.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

enum { ARGV_MAX = 6, PATH_BYTES = 4096 };

bool apart_is(const struct param_taskbroker *s)
{
	return s->keeper_dir[0] || (geteuid() == 0 && !s->jobs_as_root);
}

const void *apart_extension(struct loader *l)
{
	CHECK(l->settings);
	if (!apart_is(l->settings))
		return NULL;
	l->is_apart = true;
	return &l->apart;
}

void apart_keep(struct job *j, const char *name, const char *value)
{
	for (uint32_t i = 0; i < j->n_given; i++)
		if (strcmp(j->given[i].name, name) == 0)
			return;
	j->given = mem_grow(j->given, j->n_given + 1, sizeof *j->given);
	j->given[j->n_given++] = (struct job_pair){ mem_str(name), mem_str(value) };
}

void apart_forget(struct job *j)
{
	for (uint32_t i = 0; i < j->n_given; i++) {
		explicit_bzero(j->given[i].value, strlen(j->given[i].value));
		free(j->given[i].name);
		free(j->given[i].value);
	}
	free(j->given);
	j->given = NULL;
	j->n_given = 0;
}

/* --- what the process is told ----------------------------------------------------------- */

static struct runner_file apart_pack(const char *name, const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *data = mem_new(n + 1);

	protobuf_c_message_pack(m, data);
	return (struct runner_file){ .name = name, .data = data, .len = n };
}

static void put_param(Sirdar__Param *to, const char *name, const char *value)
{
	sirdar__param__init(to);
	to->name = (char *)(uintptr_t)name;
	to->value = (char *)(uintptr_t)value;
}

static struct runner_file pack_job(const struct job *j)
{
	Sirdar__Job m = SIRDAR__JOB__INIT;
	Sirdar__Param *params = mem_array(j->n_params + 1, sizeof *params);
	const struct runner_job *p = &j->pub;

	m.params = mem_array(j->n_params + 1, sizeof *m.params);
	for (; m.n_params < j->n_params; m.n_params++) {
		m.params[m.n_params] = &params[m.n_params];
		put_param(&params[m.n_params], j->params[2 * m.n_params],
		          j->params[2 * m.n_params + 1]);
	}
	m.token = p->token;
	m.task_id = p->task_id;
	m.run_date = p->run_date;
	m.part = p->part;
	m.generation = p->generation;
	m.attempt = p->attempt;
	m.task_name = (char *)(uintptr_t)p->task_name;
	m.timezone = (char *)(uintptr_t)p->timezone;
	m.project = (char *)(uintptr_t)j->project;
	m.due_us = p->due_us;
	m.alive_wait_us = p->budget_ms * US_PER_MS;
	m.grace_us = p->grace_ms * US_PER_MS;
	m.created_us = j->created_us;
	m.is_again = j->is_again;
	struct runner_file f = apart_pack(APART_JOB, &m.base);

	free(m.params);
	free(params);
	return f;
}

static struct runner_file pack_given(const struct job *j, const char *egress)
{
	Sirdar__ParamGive m = SIRDAR__PARAM_GIVE__INIT;
	Sirdar__Param *params = mem_array(j->n_given + 2, sizeof *params);
	char room[24];

	pthread_mutex_lock(&j->loader->mu); /* it may be reloaded */
	snprintf(room, sizeof room, "%" PRId64, j->loader->settings->output_bytes_max);
	pthread_mutex_unlock(&j->loader->mu);
	m.params = mem_array(j->n_given + 2, sizeof *m.params);
	for (; m.n_params < j->n_given; m.n_params++) {
		m.params[m.n_params] = &params[m.n_params];
		put_param(&params[m.n_params], j->given[m.n_params].name,
		          j->given[m.n_params].value);
	}
	if (egress) {
		m.params[m.n_params] = &params[m.n_params];
		put_param(&params[m.n_params++], RUNNER_APART_EGRESS, egress);
	}
	m.params[m.n_params] = &params[m.n_params];
	put_param(&params[m.n_params++], APART_ROOM, room);
	struct runner_file f = apart_pack(APART_GIVEN, &m.base);

	free(m.params);
	free(params);
	return f;
}

static int apart_begin(const struct runner_job *pub, const char *egress)
{
	struct job *j = job_of(pub);
	struct loader *l = j->loader;
	const char *const argv[ARGV_MAX] = { l->program, APART_OPTION, l->type, l->plugin_file,
		                             l->plugin_sha256 };
	char *named = getenv("SIRDAR_EGRESS") ? mem_fmt("SIRDAR_EGRESS=%s", getenv("SIRDAR_EGRESS"))
	                                      : NULL;
	const char *const env[] = { named, NULL };
	struct runner_file files[] = { pack_job(j), pack_given(j, egress) };
	const struct runner_process process = {
		.size = sizeof process,
		.n_files = sizeof files / sizeof *files,
		.argv = argv,
		.env = env,
		.files = files,
	};
	int r = l->host.spawn(pub, &process);

	for (uint32_t i = 0; i < process.n_files; i++) {
		explicit_bzero((void *)(uintptr_t)files[i].data, files[i].len);
		free((void *)(uintptr_t)files[i].data);
	}
	free(named);
	apart_forget(j);
	return r < 0 ? RUNNER_FAILED : RUNNER_PROCESS;
}

/* --- life ------------------------------------------------------------------------------- */

void apart_init(struct loader *l)
{
	char path[PATH_BYTES];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	l->program = mem_strn(path, n > 0 ? (size_t)n : 0);
	l->apart = (struct runner_apart){ .size = sizeof l->apart, .begin = apart_begin };
}

void apart_loaded(struct loader *l, const char *plugin_path, const char *sha256)
{
	char *real = realpath(plugin_path, NULL);

	CHECK(!l->plugin_file);
	l->plugin_file = mem_str(real ? real : plugin_path);
	l->plugin_sha256 = sha256;
	free(real);
}

void apart_done(struct loader *l)
{
	free(l->program);
	free(l->plugin_file);
}
