/* A job in both of its forms: what its key in etcd says, and its workflow's document. Pure.
 *
 * A key says name, command and cronExpr and nothing else; its document is a workflow of one task
 * of that name, a shell script run by that cron. A dollar of the command is doubled in the
 * document, because nothing in it is a macro. The way back knows only documents of that shape: any
 * other workflow of the project is no job, and is left alone. */
#include "baseserver/lead/bridge.h"

#include <stdlib.h>
#include <string.h>

#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/yaml.h"

enum { COMMAND_BYTES_MAX = 65536 };

static int fields_check(const struct jval *root, const char *name, struct err *err)
{
	static const char *const texts[] = { "command", "cronExpr", "name", NULL };

	if (!jv_is(root, JV_OBJECT))
		return err_set(err, E_INVALID,
		               "want an object {\"name\", \"command\", \"cronExpr\"}");
	JV_EACH(item, root) {
		size_t k = 0;
		while (texts[k] && strcmp(texts[k], item->key) != 0)
			k++;
		if (!texts[k])
			return err_set(err, E_INVALID,
			               "has '%.60s', known are name, command and cronExpr",
			               item->key);
		if (!jv_is(item, JV_TEXT))
			return err_set(err, E_INVALID, "%s is no text", item->key);
	}
	for (size_t k = 0; k < 2; k++)
		if (!*jv_str(root, texts[k]))
			return err_set(err, E_INVALID, "%s is missing", texts[k]);
	if (jv_text(root, "name") && strcmp(jv_text(root, "name"), name) != 0)
		return err_set(err, E_INVALID, "name is '%.60s', the key's is '%s'",
		               jv_text(root, "name"), name);
	return 0;
}

/* The command is the shell's: nothing in it is ours to expand. */
static void put_script(struct buf *out, const char *command)
{
	struct buf text;

	buf_init(&text);
	for (; *command; command++)
		buf_puts(&text, *command == '$' ? "$$" : (char[]){ *command, 0 });
	put_text(out, "script", buf_str(&text));
	buf_done(&text);
}

static void document_print(const char *project, const char *name, const struct jval *root,
                           struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "workflow", name);
	put_text(out, "project", project);
	put_open(out, "defaults", '{');
	put_text(out, "type", "shell");
	put_open(out, "catchup", '{');
	put_text(out, "mode", "none");
	put_close(out, '}');
	put_text(out, "overlap", "skip"); /* as a lock of the job's name does */
	put_close(out, '}');
	put_open(out, "tasks", '{');
	put_open(out, name, '{');
	put_text(out, "cron", jv_text(root, "cronExpr"));
	put_open(out, "params", '{');
	put_script(out, jv_text(root, "command"));
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
}

int bridge_document(const char *project, const char *name, const char *json, size_t n,
                    struct buf *ret_text, struct err *err)
{
	const struct jval *root = NULL;
	char why[NAME_WHY_BYTES];
	int r = 0;

	if (strlen(name) > BRIDGE_JOB_BYTES_MAX)
		return err_set(err, E_INVALID, "the name has %zu bytes, at most %d are allowed",
		               strlen(name), BRIDGE_JOB_BYTES_MAX);
	if (name_wrong(name, why))
		return err_set(err, E_INVALID, "the name is none: %s", why);
	if (n > COMMAND_BYTES_MAX)
		return err_set(err, E_TOO_BIG, "%zu bytes, at most %d", n, COMMAND_BYTES_MAX);
	r = jv_parse(json, n, &root, err);
	if (r == 0)
		r = fields_check(root, name, err);
	if (r == 0)
		document_print(project, name, root, ret_text);
	jv_free(root);
	return r;
}

/* --- and back ------------------------------------------------------------------------------ */

static bool is_shell(const struct yaml_node *root, const struct yaml_node *task)
{
	const struct yaml_node *own = yaml_get(task, "type");
	const struct yaml_node *all = yaml_get(root, "defaults");

	return yaml_is(own ? own : all ? yaml_get(all, "type") : NULL, "shell");
}

/* '$$' is a dollar; one alone is a macro, which no job has. */
static char *command_of(const char *script)
{
	char *ret = mem_array(strlen(script) + 1, 1), *to = ret;

	for (; *script; script++) {
		if (*script == '$' && *++script != '$') {
			free(ret);
			return NULL;
		}
		*to++ = *script;
	}
	*to = '\0';
	return ret;
}

static bool job_of_root(const struct yaml_node *root, const char *name, struct bridge_job *ret)
{
	const struct yaml_node *tasks = root ? yaml_get(root, "tasks") : NULL;
	const struct yaml_node *t = tasks && tasks->kind == YAML_MAP && tasks->n == 1
	                                    ? yaml_get(tasks, name)
	                                    : NULL;
	const struct yaml_node *cron = t ? yaml_get(t, "cron") : NULL;
	const struct yaml_node *params = t ? yaml_get(t, "params") : NULL;
	const struct yaml_node *script = params ? yaml_get(params, "script") : NULL;

	if (!cron || cron->kind != YAML_SCALAR || !script || script->kind != YAML_SCALAR ||
	    yaml_get(t, "needs") || yaml_get(t, "use") || !is_shell(root, t))
		return false;
	ret->command = command_of(script->text);
	ret->cron = ret->command ? mem_str(cron->text) : NULL;
	return ret->command != NULL;
}

bool bridge_job_of(const char *name, const char *text, size_t n, struct bridge_job *ret)
{
	struct yaml_doc **docs = NULL;
	size_t n_docs = 0;
	struct diags d;

	*ret = (struct bridge_job){ 0 };
	diags_init(&d);
	bool is_job = strlen(name) <= BRIDGE_JOB_BYTES_MAX &&
	              yaml_read(text, n, "", &d, &docs, &n_docs) == 0 && n_docs == 1 &&
	              job_of_root(yaml_root(docs[0]), name, ret);
	for (size_t i = 0; i < n_docs; i++)
		yaml_free(docs[i]);
	free(docs);
	diags_done(&d);
	return is_job;
}

void bridge_job_done(struct bridge_job *j)
{
	free(j->command);
	free(j->cron);
	*j = (struct bridge_job){ 0 };
}

bool bridge_job_same(const struct bridge_job *a, const struct bridge_job *b)
{
	CHECK(!a->command == !a->cron && !b->command == !b->cron); /* both, or no job */
	if (!a->command || !b->command)
		return a->command == b->command;
	return strcmp(a->command, b->command) == 0 && strcmp(a->cron, b->cron) == 0;
}

void bridge_job_print(const char *name, const struct bridge_job *j, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "name", name);
	put_text(out, "command", j->command);
	put_text(out, "cronExpr", j->cron);
	put_close(out, '}');
}

int bridge_job_document(const struct bridge_world *w, const char *name, const char *value, size_t n,
                        struct buf *ret_text, struct err *err)
{
	return bridge_document(w->project, name, value, n, ret_text, err);
}

bool bridge_job_value(const struct bridge_world *w, const char *name, const char *text, size_t n,
                      struct buf *out)
{
	struct bridge_job j;

	(void)w;
	if (!bridge_job_of(name, text, n, &j))
		return false;
	bridge_job_print(name, &j, out);
	bridge_job_done(&j);
	return true;
}
