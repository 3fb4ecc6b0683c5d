/* Who is told of a task: the alerts of its workflow's document, then those of its project's.
 * Documents are parsed when their version changes and kept until then; one that does not read
 * is logged and tells nobody. Answers borrow from here until the next call. Silences that
 * people make are not here but in silences.c. */
#include "notifier/rules.h"

#include <stdlib.h>
#include <string.h>

#include "rt/zones.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/log.h"

/* The newest document of a workflow that a task named; kept until its version changes. */
struct kept {
	uint32_t id, version;
	struct workflow *workflow; /* NULL: it does not read */
};

struct rules {
	struct reader *reader;
	struct kept *kept;
	size_t n;
	struct workflow_set *projects; /* their documents, and those of all */
	uint64_t changes;              /* of DOC_SETTING, as projects were read */
	char *task, *title, *owner;    /* of the last answer */
};

struct rules *rules_new(struct reader *reader)
{
	struct rules *r = mem_new(sizeof *r);

	r->reader = reader;
	return r;
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		workflow_free(r->kept[i].workflow);
	workflow_set_free(r->projects);
	free(r->kept);
	free(r->task);
	free(r->title);
	free(r->owner);
	free(r);
}

/* --- documents ----------------------------------------------------------------------- */

static int take_doc(void *ctx, const struct store_doc *d)
{
	struct kept *k = ctx;
	struct diags diags;

	diags_init(&diags);
	k->version = d->version;
	if (workflow_parse(d->body, d->body_len, d->name, &diags, &k->workflow) < 0) {
		k->workflow = NULL;
		log_error("rules.document", "name=%s version=%u why=\"%.200s\"", d->name,
		          d->version, diags.n ? diags.items[0].message : "");
	}
	diags_done(&diags);
	return 0;
}

static int workflow_of(struct rules *r, uint32_t id, uint32_t version, struct kept **ret,
                       struct err *err)
{
	struct kept *k = NULL;

	for (size_t i = 0; i < r->n && !k; i++)
		if (r->kept[i].id == id)
			k = &r->kept[i];
	if (!k) {
		r->kept = mem_grow(r->kept, r->n + 1, sizeof *r->kept);
		k = &r->kept[r->n++];
		*k = (struct kept){ .id = id };
	}
	*ret = k;
	if (k->version == version)
		return 0;
	workflow_free(k->workflow);
	k->workflow = NULL;
	k->version = 0;
	return read_doc(r->reader, &(struct read_which){ DOC_WORKFLOW, .id = id }, take_doc, k,
	                err);
}

/* --- documents of projects ------------------------------------------------------------ */

static int take_scope(void *ctx, const struct store_doc *d)
{
	struct rules *r = ctx;
	struct diags diags;

	diags_init(&diags);
	if (workflow_set_read(r->projects, d->body, d->body_len, d->name, &diags) < 0)
		log_error("rules.document", "name=%s version=%u why=\"%.200s\"", d->name,
		          d->version, diags.n ? diags.items[0].message : "");
	diags_done(&diags);
	return 0;
}

int rules_refresh(struct rules *r, struct err *err)
{
	uint64_t changes = 0;
	int code = read_doc_changes(r->reader, DOC_SETTING, &changes, err);

	if (code < 0 || (r->projects && changes == r->changes))
		return code;
	workflow_set_free(r->projects);
	r->projects = workflow_set_new();
	r->changes = changes;
	return read_doc_bodies(r->reader, DOC_SETTING, take_scope, r, err);
}

static const struct workflow_scope *project_of(const struct rules *r, const char *task)
{
	size_t n = strcspn(task, "/");

	for (size_t i = 0; r->projects && i < workflow_set_scopes(r->projects); i++) {
		const struct workflow_scope *s = workflow_set_scope(r->projects, i);
		const char *name = workflow_scope_project(s);
		if (strlen(name) == n && strncmp(name, task, n) == 0)
			return s;
	}
	return NULL;
}

/* --- tasks --------------------------------------------------------------------------- */

struct found {
	struct rules *rules;
	const struct tz *tz;
	uint32_t workflow, version;
	uint8_t grain;
};

static int take_task(void *ctx, const struct store_task *t)
{
	struct found *f = ctx;

	free(f->rules->task);
	free(f->rules->title);
	free(f->rules->owner);
	f->rules->task = mem_str(t->name);
	f->rules->title = mem_str(t->title ? t->title : "");
	f->rules->owner = mem_str(t->owner ? t->owner : "");
	f->workflow = t->workflow_id;
	f->version = t->version;
	f->grain = t->grain;
	if (t->zone && t->zone[0] && zones_get(t->zone, &f->tz, NULL) < 0)
		f->tz = NULL; /* the server has a zone that this machine has not */
	return 0;
}

int rules_of(struct rules *r, uint32_t task, struct task_rules *ret, struct err *err)
{
	struct found f = { .rules = r };
	struct kept *k = NULL;
	int code = read_task(r->reader, NULL, task, take_task, &f, err);

	if (code == 0 && name_is_test(r->task))
		return err_set(err, E_NOT_FOUND, "%s is only tried: nobody is told", r->task);
	if (code == 0)
		code = workflow_of(r, f.workflow, f.version, &k, err);
	if (code < 0 || !k)
		return code;
	*ret = (struct task_rules){
		.task = r->task,
		.title = r->title,
		.owner = r->owner,
		.tz = f.tz,
		.grain = f.grain,
		.workflow = k->workflow,
		.late_after_us = k->workflow ? workflow_late_after_us(k->workflow, r->task) : 0,
		.long_after_us = k->workflow ? workflow_long_after_us(k->workflow, r->task) : 0,
		.project = project_of(r, r->task),
	};
	return 0;
}

const char *rules_label(const struct task_rules *t, int64_t run_date, char ret[static LABEL_TEXT])
{
	if (!t->tz)
		return when_print(run_date, ret);
	return label_print(t->tz, t->grain, run_date, ret);
}

const char *rules_recipient(const struct task_rules *t, const char *word, size_t i,
                            int64_t *ret_after_us, bool *ret_of_project)
{
	const struct wf_alerts *lists[] = { t->workflow ? workflow_alerts(t->workflow) : NULL,
		                            t->project ? workflow_scope_alerts(t->project) : NULL };

	for (size_t k = 0; k < 2; k++) {
		const char *who = NULL;
		size_t n = 0;
		if (!lists[k])
			continue;
		while ((who = wf_alert_recipient(lists[k], t->task, word, n, ret_after_us)) &&
		       i > 0) {
			n++;
			i--;
		}
		if (ret_of_project)
			*ret_of_project = k == 1;
		if (who)
			return who;
	}
	return NULL;
}

const char *rules_silence(const struct task_rules *t, const char *word, int64_t at)
{
	return t->project ? workflow_scope_silence(t->project, t->task, word, at) : NULL;
}
