/* java.c — a jar or a class in a JVM of its own. */
#include "runners/common/run.h"
#include "runners/common/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const own[] = { "jar",  "class",   "classpath", "java",
	                           "heap", "options", "arguments", NULL };

/* JAVA's own form: digits and k, m or g. */
static bool is_heap(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n < 10 && strchr("kKmMgG", text[n]) && (!text[n] || !text[n + 1]);
}

static int add_heap(const struct run *r, struct start *s)
{
	char *heap = run_text(r, "heap");
	int code = 0;

	if (heap && !is_heap(heap))
		code = run_refuse(r, "heap is '%.60s', want a size as 512m or 2g", heap);
	else if (heap)
		words_addf(&s->argv, "-Xmx%s", heap);
	free(heap);
	return code;
}

/* What runs: of `jar` and `class` exactly one. */
static int add_what(const struct run *r, struct start *s)
{
	char *jar = run_text(r, "jar"), *class = run_text(r, "class");
	char *path = run_text(r, "classpath");
	int code = 0;

	if (!jar == !class)
		code = run_refuse(r, "want exactly one of the parameters jar and class");
	else if (jar && path)
		code = run_refuse(r, "classpath goes with class: a jar has its own");
	else if ((jar ? jar : class)[0] == '-')
		code = run_refuse(r, "%s begins with '-'", jar ? "jar" : "class");
	if (code == 0 && path) {
		words_addf(&s->argv, "-cp");
		words_addf(&s->argv, "%s", path);
	}
	if (code == 0 && jar)
		words_addf(&s->argv, "-jar");
	if (code == 0)
		words_addf(&s->argv, "%s", jar ? jar : class);
	free(jar);
	free(class);
	free(path);
	return code;
}

static int java_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                        void **ret_state)
{
	const struct run r = run_of(job, result);
	struct start *s = calloc(1, sizeof *s);
	char *java;

	(void)self;
	*ret_state = s;
	if (!s)
		return run_refuse(&r, "out of memory");
	java = run_text(&r, "java");
	words_addf(&s->argv, "%s", java ? java : "java");
	free(java);
	if (add_heap(&r, s) < 0 || start_words(&r, "options", &s->argv) < 0 ||
	    add_what(&r, s) < 0 || start_words(&r, "arguments", &s->argv) < 0 ||
	    start_read(&r, s, own, NULL) < 0)
		return RUNNER_FAILED;
	return RUNNER_DONE;
}

static int java_execute(void *self, void *state, const struct runner_job *job,
                        struct runner_result *result)
{
	const struct run r = run_of(job, result);
	int code = start_spawn(&r, state);

	(void)self;
	start_done(state); /* a process may run for days */
	return code;
}

RUN_PLUGIN("java", .open = run_open, .close = run_close, .prepare = java_prepare,
           .execute = java_execute, .finish = start_finish);
