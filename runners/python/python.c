/* python.c — a script, a file or a module in Python, as a process of its own that does not pay
 * the interpreter's start: README.md says how.
 */
#include "warm.h"

#include "runners/common/run.h"
#include "runners/common/start.h"
#include "sirdar/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const own[] = { "script",     "file", "module",    "interpreter",
	                           "virtualenv", "warm", "arguments", NULL };

struct python_job {
	struct start start;
	char *interpreter;
	bool is_warm;
};

static int python_open(const struct runner_host *lent, void **ret_self)
{
	const struct runner_kept *kept = lent->extension(lent->ctx, RUNNER_KEPT_ID);
	bool is_bound = kept && RUNNER_HAS(kept, struct runner_kept, is_root);
	/* What a warm interpreter forks is beside it, and in no job's box. */
	bool is_boxed = kept && RUNNER_HAS(kept, struct runner_kept, is_boxed);

	if (warm_open(is_bound, !is_boxed, (struct warm **)ret_self) < 0)
		return -1;
	void *none;

	return run_open(lent, &none);
}

static void python_close(void *self)
{
	warm_close(self);
}

static int read_interpreter(const struct run *r, struct python_job *p)
{
	char *given = run_text(r, "interpreter"), *venv = run_text(r, "virtualenv");
	int code = 0;

	if (given && venv)
		code = run_refuse(r, "want one of the parameters interpreter and virtualenv");
	else if (venv && asprintf(&p->interpreter, "%s/bin/python", venv) < 0)
		p->interpreter = NULL;
	else if (!venv)
		p->interpreter = strdup(given ? given : "python3");
	/* The warm one runs as the broker: as root it is no interpreter that the job's user, who
	 * is another, may have written. */
	if ((venv || given) && geteuid() == 0 && (p->start.user || r->job->run_as[0]))
		p->is_warm = false;
	free(given);
	free(venv);
	return code;
}

/* The words after the interpreter. */
static int read_what(const struct run *r, struct start *s)
{
	char *script = run_text(r, "script"), *file = run_text(r, "file");
	char *module = run_text(r, "module");
	int code = 0;

	if (!!script + !!file + !!module != 1) {
		code = run_refuse(r, "want exactly one of the parameters script, file, module");
	} else if (script) {
		words_addf(&s->argv, "$SIRDAR_FILES/script.py");
		start_file(s, "script.py", script);
		script = NULL;
	} else if (module) {
		words_addf(&s->argv, "-m");
		words_addf(&s->argv, "%s", module);
	} else if (file[0] == '-') {
		code = run_refuse(r, "file begins with '-'");
	} else {
		words_addf(&s->argv, "%s", file);
	}
	free(script);
	free(file);
	free(module);
	return code;
}

static int python_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                          void **ret_state)
{
	const struct run r = run_of(job, result);
	struct python_job *p = calloc(1, sizeof *p);

	*ret_state = p;
	if (!p)
		return run_refuse(&r, "out of memory");
	if (run_boolean(&r, "warm", true, &p->is_warm) < 0 ||
	    start_read(&r, &p->start, own, NULL) < 0 || read_interpreter(&r, p) < 0)
		return RUNNER_FAILED;
	/* What an interpreter reads when it starts, the warm one has read already. */
	if (start_has_env(&p->start, "PYTHON") || start_has_env(&p->start, "PATH=") ||
	    start_has_env(&p->start, "LD_") || start_has_env(&p->start, "LC_") ||
	    start_has_env(&p->start, "LANG"))
		p->is_warm = false;
	words_addf(&p->start.argv, "%s", warm_program(self));
	words_addf(&p->start.argv, "%s",
	           p->is_warm && p->interpreter ? warm_name(self, p->interpreter) : "-");
	words_addf(&p->start.argv, "%u", (unsigned)geteuid());
	words_addf(&p->start.argv, "%s", p->interpreter ? p->interpreter : "python3");
	if (read_what(&r, &p->start) < 0 || start_words(&r, "arguments", &p->start.argv) < 0)
		return RUNNER_FAILED;
	return RUNNER_DONE;
}

static int python_execute(void *self, void *state, const struct runner_job *job,
                          struct runner_result *result)
{
	const struct run r = run_of(job, result);
	struct python_job *p = state;
	int code = start_spawn(&r, &p->start);

	(void)self;
	start_done(&p->start); /* a process may run for days */
	return code;
}

static void python_finish(void *self, void *state, const struct runner_job *job,
                          struct runner_result *result)
{
	struct python_job *p = state;

	(void)self;
	(void)job;
	(void)result;
	if (!p)
		return;
	start_done(&p->start);
	free(p->interpreter);
	free(p);
}

RUN_PLUGIN("python", .open = python_open, .close = python_close, .prepare = python_prepare,
           .execute = python_execute, .finish = python_finish);
