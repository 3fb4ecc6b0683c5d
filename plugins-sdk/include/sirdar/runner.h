/* runner.h — the contract between Sirdar's broker and a runner plugin.
 *
 * The only header a runner includes; plain C99 or C++11. A plugin is a shared object
 * that exports one symbol, runner_entry. ABI.md has the rules of growth, template/ a
 * plugin to copy.
 *
 * Nothing allocated on one side is freed on the other: text crosses by copy. Structs
 * begin with their size as their maker's compiler saw it; members are only appended.
 *
 * Threads a call arrives on:
 *   [control]  one thread, never two calls at once, no job inside
 *   [job]      a job thread; many jobs may be inside at the same time
 *   [any]      any thread, at any time while the job lives
 * and the state it is valid in:
 *   {loaded}   after runner_entry()         {open}  between open() and close()
 *   {job}      from prepare() until finish() has returned
 *
 *   loaded --open--> open --( prepare, execute, finish )*--> drain? --close--> loaded
 *   (never unmapped: to unload, the process ends)
 */
#ifndef SIRDAR_RUNNER_H
#define SIRDAR_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNNER_ABI_MAJOR 1u
#define RUNNER_ABI_MINOR 1u

#if defined(__GNUC__) || defined(__clang__)
#define RUNNER_EXPORT __attribute__((visibility("default")))
#else
#define RUNNER_EXPORT
#endif

/* What prepare() and execute() answer. Negative numbers: the runner itself failed; the
 * job's result is what `result` says, infrastructure when it says nothing. */
#define RUNNER_DONE    0 /* prepare: go on; execute: over, `result` says how */
#define RUNNER_PROCESS 1 /* execute: the job is the process it spawned and ends with it */
#define RUNNER_THREAD  2 /* execute, called inline: it would block; call again on a thread */
#define RUNNER_FAILED  (-1)

/* Answers of the host's functions, all negative. */
#define RUNNER_E_NONE    (-1) /* there is no such thing */
#define RUNNER_E_INVALID (-2) /* arguments */
#define RUNNER_E_LIMIT   (-3) /* larger or more than the host allows */
#define RUNNER_E_STATE   (-4) /* not now: job cancelled, or its process is spawned already */
#define RUNNER_E_SYSTEM  (-5) /* the machine or the keeper would not; the log has the text */

/* Verdicts of a result. */
#define RUNNER_BY_CODE   0u /* exit_code 0 is success, anything else may be tried again */
#define RUNNER_RETRYABLE 1u
#define RUNNER_FATAL     2u /* trying again cannot help */
#define RUNNER_INFRA     3u /* not the job's fault; burns no attempt */
#define RUNNER_NOT_YET   4u /* a sensor: look again after retry_after_ms; no failure */

/* How a try to connect went: what probe() answers. */
#define RUNNER_PROBE_CONNECTED 0 /* result->text: the other side's version */
#define RUNNER_PROBE_NAME      1 /* its name does not resolve */
#define RUNNER_PROBE_REFUSED   2 /* nobody listens there, or there is no way */
#define RUNNER_PROBE_TLS       3
#define RUNNER_PROBE_LOGIN     4 /* wrong user or password */
#define RUNNER_PROBE_DATABASE  5 /* it is not there */
#define RUNNER_PROBE_POLICY    6 /* the machine does not allow it */
#define RUNNER_PROBE_LATE      7
#define RUNNER_PROBE_OTHER     8

/* Streams of a job's log. */
#define RUNNER_STDOUT 1u
#define RUNNER_STDERR 2u

/* Flags of a plugin. */
#define RUNNER_INLINE_OK   1u /* prepare, execute and finish never block (see RUNNER_THREAD) */
#define RUNNER_WORK_REMOTE 2u /* the work is done elsewhere and outlives this machine */
#define RUNNER_NO_PROCESS  4u /* never calls spawn(): its loader needs no jobkeeper */

/* Flags of a job. */
#define RUNNER_JOB_INLINE 1u /* this call may not block: answer RUNNER_THREAD instead */
#define RUNNER_JOB_LEFT   2u /* finish: the broker ends, the process goes on; free memory only */

#define RUNNER_TEXT_BYTES 240

/* How a job ended. The host makes it, zeroed but for `size`; the runner fills it in. */
struct runner_result {
	uint32_t size;
	uint32_t verdict;
	int32_t exit_code; /* 0.. status, -n: signal n */
	uint32_t reserved;
	uint64_t retry_after_ms;      /* RUNNER_NOT_YET */
	char text[RUNNER_TEXT_BYTES]; /* one line for people, NUL-terminated */
};

/* One attempt to run. The host's; valid {job}. The host knows the job by this pointer:
 * hand it back as it is, never a copy. */
struct runner_job {
	uint32_t size;
	uint32_t flags;
	uint64_t token;     /* fence: larger is newer; sinks should refuse older ones */
	int64_t run_date;   /* seconds since 1970 UTC */
	int64_t due_us;     /* UTC */
	uint64_t budget_ms; /* longest it may run; 0: no limit */
	uint64_t grace_ms;  /* between kill() and force */
	uint32_t task_id;
	int32_t part;
	uint32_t generation;
	uint32_t attempt;
	const char *task_name; /* strings are never NULL */
	const char *timezone;
	const char *run_as; /* "": the broker's own user */
};

/* A file for the job's process alone, in the directory that the variable SIRDAR_FILES
 * names. Gone when the job is. */
struct runner_file {
	const char *name; /* no '/' */
	const void *data;
	uint64_t len;
};

/* A process to start. Borrowed during the call. */
struct runner_process {
	uint32_t size;
	uint32_t n_files;
	const char *const *argv; /* ends with NULL; argv[0] is a path, or found in PATH */
	/* "NAME=value", ends with NULL; NULL: none. Added to a small fixed environment and
	 * to SIRDAR_FENCE_TOKEN, SIRDAR_RUN_DATE, SIRDAR_TASK, SIRDAR_ATTEMPT and kin. */
	const char *const *env;
	const char *directory; /* NULL: the machine's directory for jobs */
	const char *run_as;    /* NULL: the job's run_as; policy may refuse */
	const struct runner_file *files;
};

/* What the broker lends. Valid {open}. */
struct runner_host {
	uint32_t size;
	uint32_t abi_minor; /* the host's */
	void *ctx;          /* for extension() only */

	/* [any]{job} Text for the job's log; need not end in a newline. */
	void (*log)(const struct runner_job *job, uint32_t stream, const char *text, uint64_t len);
	/* [any]{job} How far it is; `text` may be NULL. Cheap: the host keeps the latest. */
	void (*progress)(const struct runner_job *job, uint32_t permille, const char *text);
	/* [any]{job} Copies a parameter's value, at most cap - 1 bytes and a NUL, and answers
	 * its whole length; RUNNER_E_NONE if the job has none of that name. Names that begin
	 * with "secret." are asked of the server, and the call blocks meanwhile: [job], not
	 * while RUNNER_JOB_INLINE. "sirdar.work_id": a name for work elsewhere, the same for
	 * every attempt of the instance and for nothing else; "sirdar.work_again": "1" when an
	 * earlier attempt may have left such work, to be ended before it is begun again. */
	int64_t (*param)(const struct runner_job *job, const char *name, char *ret_value,
	                 uint64_t cap);
	/* [any]{job} The name of the i-th plain parameter, in the same way. */
	int64_t (*param_name)(const struct runner_job *job, uint32_t i, char *ret_name,
	                      uint64_t cap);
	/* [job]{job} A value for the job's children; a repeated name replaces. */
	int (*output)(const struct runner_job *job, const char *name, const char *value);
	/* [any]{job} 1 once the job should stop: poll it in long loops. */
	int (*cancelled)(const struct runner_job *job);
	/* [job]{job} Waits; 1 as soon as the job should stop, else 0 after `ms`. */
	int (*pause)(const struct runner_job *job, uint64_t ms);
	/* [job]{job} Have the jobkeeper start the job's process, once per job; it outlives this
	 * broker, and its output is the job's log (what log() got is not, then). Answers at
	 * once; a start that fails later ends the job as not started. After it execute()
	 * answers RUNNER_PROCESS, or calls process_wait(). */
	int (*spawn)(const struct runner_job *job, const struct runner_process *process);
	/* [job]{job} Block until the job's process has ended; fills in *ret_result (its size set
	 * by the caller). */
	int (*process_wait)(const struct runner_job *job, struct runner_result *ret_result);
	/* [any]{open} A later addition by name, NULL if this broker has none. */
	const void *(*extension)(void *ctx, const char *id);
	/* ---- 1.0 ends here ---- */
};

struct runner_plugin {
	uint32_t size;      /* sizeof, as the runner's compiler saw it */
	uint32_t abi_major; /* RUNNER_ABI_MAJOR */
	uint32_t abi_minor;
	uint32_t flags;
	const char *name; /* static storage */
	const char *version;

	/* [control]{loaded} 0, or a negative number: the broker refuses the plugin. */
	int (*open)(const struct runner_host *host, void **ret_self);
	/* [control]{open} After the last job; NULL is not allowed. */
	void (*close)(void *self);
	/* [job]{job} Optional. Check the parameters, get ready; *ret_state goes to the calls
	 * that follow. Other than RUNNER_DONE: the job is over and nothing was started. */
	int (*prepare)(void *self, const struct runner_job *job, struct runner_result *result,
	               void **ret_state);
	/* [job]{job} Do it. */
	int (*execute)(void *self, void *state, const struct runner_job *job,
	               struct runner_result *result);
	/* [job]{job} Optional. Always the last call of a job, also after a failed prepare
	 * (state is what it left, or NULL). May make the result worse or add to it. When the
	 * broker ends before the process does it is called with RUNNER_JOB_LEFT, and not again
	 * by the broker that takes the process over. */
	void (*finish)(void *self, void *state, const struct runner_job *job,
	               struct runner_result *result);
	/* [any]{job} Optional: cancelled() says the same. Called once, while execute() runs; a
	 * job that is told to stop before that is not executed. Its process is killed by the
	 * jobkeeper, not here. */
	void (*kill)(void *self, void *state, const struct runner_job *job);
	/* [control]{open} Optional: no new jobs will come. */
	void (*drain)(void *self);
	/* ---- 1.0 ends here ---- */
	/* [job]{open} Optional. Connect to the target server that the parameter `server` names,
	 * as a job would, change nothing there, and hang up within the job's budget_ms:
	 * RUNNER_PROBE_..., result->text says why. The job is none of the server's: it has
	 * parameters, cancelled() and pause(); no log, no process. One at a time. */
	int (*probe)(void *self, const struct runner_job *job, struct runner_result *result);
	/* ---- 1.1 ends here: append below, and count RUNNER_ABI_MINOR up ---- */
};

#define RUNNER_SIZE_1_0 (offsetof(struct runner_plugin, drain) + sizeof(void (*)(void *)))
#define RUNNER_SIZE_1_1 (RUNNER_SIZE_1_0 + sizeof(void (*)(void)))

/* Is a member of a struct of the other side there? Optional and later ones need asking. */
#define RUNNER_HAS(p, type, member) \
	((p)->size >= offsetof(type, member) + sizeof((p)->member) && (p)->member)

/* The one symbol a runner exports. Static storage; no side effects. */
RUNNER_EXPORT const struct runner_plugin *runner_entry(void);

#ifdef __cplusplus
}
#endif
#endif
