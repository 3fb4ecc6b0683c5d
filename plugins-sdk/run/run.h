/* run.h — sirdar-runner-run: one plugin, one job, no server. Parts: job.c (the job's file),
 * host.c (what a plugin calls), process.c (its process), main.c. */
#ifndef SDK_RUN_H
#define SDK_RUN_H

#include <pthread.h>
#include <sirdar/runner.h>
#include <stdbool.h>
#include <sys/types.h>

struct guest_type;
struct yaml_doc;
struct yaml_node;

struct run_pair {
	char *name, *value; /* owned */
};

struct run {
	struct runner_job pub; /* first: the plugin's pointer is ours */
	struct yaml_doc *doc;
	struct run_pair *params;
	size_t n_params;
	const struct yaml_node *secrets; /* a map of texts, or NULL */
	int64_t kill_after_us;           /* 0: never */

	pthread_mutex_t mu; /* guards what follows */
	pthread_cond_t cv;
	bool is_cancelled, is_over, is_executing;
	pid_t pid;       /* leads its group; 0: none */
	char *files_dir; /* owned; NULL: none */
};

static inline struct run *run_of(const struct runner_job *pub)
{
	return (struct run *)(uintptr_t)pub;
}

/* Read the job from YAML; NULL: a job without parameters.
 *
 *   errors  E_INVALID, E_NOT_FOUND, E_IO; what is wrong was printed */
int run_read(const char *path, struct run *ret_run);
void run_done(struct run *r);
/* Around execute(). False: it was told to stop while prepare() was inside, and is not executed. */
bool run_may_execute(struct run *r);
void run_executed(struct run *r);
/* `guest`: what a manifest said, lent; or NULL. */
void run_host(struct runner_host *ret_host, const struct guest_type *guest);
/* Start the job's process. 0, or RUNNER_E_*. Thread: the job's. */
int run_spawn(struct run *r, const struct runner_process *p);
/* Wait until it has ended. Thread: the job's. */
void run_wait(struct run *r, struct runner_result *result);
void run_signal(struct run *r, int signal); /* to its group, while there is one; any thread */

#endif
