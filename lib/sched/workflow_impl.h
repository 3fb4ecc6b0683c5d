/* workflow_impl.h — the model behind workflow.h. For the workflow_*.c files only. */
#ifndef SCHED_WORKFLOW_IMPL_H
#define SCHED_WORKFLOW_IMPL_H

#include "sched/code.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/map.h"
#include "util/yaml.h"

struct calendar_doc;
struct expr;
struct pile;

/* Values as read. `node` is where a value stands, NULL when it was not given. */
struct wf_text {
	const char *text;
	const struct yaml_node *node;
};

struct wf_choice {
	int value;
	const struct yaml_node *node;
};

struct wf_number {
	int32_t value;
	const struct yaml_node *node;
};

struct wf_duration {
	int64_t us;
	const struct yaml_node *node;
};

struct wf_cycle {
	enum cycle_unit unit;
	int32_t step;
	const struct yaml_node *node;
};

struct wf_pair {
	const char *name, *value; /* value as the runner gets it */
	const struct yaml_node *node;
};

struct wf_pairs {
	struct wf_pair *items;
	size_t n;
	const struct yaml_node *node;
};

struct wf_texts {
	struct wf_text *items;
	size_t n;
	const struct yaml_node *node;
};

struct wf_least {
	const struct expr *expr;
	const struct yaml_node *node;
};

struct wf_need {
	const struct yaml_node *node;
	struct wf_text task, window;
	struct wf_number depend;
	struct wf_choice on;
	struct wf_choice strategy; /* enum link_strategy */
	int32_t n;                 /* of the strategy */
	struct wf_duration pass_after_us;
};

struct wf_needs {
	struct wf_need *items;
	size_t n;
	const struct yaml_node *node;
};

struct wf_task {
	const char *name; /* alone */
	const char *full; /* project/workflow/task */
	const struct yaml_node *node;
	const char *path;

	struct wf_text title; /* not inherited */
	struct wf_text type, description, owner, cron, offset, timezone, start, end, calendar;
	struct wf_text group, run_as, directory, step_name, id;
	struct wf_text use;                 /* a task of a library, as written ... */
	const char *shared;                 /* ... and by its full name */
	const struct yaml_node *of_library; /* what that one says; NULL: not known yet */
	struct wf_cycle cycle;
	struct wf_choice fire, calendar_on, shift, state, serial, dispatch, backoff, catchup_mode;
	struct wf_choice on_lost, on_server_lost, overlap, dependence;
	struct wf_choice raw; /* values become a part of its code */
	struct wf_choice dry_run;
	struct wf_number priority, concurrency, max_attempts, catchup_max, quota_running, retries;
	struct wf_number join; /* 0: all */
	struct wf_least least; /* of dispatch */
	struct wf_duration retry_delay_us, retry_cap_us, alive_wait_us, late_after_us;
	struct wf_duration long_after_us, kill_grace_us;
	struct wf_duration expire_after_us; /* -1: end of local day */
	struct wf_pairs params, parameters, environment, pools;
	struct wf_texts machines, outputs;
	struct wf_needs needs;
	/* the maps themselves, for places */
	struct wf_text retry, catchup, quota;
	bool is_step; /* of a pipeline, or its hook */
};

struct wf_alert {
	struct wf_texts when, to, tasks;
	struct wf_duration after_us;
};

struct wf_alerts {
	const struct yaml_node *node;
	struct wf_alert *items;
	size_t n;
};

struct wf_silence {
	struct wf_text from, until, reason;
	struct wf_texts tasks, when;
	int64_t from_s, until_s; /* wall, seconds */
};

struct wf_silences {
	const struct yaml_node *node;
	struct wf_silence *items;
	size_t n;
};

struct wf_baseline {
	const struct yaml_node *node;
	struct wf_text task;
	struct wf_number committed; /* seconds of the day */
	struct wf_duration margin_us;
};

struct workflow {
	struct yaml_doc *doc;
	struct pile *pile;
	const char *file, *full;
	struct wf_text name, project;
	struct wf_text title;
	bool is_pipeline, is_library;
	struct wf_task base; /* what the document says for all its tasks */
	struct wf_text defaults, tasks, finished, failed, used; /* nodes only */
	struct wf_number test; /* only tried, in this place: its name says so; 0: it is not */
	bool binds;            /* values in its code are data */
	struct wf_cycle shared_cycle; /* of `defaults`: what a run of it is ... */
	const char *shared_zone;      /* ... in this zone; NULL: none said */
	struct wf_choice overlap;     /* of its run as a whole; a task's own: wf_task.overlap */
	struct wf_alerts alerts;
	struct wf_baseline *baseline_items;
	size_t n_baselines;
	struct wf_text baselines; /* node only */
	size_t *shared_bytes;     /* of a library: what each of its tasks says */
	struct wf_task *items;
	size_t n;
};

/* Of a map of parameters; bytes of a text in a list. */
enum { WORKFLOW_PARAMS_MAX = 1000, WORKFLOW_LISTED_MAX = 500 };

/* --- reading */

struct wf_reader {
	struct diags *d;
	struct pile *pile;
	const char *file;
	struct buf path; /* of what is being read */
	struct workflow *wf;
};

struct wf_key {
	const char *key;
	size_t at; /* of the field in the struct being read */
	void (*read)(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
	             void *field);
	const char *want;
	int64_t min, max;
	const char *help; /* what a value does, for people */
};

struct wf_table {
	const char *id;   /* of its schema: "task" */
	const char *what; /* "a task" */
	const char *must; /* keys that must be there, separated by |; "" for none */
	const struct wf_key *keys;
	size_t n;
};

enum wf_table_id {
	WT_WORKFLOW,
	WT_PIPELINE,
	WT_TASK,
	WT_NEED,
	WT_RETRY,
	WT_CATCHUP,
	WT_DISPATCH,
	WT_QUOTA,
	WT_ALERT,
	WT_SILENCE,
	WT_BASELINE,
	WT_STEP,
	WT_HOOK,
	WT_LIBRARY,
	WT_SHARED,
	WT_PROJECT,
	WT_POOL,
	WT_GLOBAL,
	WT_COUNT
};

extern const struct wf_table wf_tables[WT_COUNT];
/* Does a map have the keys that its table says it must? */
bool wf__has_must(enum wf_table_id table, const struct yaml_node *n);

/* What readers compare with; the schema is made of the same words. Each ends with a row, or a word,
 * that is NULL. */
struct wf_unit {
	const char *name;
	enum cycle_unit unit;
	bool has_step;
};
extern const struct wf_unit wf_units[];
extern const char *const wf_strategies[];  /* by enum link_strategy; a number follows a blank */
extern const char *const wf_events[];      /* of `when` */
extern const char *const wf_recipients[];  /* kinds of channels, before the colon */
extern const char *const wf_of_projects[]; /* one of these makes a project's document */

/* Read a map into a struct, by a table; what is wrong goes to the diags. */
void wf__read_map(struct wf_reader *r, enum wf_table_id table, const struct yaml_node *n,
                  void *into);
/* Down and up again; push returns what pop takes. */
size_t wf__push(struct wf_reader *r, const char *key);
size_t wf__push_index(struct wf_reader *r, size_t i);
void wf__pop(struct wf_reader *r, size_t length);
struct place wf__here(const struct wf_reader *r, const struct yaml_node *n);
int wf__wrong(struct wf_reader *r, const struct yaml_node *n, const char *want);
/* `name`, which stands in n, is not `what`; `why`: of name_wrong() or word_wrong(). */
int wf__wrong_name(struct wf_reader *r, const struct yaml_node *n, const char *name,
                   const char *what, const char *why);

bool wf__has_pair(const struct wf_pairs *p, const char *name);

/* A reader per kind of value, as the rows of workflow_keys.def name them. */
#define READER(name) \
	void wf_read_##name(struct wf_reader *r, const struct wf_key *k, \
	                    const struct yaml_node *n, void *field)
READER(name);
READER(word);
READER(text);
READER(title);
READER(choice);
READER(truth);
READER(shift);
READER(int32);
READER(overlap);
READER(duration);
READER(expire);
READER(clock);
READER(cycle);
READER(params);
READER(pools);
READER(names);
READER(use);
READER(used);
READER(texts);
READER(needs);
READER(join);
READER(depend);
READER(strategy);
READER(retry);
READER(catchup);
READER(quota);
READER(dispatch);
READER(least);
READER(alerts);
READER(silences);
READER(baselines);
READER(node);
/* The same, each with a shape of its own in the schema. */
READER(defaults);
READER(tasks);
READER(shared_tasks);
READER(steps);
READER(hook);
READER(events);
READER(recipients);
#undef READER

/* Is `tasks` what a document of its kind needs? */
bool wf__has_tasks(struct wf_reader *r, const struct wf_text *tasks, enum yaml_kind kind,
                   const struct yaml_node *root, const char *key);
/* One that was read already, from its tree as it is now. */
void wf__read_again(struct workflow *wf, struct diags *d);

/* workflow_shared.c: what the library's task says, under what the task itself says; nothing where
 * that is not known yet. */
void wf__read_shared(struct wf_reader *r, const struct yaml_node *n, struct wf_task *t);
/* The document that starts at `root` as a library. */
void wf__read_library(struct wf_reader *r, const struct yaml_node *root);

/* --- compiling */

/* Parameters of a project, or of all: a document of its own. */
struct workflow_scope {
	struct yaml_doc *doc;
	struct pile *pile;
	const char *file;
	const struct yaml_node *node;
	struct wf_text project; /* "": global; of a pool "pool:NAME", which no project can be */
	struct wf_text title, description;
	struct wf_task base; /* quota.running; of a pool its slots */
	struct wf_pairs parameters;
	struct wf_alerts alerts; /* of a project, as silences */
	struct wf_silences silences;
};

struct workflow_set {
	struct workflow **items;
	size_t n, cap;
	struct map by_name; /* of items: map_text() of the full name */
	struct calendar_doc **calendars;
	size_t n_calendars;
	struct workflow_scope **scopes;
	size_t n_scopes;
	bool keeps, lacks; /* workflow_set_keep(); a document was left out all the same */
};

/* workflow_scope.c: is this document one of parameters? Add it, taking doc. */
bool wf__is_scope(const struct yaml_node *root);
void wf__add_scope(struct workflow_set *set, struct yaml_doc *doc, const char *file,
                   struct diags *d);
void wf__scope_free(struct workflow_scope *s);
const struct workflow_scope *wf__scope_of(const struct workflow_set *set, const char *project);

/* A task on its way from document to struct task. */
struct wf_made {
	const struct workflow *wf;
	const struct wf_task *t;
	struct workflow_start known;
	uint32_t workflow_id, version;
	int32_t infra_max;
	const struct tz *tz;
	const struct tz *run_tz; /* the workflow's own */
	struct cron *cron;
	struct calendar *calendar; /* counted */
	struct plan *plan;
	struct task_link *links;        /* windows in them are owned until they are the task's */
	const struct wf_need **needs;   /* the need behind each link; NULL: made by a pipeline */
	const struct wf_made **parents; /* NULL: outside the set */
	const struct plan **parent_plans;
	const struct task **outside; /* the parent where it is not in the set */
	size_t n_links;
	int32_t join;
	struct task_input *inputs; /* workflow_macro.c; wf__compiler_done() frees it */
	size_t n_inputs, inputs_cap;
	bool asks;
	bool binds;              /* values in its code are data: workflow_code.c */
	const struct type *type; /* what its type declares, or NULL */
	struct task *task;       /* the result */
};

struct wf_compiler {
	const struct workflow_set *set;
	const struct workflow_world *world;
	struct diags *d;
	struct pile *pile;
	struct wf_made *made;
	size_t n;
	struct wf_made **by_name; /* sorted */
	struct cron **crons;      /* one of each; borrowed from those who have them */
	size_t n_crons;
	struct map cron_index;
	size_t errors; /* of d, before */
	enum {
		CP_LIST,
		CP_PLANS,
		CP_LINKS,
		CP_MACROS,
		CP_TYPES,
		CP_SET,
		CP_CIRCLES,
		CP_PREPARED,
		CP_PACK,
		CP_OVER
	} phase;
	size_t at;       /* of made, within the phase */
	struct web *web; /* CP_CIRCLES, while it is looked through */
	struct task **tasks;
};

/* workflow_shared.c: where `n`, a value of m under `key`, is wrong: in the task, in `defaults`, or
 * at its `use`. The path is this thread's until the next call. */
struct place wf__place(const struct wf_made *m, const struct yaml_node *n, const char *key);

/* workflow_time.c: zone, cron, plan of m. False and diags when it cannot be. */
bool wf__make_plan(struct wf_compiler *c, struct wf_made *m);
/* workflow_link.c: links of m, after all plans are made. */
void wf__make_links(struct wf_compiler *c, struct wf_made *m);
void wf__make_steps(struct wf_compiler *c, struct wf_made *m);
struct wf_made *wf__find(const struct wf_compiler *c, const char *full);
/* workflow_macro.c: do all names in parameters have a value? Finds the inputs too. */
void wf__check_macros(struct wf_compiler *c, struct wf_made *m);
/* The same for the parameters of projects and of all. */
void wf__check_scopes(struct wf_compiler *c);
/* workflow_type.c: are the parameters those that the task's type declares? */
void wf__check_type(struct wf_compiler *c, struct wf_made *m);
/* The line in a stored document which says that values in its code are data. A comment, for a
 * release before this one would refuse a key that it does not know. */
#define WORKFLOW_BINDS "# values: data\n"
/* workflow_read.c: where a line begins with `head`; NULL: none does. In a stored document nothing
 * but a key of it begins a line. */
const char *wf__stored_line(const char *text, size_t n, const char *head);
/* workflow_code.c: are values in code where they can be bound? */
void wf__check_code(struct wf_compiler *c, struct wf_made *m);
/* A parameter whose values may not have lines of their own. */
bool wf__is_line(const char *name);
/* What reads that parameter of its task. */
enum code_kind wf__code_of(const struct wf_made *m, const char *name);
/* workflow_cycle.c: are all boundaries of `longer` boundaries of `shorter`? */
bool wf__cycles_nest(const struct plan *longer, const struct plan *shorter);
/* -1 shorter, 0 the same, 1 longer; of units minute..year. */
int wf__cycles_compare(const struct plan *a, const struct plan *b);
/* workflow_web.c: no circle of links, also through tasks outside. A link at a time; true: over. */
bool wf__check_cycles(struct wf_compiler *c);
void wf__web_free(struct wf_compiler *c);
/* workflow_pack.c: everything in one block. */
struct task *wf__pack(const struct wf_made *m);
/* workflow_library.c: is what every task uses known? */
void wf__check_uses(struct wf_compiler *c);
/* workflow_names.c: names into normal form C, before anything is read of a document. */
void wf__normal_names(struct yaml_doc *doc);
/* No two names of one project that people would take for one, but those that are in force. */
void wf__check_alike(struct wf_compiler *c);
/* workflow_compile.c: plans, links, macros, cycles; no tasks yet. */
int wf__prepare(struct wf_compiler *c);
void wf__compiler_done(struct wf_compiler *c);

#endif
