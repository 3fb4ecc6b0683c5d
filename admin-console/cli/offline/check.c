/* sirdar check: are these documents right? Nothing is changed.
 *
 * The files are read and compiled by the functions of lib/sched that the server calls, so what
 * passes here passes there. All findings of all files are shown at once. Task types come from the
 * manifests that are installed beside the program, from `--types DIR`, or with `--online` from the
 * server. Besides, it tells what would happen: the first date of each task, and what the server
 * would have to look at. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/base/answer.h"
#include "admin-console/cli/base/verb.h"
#include "admin-console/cli/documents/files.h"
#include "admin-console/cli/offline/known.h"

#include "rt/manifests.h"
#include "sched/cost.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/type.h"
#include "util/alloc.h"
#include "util/beside.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/diag.h"
#include "util/json_put.h"

static void put_json(const struct diags *d, struct buf *out)
{
	put_open(out, NULL, '[');
	for (size_t i = 0; i < d->n; i++) {
		const struct diag *x = &d->items[i];
		put_open(out, NULL, '{');
		put_text(out, "file", x->at.file);
		put_int(out, "line", x->at.line);
		put_int(out, "column", x->at.column);
		put_text(out, "path", x->at.path);
		put_text(out, "code", x->code);
		put_text(out, "message", x->message);
		put_text(out, "hint", x->hint);
		put_close(out, '}');
	}
	put_close(out, ']');
}

/* The first date that would count of a task put online now. */
static int64_t begin_now(const struct plan *plan, int64_t now)
{
	int64_t t = plan_next(plan, now - 1), before;

	for (; (before = plan_prev(plan, t)) != PLAN_BEFORE && plan_due(plan, before) >= now;)
		t = before;
	return t;
}

static const struct task *task_of(const struct workflow_files *f, uint32_t id)
{
	if (id && id <= f->n && f->tasks[id - 1]->id == id) /* offline they count from 1 */
		return f->tasks[id - 1];
	for (size_t i = 0; i < f->n; i++)
		if (f->tasks[i]->id == id)
			return f->tasks[i];
	return NULL;
}

/* Does the first date of a task, put online now, look at dates before its parent's begin? */
static bool looks_before_begin(const struct task *t, const struct task_link *l,
                               const struct task *parent, int64_t now)
{
	struct link_span spans[LINK_SPANS_MAX];
	int64_t first = begin_now(t->plan, now), begin = begin_now(parent->plan, now);
	int n = first == PLAN_NEVER ? 0 : link_spans_ever(l, parent->plan, t->plan, first, spans);

	for (int i = 0; i < n; i++) {
		int64_t hi = spans[i].hi < begin ? spans[i].hi : begin;
		if (plan_count(parent->plan, spans[i].lo, hi, 1))
			return true;
	}
	return false;
}

static void put_begin(const struct workflow_files *f, struct buf *out)
{
	enum { NAMED = 5 };
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	struct buf named = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->tasks[i]->n_links && f->tasks[i]->state == TS_ONLINE;
		     k++) {
			const struct task *t = f->tasks[i], *p = task_of(f, t->links[k].parent);
			if (!p || !looks_before_begin(t, &t->links[k], p, now))
				continue;
			if (n++ < NAMED)
				buf_printf(&named, "  %s needs %s\n", t->name, p->name);
		}
	if (n)
		buf_printf(out,
		           "put online now, the first dates of %s lie before the begin of "
		           "what they wait for: those are passed over\n%s",
		           counted(n, "need"), buf_str(&named));
	if (n > NAMED)
		buf_printf(out, "  and %zu more\n", n - NAMED);
	buf_done(&named);
}

static const struct task *cost_parent(void *ctx, uint32_t id)
{
	return task_of(ctx, id);
}

/* What the server would have to look at, and what is past the limits of one that has its own. */
static void put_cost(struct workflow_files *f, struct buf *out)
{
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	struct cost all = { 0 };
	size_t task = 0;

	for (size_t i = 0; i < workflow_set_count(f->set); i++) {
		const struct workflow *wf = workflow_set_at(f->set, i);
		struct cost cost = { 0 };
		struct buf why;
		buf_init(&why);
		for (size_t k = 0; k < workflow_tasks(wf); k++)
			cost_add(&cost, f->tasks[task++], now, cost_parent, f);
		if (!cost_within(&cost, &cost_limits_default, workflow_name(wf), cost_parent, f,
		                 &why))
			buf_printf(out, "a server with the default limits refuses it: %s\n",
			           buf_str(&why));
		buf_done(&why);
		cost_join(&all, &cost);
	}
	buf_puts(out, "cost: ");
	cost_print(&all, out);
	buf_puts(out, "\n");
}

/* By what the parameters were judged. */
static void put_judged(const struct type_set *types, const char *dir, struct buf *out)
{
	size_t n = types ? type_set_count(types) : 0;

	if (n)
		buf_printf(out, "; parameters judged by %s of %s\n", counted(n, "task type"), dir);
	else if (dir[0])
		buf_printf(out, "; parameters not judged: no manifests of task types in %s\n", dir);
	else
		buf_puts(out, "; parameters not judged: no manifests of task types (--types, "
		              "--online)\n");
}

/* `read`: all files; else nothing is good, whatever is in the others. */
static int check_answer(const struct cli *cli, struct workflow_files *f, bool read, const char *dir)
{
	bool good = read && !f->diags.errors;
	struct buf out;
	int code;

	buf_init(&out);
	if (cli->json) {
		put_json(&f->diags, &out);
	} else {
		size_t tasks = 0;
		for (size_t i = 0; i < workflow_set_count(f->set); i++)
			tasks += workflow_tasks(workflow_set_at(f->set, i));
		files_print_diags(&f->diags, stdout);
		if (good)
			buf_printf(&out, "good: %s, %s",
			           counted(workflow_set_count(f->set), "workflow"),
			           counted(tasks, "task"));
		if (good && workflow_set_calendars(f->set))
			buf_printf(&out, ", %s",
			           counted(workflow_set_calendars(f->set), "calendar"));
		if (good)
			put_judged(f->world.types, dir, &out);
		if (good)
			put_begin(f, &out);
		if (f->n && good)
			put_cost(f, &out);
	}
	code = cli_print(&out);
	buf_done(&out);
	return code ? code : f->diags.errors ? CLI_REFUSED : CLI_OK;
}

/* --- the command --------------------------------------------------------------------------- */

/* What names something that may stand in a document which could not be read. */
static bool may_be_elsewhere(const struct diag *x)
{
	return strcmp(x->code, "unknown_task") == 0 || strcmp(x->code, "unknown_calendar") == 0 ||
	       strcmp(x->code, "unknown_library") == 0 ||
	       (strcmp(x->code, "macro") == 0 && strstr(x->message, "unknown name"));
}

/* Everything that is wrong at once: also between the documents that can be read. */
static void judge_all(struct workflow_files *f)
{
	bool whole = workflow_set_is_whole(f->set);
	struct diags found;

	diags_init(&found);
	workflow_check(f->set, &f->world, clock_wall_us(&clock_machine) / US_PER_S, &found);
	for (size_t i = 0; i < found.n; i++) {
		const struct diag *x = &found.items[i];
		if (!whole && may_be_elsewhere(x))
			continue;
		if (x->is_warning)
			diag_warning(&f->diags, x->at, x->code, x->hint, "%s", x->message);
		else
			diag_error(&f->diags, x->at, x->code, x->hint, "%s", x->message);
	}
	f->diags.dropped += found.dropped;
	diags_done(&found);
}

static int check_judge(const struct asked *q, const struct type_set *types, struct known *known,
                       const char *dir)
{
	struct workflow_files f;

	files_init(&f, given(q, "tz"));
	f.world.types = types;
	workflow_set_keep(f.set);
	if (known)
		known_join(known, &f);
	bool read = files_read(&f, &q->words);
	judge_all(&f);
	if (!f.diags.errors) {
		struct diags same;
		diags_init(&same);
		workflow_compile(f.set, &f.world, &same, &f.tasks, &f.n);
		diags_done(&same);
	}
	int code = check_answer(q->cli, &f, read, dir);
	files_done(&f);
	return read ? code : CLI_REFUSED;
}

static int offline_check_check(struct asked *q)
{
	const char *said = given(q, "types");
	bool online = given(q, "online");
	struct known *known = NULL;
	int code = CLI_OK;

	char *beside = said || online ? NULL : beside_program("types");
	char *dir = beside ? beside : mem_str(said ? said : "");
	struct manifests *manifests = manifests_new(dir);
	const struct type_set *types = manifests_types(manifests);
	files_print_diags(manifests_wrong(manifests), stderr);
	if (online) {
		code = known_ask(q->cli, &known);
		types = known_types(known);
	}
	if (code == CLI_OK)
		code = check_judge(q, types, known, online ? "the server" : dir);
	free(dir);
	manifests_free(manifests);
	known_free(known);
	return code;
}

static const struct opt options[] = {
	{ "tz", 'z', "ZONE", "time zone of tasks that say none, default UTC", .value = "UTC" },
	{ "types", 'T', "DIR",
	  "judge parameters by the manifests of task types there (else by those installed with "
	  "this "
	  "program; -T '': by none)" },
	{ "online", 'o', NULL,
	  "judge by what the server knows: task types, parameters of all and of projects, target "
	  "servers, machines and their groups" },
	{ 0 },
};

const struct verb verb_check = { offline_check_check, options, 1, WORDS_ANY, "which files?" };
