/* Reads the job that a plugin is tried with, from a small YAML file; without one, a plain job.
 *
 * Texts of the job point into the document, which `struct run` keeps; parameters are copied, lists
 * and maps among them as JSON, as a server sends them. All faults are printed with their places,
 * and a file with any is refused. Secrets are only remembered: host.c answers them when the plugin
 * asks. Whether execute() is inside is kept here too, because kill() may come only then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins-sdk/run/run.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/yaml.h"

static int job_wrong(struct diags *d, const char *file, const struct yaml_node *n, const char *key,
                     const char *want)
{
	return diag_error(d, (struct place){ file, n->line, n->column, key }, "wrong_value", NULL,
	                  "%s is '%.80s', want %s", key, n->text, want);
}

static char *value_of(const struct yaml_node *n)
{
	struct buf text;
	char *value;

	if (n->kind == YAML_SCALAR)
		return mem_str(n->text);
	buf_init(&text);
	yaml_print_json(n, &text);
	value = mem_strn(buf_str(&text), text.len);
	buf_done(&text);
	return value;
}

static void read_params(struct run *r, const struct yaml_node *n)
{
	CHECK(!r->params);
	r->params = mem_array(n->n + 1, sizeof *r->params);
	for (size_t i = 0; i < n->n; i++)
		r->params[r->n_params++] = (struct run_pair){ mem_str(n->keys[i]->text),
			                                      value_of(n->items[i]) };
}

static void read_number(struct diags *d, const char *file, const struct yaml_node *root,
                        const char *key, int64_t max, int64_t *ret)
{
	const struct yaml_node *n = yaml_get(root, key);

	if (n && !yaml_int(n, 0, max, ret))
		job_wrong(d, file, n, key, "a number");
}

static void read_duration(struct diags *d, const char *file, const struct yaml_node *root,
                          const char *key, int64_t *ret_us)
{
	const struct yaml_node *n = yaml_get(root, key);

	if (n && !yaml_duration_us(n, ret_us))
		job_wrong(d, file, n, key, "a duration: 500ms, 5s, 1h");
}

static void check_keys(struct diags *d, const char *file, const struct yaml_node *root)
{
	static const char *const keys[] = { "task",  "run_date",   "attempt", "timeout",
		                            "grace", "kill_after", "params",  "secrets" };
	const size_t n = sizeof keys / sizeof *keys;

	for (size_t i = 0; i < root->n; i++) {
		struct nearest near = nearest_to(root->keys[i]->text);
		size_t k = 0;

		while (k < n && strcmp(keys[k], root->keys[i]->text) != 0)
			nearest_try(&near, keys[k++]);
		if (k == n)
			diag_error(d,
			           (struct place){ file, root->keys[i]->line, root->keys[i]->column,
			                           "" },
			           "unknown_key", nearest_name(&near), "a job has no key '%.80s'",
			           root->keys[i]->text);
	}
}

static void read_root(struct run *r, const struct yaml_node *root, const char *file,
                      struct diags *d)
{
	int64_t attempt = 1, grace_us = 10 * US_PER_S, timeout_us = 0;
	const struct yaml_node *task = yaml_get(root, "task"), *n = yaml_get(root, "params");

	check_keys(d, file, root);
	read_number(d, file, root, "run_date", INT64_MAX, &r->pub.run_date);
	read_number(d, file, root, "attempt", 1000, &attempt);
	read_duration(d, file, root, "timeout", &timeout_us);
	read_duration(d, file, root, "grace", &grace_us);
	read_duration(d, file, root, "kill_after", &r->kill_after_us);
	if (n && n->kind == YAML_MAP)
		read_params(r, n);
	else if (n)
		job_wrong(d, file, n, "params", "a map");
	r->secrets = yaml_get(root, "secrets");
	if (r->secrets && r->secrets->kind != YAML_MAP)
		job_wrong(d, file, r->secrets, "secrets", "a map");
	if (task && task->kind == YAML_SCALAR)
		r->pub.task_name = task->text;
	r->pub.attempt = (uint32_t)attempt;
	r->pub.budget_ms = (uint64_t)(timeout_us / US_PER_MS);
	r->pub.grace_ms = (uint64_t)(grace_us / US_PER_MS);
}

static int read_doc(struct run *r, struct buf *text, const char *file, struct diags *d)
{
	struct yaml_doc **docs = NULL;
	size_t n = 0;

	if (yaml_read(buf_str(text), text->len, file, d, &docs, &n) < 0)
		return E_INVALID;
	if (n == 1 && yaml_root(docs[0])->kind == YAML_MAP) {
		r->doc = docs[0];
		read_root(r, yaml_root(r->doc), file, d);
	} else {
		diag_error(d, (struct place){ file, 1, 1, "" }, "wrong_value", NULL,
		           "want one document, a map");
		for (size_t i = 0; i < n; i++)
			yaml_free(docs[i]);
	}
	free(docs);
	return d->errors ? E_INVALID : 0;
}

int run_read(const char *path, struct run *r)
{
	struct err err = { 0 };
	struct diags d;
	struct buf text;
	int code;

	*r = (struct run){ .pub = { .size = sizeof r->pub,
		                    .token = 1,
		                    .attempt = 1,
		                    .task_id = 1,
		                    .grace_ms = 10000,
		                    .task_name = "test/run/job",
		                    .timezone = "UTC",
		                    .run_as = "" } };
	pthread_mutex_init(&r->mu, NULL);
	pthread_cond_init(&r->cv, NULL);
	if (!path)
		return 0;
	buf_init(&text);
	diags_init(&d);
	code = fs_read(path, YAML_BYTES_MAX, &text, &err);
	if (code < 0)
		fprintf(stderr, "sirdar-runner-run: %s\n", err.text);
	else
		code = read_doc(r, &text, path, &d);
	for (size_t i = 0; i < d.n; i++)
		fprintf(stderr, "%s:%d:%d: %s\n", path, d.items[i].at.line, d.items[i].at.column,
		        d.items[i].message);
	diags_done(&d);
	buf_done(&text);
	return code;
}

void run_done(struct run *r)
{
	for (size_t i = 0; i < r->n_params; i++) {
		free(r->params[i].name);
		free(r->params[i].value);
	}
	free(r->params);
	yaml_free(r->doc);
	free(r->files_dir);
	pthread_cond_destroy(&r->cv);
	pthread_mutex_destroy(&r->mu);
}

bool run_may_execute(struct run *r)
{
	pthread_mutex_lock(&r->mu);
	bool may = !r->is_cancelled;

	CHECK(!r->is_executing && !r->is_over);
	r->is_executing = may;
	pthread_cond_broadcast(&r->cv);
	pthread_mutex_unlock(&r->mu);
	return may;
}

void run_executed(struct run *r)
{
	pthread_mutex_lock(&r->mu);
	CHECK(r->is_executing);
	r->is_executing = false;
	pthread_cond_broadcast(&r->cv);
	pthread_mutex_unlock(&r->mu);
}
