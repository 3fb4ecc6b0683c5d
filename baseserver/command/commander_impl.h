/* commander_impl.h — the commander's inside. For the files of this room only. */
#ifndef BASESERVER_COMMANDER_IMPL_H
#define BASESERVER_COMMANDER_IMPL_H

#include "baseserver/command/commander.h"
#include "baseserver/command/commander_guest.h"
#include "baseserver/command/commander_kind.h"
#include "baseserver/command/credentials.h"
#include "baseserver/command/documents.h"
#include "baseserver/command/keyset.h"
#include "baseserver/command/progress.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/ledger/names.h"
#include "baseserver/model/args.h"
#include "baseserver/model/calendars.h"
#include "baseserver/model/catalog.h"
#include "baseserver/model/command.h"
#include "baseserver/model/docs.h"
#include "baseserver/model/front.h"
#include "baseserver/model/lead_view.h"
#include "baseserver/model/scopes.h"
#include "baseserver/model/select.h"
#include "baseserver/model/targets.h"
#include "rt/stream.h"
#include "util/buf.h"

struct jval;
struct past;
struct peer;
struct query;
struct sign_ins;
struct tz;
struct vault;
struct workflow;
struct closure;
struct workflow_set;

enum { REDO_SELF, REDO_WITH_DOWNSTREAM, REDO_DOWNSTREAM };
enum { ORDER_ASC, ORDER_DESC, ORDER_FREE };
enum { PARALLEL_NO_CAP = 1 << 30 }; /* counted, not capped */
enum { SCOPE_WORKFLOW, SCOPE_PROJECT, SCOPE_ALL };

/* A command's arguments, as checked. */
struct order {
	enum command_kind kind;
	const struct kind *ops;  /* its row */
	const struct jval *args; /* owned, with its texts */
	struct selection sel;
	const char *message; /* "" */
	int64_t now_us;      /* when it was asked for */
	struct when from;    /* now when nothing was said */
	bool has_from;
	int64_t priority; /* 0: as it was */
	char *params;     /* of this run alone, a JSON object of texts; NULL: none */
	int64_t parallel; /* 0: no cap */
	int mode, scope, order, level;
	bool kill_running; /* chosen ones that run */
	bool kill_downstream, leave_finished, stop_on_failure, off_plan, retire;
	bool before_begin; /* names dates before the begin of a task */
	bool wait_running; /* redo: what runs is waited for */
	bool let_end;      /* retire: the same */
	bool old_body, detach;
	bool failed_parts; /* redo: of what has parts, only those that ended badly */
	enum { DEPEND_INSIDE, DEPEND_ALL, DEPEND_IGNORE } dependencies; /* of a backfill, a redo */
	uint32_t grace_ms;
	bool on_tasks; /* acts on definitions */
	uint64_t command;
	const char *date, *up_to, *from_task; /* of run-start; or NULL */
	bool no_op;                           /* succeeds without a job */
	bool members;     /* its instances look at each other, whatever they are of a plan */
	bool own_second;  /* its date is the second of its creation, and nobody else's */
	const char *node; /* name or id */
	const struct jval *brokers, *documents, *prune, *retired_calendars;
	const struct jval *retired_libraries;
	const char *draft; /* test-run: the document as drawn; NULL: what is saved */
	bool as_draft;     /* apply: workflows are saved with `state: draft` */
	const char *drawn; /* test-start: the workflow as drawn */
	const char *pool;  /* or project; its name */
	const char *user, *server, *type, *version, *sha256;
	bool own;                  /* plugin-rollback: to the file of the type itself */
	uint64_t alert, silence;   /* their numbers */
	const char *note;          /* of alert-ack, or why there is a silence; "" */
	const char *peer;          /* name of its key */
	const char *told;          /* a channel, an on-call list or a rule; its name */
	const char *covers, *word; /* silence-add: project, workflow or task; alert.def; or NULL */
	int asserts;               /* peer-set: enum asserts, -1 not said */
	int64_t until_us;          /* silence-add; peer-set: 0 never, -1 not said */
	const struct jval *groups;
	const struct jval *within;        /* projects; NULL: all */
	const struct jval *unsafe_within; /* where a task may have `raw`, likewise */
	const struct jval *quota_within;  /* whose document may change the quota, likewise */
	int64_t size;                     /* of the pool or quota; -1: not said */
};

/* What is to be done about one instance. */
struct verdict {
	/* WAIT: until it no longer runs. JOIN: left, for it is on its way; recorded, so that who
	 * waits for the command waits for it. */
	enum { VD_PROPOSE, VD_REFUSE, VD_LEAVE, VD_JOIN, VD_WAIT } what;
	enum ask ask;
	int code;
	const char *text; /* of a refusal; static */
	bool is_new, runs;
	uint8_t reason, origin, intent, priority;
	uint16_t flags;
	bool kill_running, mend;
	int32_t part; /* of the key, where that is not the item's */
	uint32_t grace_ms;
	uint32_t version; /* of a draft; 0: the one in force */
	int64_t due;
};

/* An instance as a command finds it. */
struct look {
	const struct commander *c;
	const struct cmd *cmd;
	const struct order *o;
	const struct item *it;
	const struct cat_inst *live;      /* or */
	const struct outcome_range *done; /* or neither */
	bool planned, downstream;
	enum state state;
	int64_t now_s;
};

enum { ARGS_HASH_BYTES = 16 };

enum { DRY_LIST_MAX = 20, DRY_TASKS_MAX = 200 };

struct tally_item {
	struct inst_key key;
	int code;
	const char *text;
	uint8_t state;
};
struct tally_task {
	uint32_t task;
	int64_t count, made, running, downstream;
	int64_t fresh; /* that have no row, or a finished one */
	int depth;     /* of downstream: links away from what is chosen */
};
struct tally_why {
	int code;
	const char *text; /* static */
	int64_t count;
};
enum { WHY_MAX = 16, DRY_DAYS_MAX = 400 };
struct tally_strand {
	struct inst_key child, parent;
};
/* A local day of the tasks' own zones. */
struct tally_day {
	int64_t day, count, made, refusals, left;
};
struct tally {
	int64_t tasks_changed;    /* definitions, of what acts on them */
	int64_t joined;           /* of `left`: unfinished, on their way */
	int64_t states[ST_COUNT]; /* ST_NONE: planned, no row */
	struct tally_why why[WHY_MAX];
	size_t n_why;
	bool is_outside_unknown;
	bool too_deep;   /* more depends on it than is counted */
	int64_t outside; /* redo: instances that depend on it beyond its scope */
	struct tally_task *tasks;
	size_t n_tasks;
	struct tally_day *days; /* ascending */
	size_t n_days;
	struct tally_item refused[DRY_LIST_MAX], sample[DRY_LIST_MAX];
	size_t n_refused, n_sample;
	int64_t total, refusals, left; /* left: as it should be already */
	struct keyset chosen;          /* of a dry run that looks for what it strands */
	int64_t stranded;
	struct tally_strand strand; /* the first */
};

/* A letter of proposals under way; they come back in order. */
struct flight {
	struct flight *next;
	struct cmd *cmd;
	uint64_t number;
	struct inst_key last; /* the cursor behind it */
	size_t index;
	bool answered;
	int64_t done, failed;             /* outcomes, those in `items` too */
	struct store_command_item *items; /* refused without asking; others the ledger keeps */
	size_t n_items, items_cap;
};

enum phase { PH_SURVEY, PH_EDIT, PH_RUN, PH_GONE, PH_RETIRE, PH_OTHER, PH_OVER };

/* In this order: what depends on it; of a redo all of that, and what is within its scope. */
enum preview_step { PREVIEW_NONE, PREVIEW_DOWNSTREAM, PREVIEW_ALL, PREVIEW_OWN, PREVIEW_OVER };

struct cmd {
	struct cmd *next; /* of those at work */
	bool surveyed;    /* it had its first piece of counting */
	bool has_begun;   /* its feed stands where it is to go on */
	uint64_t id;      /* 0: dry run */
	char *request_id, *actor, *args;
	size_t args_len;
	uint8_t args__hash[ARGS_HASH_BYTES]; /* of what was asked, also where less is kept */
	char session[SESSION_ID];            /* by which it was given; "": by none */
	char *by; /* the face that spoke for the actor, as a member of JSON; NULL: none */
	char *message;
	char *projects; /* that it touches: touch__name(); NULL: of none yet */
	bool touched;   /* what its arguments name is in there */
	enum command_kind kind;
	const struct kind *ops; /* its row */
	enum command_state state;
	bool dry, recorded, resumed, at_work;
	bool halted;       /* a cancel waits for what is in flight */
	bool saved;        /* before a restart; of who keeps a brief of its arguments */
	bool forget;       /* never became durable: to be dropped */
	bool answer_early; /* not only when it is over */
	int64_t created_us, ended_us, total, done, failed;
	char error[400];
	struct shown shown;
	char shown_error[400];
	uint64_t number; /* of the stream, shown */
	int records;     /* the ledger has not answered yet */
	char *changes;   /* JSON members of the answer: apply, and what edits tasks */
	uint32_t draft;  /* test-run: the version its document was kept as; 0: not yet */
	char *tried;     /* test-start: the name it is saved under; NULL: not yet */
	/* test-start: how it ends, whatever its members do, with `error`; CS_QUEUED: of itself */
	enum command_state ends_as;
	uint64_t tried_look; /* its members as they were seen last ... */
	int64_t tried_us;    /* ... and since when they are so (mono) */
	int64_t look_us;     /* when they are looked at again (mono) */
	struct order o;
	enum phase phase;
	struct feed *feed;
	bool feed_over;
	struct pick *picks; /* redo with downstream */
	size_t n_picks;
	struct closure *down;      /* what depends on it, while that is looked for */
	enum preview_step preview; /* of a dry run: what is counted, once its own instances are */
	struct inst_key last;      /* cursor: all up to it have their outcome */
	size_t index;
	bool has_cursor;
	struct tally tally;
	struct flight *flights, **flights_tail;
	size_t in_flight;        /* proposals not yet answered */
	int64_t waits_since_us;  /* mono; all that was let go waits since then, or 0 */
	struct keyset out;       /* parallel: let go, not ended */
	struct keyset asked_for; /* of those: the ledger has not answered yet */
	struct keyset settled;   /* after a restart: have their outcome */
	struct keyset waits; /* running: wait; they run, and are acted on when they no longer do */
	struct keyset ripe;  /* of those, the ones that do no longer */
	struct inst_key fed; /* the feed's last */
	struct cmd *watch_next; /* of the commander's */
	bool scoped;            /* the resolver knows its dates */
	bool watched, stopping; /* stopping: one failed, it ends when nothing is in flight */
	struct edit *edit;      /* apply: to be posted */
	struct apply *apply;    /* at work on it */
	bool apply_told;        /* recorded while it was judged: it may still be refused */
	bool edit_posted;
	int tries;                    /* apply: edits that were overtaken */
	struct client_request *asked; /* to be answered; linked by letter.next */
};

/* An alert that has not ended (commander_alert.c). */
struct open_alert {
	uint64_t id;
	char *subject;
};

/* Commands that are over, by id ascending (commander_past.c). */
struct pasts {
	struct past **at;
	size_t n, bare;       /* bare: the first ones, without changes */
	size_t changes_bytes; /* of all together */
};

struct commander {
	struct actor *me;
	struct ledger *ledger;
	const struct kind *kinds; /* by enum command_kind */
	const struct front *front;
	struct commander_settings set;
	struct manifests *types;
	struct stream_reader *in;
	struct catalog cat;
	struct cmd **cmds; /* commands at work, by id ascending */
	size_t n_cmds, cmds_cap;
	struct pasts pasts;
	struct cmd *work;    /* dry runs */
	size_t slice;        /* that each may count in this turn */
	int64_t survey_us;   /* mono: nothing more is counted before then, but what begins */
	int64_t surveyed_us; /* what counting took in this turn */
	size_t batch_share;  /* that each may have in flight in this turn */
	struct starts {
		uint32_t project;   /* the catalog's */
		int64_t at_us;      /* mono, the last one; 0: none */
	} starts, starts_elsewhere; /* of the last project to start, and of any other */
	struct names task_names, workflow_names; /* of all that ever were */
	struct documents documents;              /* of workflows */
	struct docs docs[DOC_END];               /* by kind: those of doc_kinds */
	struct open_alert *alerts;               /* by id */
	size_t n_alerts, alerts_cap;
	struct worker *notifier; /* whose session n_session is; NULL: none is here */
	uint32_t notifier_session;
	uint64_t last_ask;
	struct vault *vault;
	struct factor_tries *factor_tries; /* wrong codes of people, in a row */
	size_t n_factor_tries;
	int64_t alarm_us;   /* ALARM_OFF: none is set */
	bool edit_out;      /* one edit at a time: the next builds on it */
	struct cmd *judged; /* an apply that is judged piece by piece: other edits wait for it */
	struct roster_name *roster; /* what brokers have said of themselves; each once */
	size_t n_roster;
	uint64_t changes; /* of definitions; rises */
	uint64_t last_id, last_flight;
	struct proposals *stuck; /* the ledger's mailbox was full */
	struct query *parked;    /* wait for their number to be durable */
	struct cmd *watchers;    /* commands that follow what they let go, or wait for */
	bool scopes_told;        /* of what was there at the start */
	char *nodes;             /* JSON of the query `nodes`; NULL: no etcd */
	struct lead_view lead;   /* as last seen; epoch 0: nobody watches */
	struct progress progress;
	struct credentials credentials;
	struct sign_ins *sign_ins;
};

/* commander_turn.c */
void commander__put(struct commander *c, struct cmd *cmd); /* its id is the highest */
struct cmd *commander__find(const struct commander *c, uint64_t id);
void commander__work(struct commander *c, struct cmd *cmd); /* in the next turn */
/* A command is about to retire it, perhaps when what runs of it has ended. */
bool commander__retires(const struct commander *c, uint32_t task);
bool order__selects(const struct order *o, uint32_t task);
/* Since when, as the zone of a task reads it. */
int64_t order__from(const struct order *o, const struct tz *tz);

/* commander_quota.c: E_LIMIT */
/* ann, with a session or any of ann's tokens (ann/NAME). */
bool quota__same_person(const char *a, const char *b);
int quota__commands(const struct commander *c, const struct cmd *cmd, struct refusal *f);
int quota__unfinished(const struct commander *c, const struct cmd *cmd, struct refusal *f);

/* commander_fold.c */
/* Have jobs of projects but this one started within the last second? */
bool commander__some_start(const struct commander *c); /* in the last second */
bool commander__others_start(const struct commander *c, uint32_t project);
void cmd__unwatch(struct commander *c, struct cmd *cmd);
/* With stop_on_failure: what ended so stops the command. */
void cmd__stop_if_bad(const struct commander *c, struct cmd *cmd, struct inst_key key,
                      enum state st);

/* commander_order.c */
struct order_text {
	enum command_kind kind;
	const char *args; /* JSON */
	size_t len;       /* bytes of args */
	int64_t now_us;   /* wall: when it counts as given */
};
/* An order as it is carried out, its names looked up. On a refusal *ret is to be done, too. */
int order__parse(const struct commander *c, const struct order_text *text, struct order *ret,
                 struct refusal *f);
void order__done(struct order *o);

/* commander_start.c: fills o->sel.instances: of each task (n, by id ascending) the planned dates of
 * the period that o->date names, or of the last one. E_INVALID, E_LIMIT */
int start__dates(struct order *o, const struct task *const *tasks, size_t n, struct refusal *f);
/* The member `dates`: for which date that is. */
void start__print_dates(const struct order *o, const struct task *const *tasks, size_t n,
                        struct buf *out);
/* commander_params.c: as check_params(), of these tasks. */
int params__check(const struct commander *c, const struct order *o, const struct task *const *tasks,
                  size_t n, struct refusal *f);

/* commander_trial.c: a workflow that is tried, once it is saved. */
void trial__gone(struct commander *c, struct cmd *cmd); /* PH_GONE */

/* commander_start.c: when an order is to count as given, so that its date is its own. E_BUSY */
int start__moment(const struct commander *c, const struct order *o, int64_t *ret_us,
                  struct refusal *f);

/* commander_brief.c: arguments too large to be kept. */
void args__hash(const char *args, size_t len, uint8_t ret[ARGS_HASH_BYTES]);
enum { ARGS_BRIEF_FROM = 64 * 1024 }; /* bytes: a large apply */
bool args__are_brief(const char *args);
void args__make_brief(struct cmd *cmd); /* if they are large */
int brief__load(struct cmd *cmd, struct store *store, struct err *err);

/* commander_decide.c: what a command means for one instance. Reads the catalog only. */
struct verdict commander__decide(const struct commander *c, const struct cmd *cmd,
                                 const struct item *it);
unsigned commander__sources(const struct order *o);
/* The verdicts that functions of kinds (commander_kind.h) come to. text: static */
struct verdict verdict__propose(enum ask ask);
struct verdict verdict__refuse(int code, const char *text);
struct verdict verdict__leave(void);
struct verdict verdict__join(void);
struct verdict verdict__no_row(const struct look *l);
int64_t look__due(const struct look *l); /* s, UTC; now where it is not planned */

/* commander_down.c: the chosen ones and what depends on them, or (REDO_DOWNSTREAM) these alone. `o`
 * and what it points to are borrowed until down__close(). */
struct closure *down__open(const struct commander *c, const struct order *o, int mode, int scope);
/* Look at so many dates; *budget goes down by them. 1: there is more; E_LIMIT: too much. */
int down__step(struct closure *cl, size_t *budget);
/* Once all is found: dates of the i-th task; SIZE_MAX: there are no more tasks. */
size_t down__count(const struct closure *cl, size_t i, uint32_t *ret_task);
/* The same as picks, which are the caller's. 1, E_LIMIT as above. */
int down__picks(struct closure *cl, size_t *budget, struct pick **ret_picks, size_t *ret_n);
int down__refuse(struct refusal *f);  /* of that E_LIMIT */
void down__close(struct closure *cl); /* NULL is fine */
void picks__free(struct pick *picks, size_t n);
void picks__print(const struct cmd *cmd, struct buf *out);
bool picks__parse(struct cmd *cmd, const char *text);

/* commander_resume.c: what was settled before a restart. */
int cmd__load_settled(struct cmd *cmd, struct store *store, struct err *err);
bool cmd__settled(const struct cmd *cmd, struct inst_key key);

/* commander_scope.c: members of one command (resolver.h). */
void cmd__tell_scope(struct commander *c, struct cmd *cmd);
void cmd__scope_over(struct commander *c, struct cmd *cmd);
bool order__has_members(const struct order *o);
void order__tell_scope(struct commander *c, uint64_t command, const struct order *o, bool over);

void roster__done(struct commander *c); /* commander_types.c */

/* commander_strand.c: what would wait for dates that do not come; one more of a dry run. */
void strand__look(const struct commander *c, const struct item *it, const struct verdict *v,
                  struct tally *t);
void strand__print(const struct commander *c, const struct tally *t, struct buf *out);

/* commander_run.c: step by step. */
void cmd__survey_share(struct commander *c); /* before the commands of a turn */
void cmd__survey_rest(struct commander *c);  /* after what was counted in this turn */
void cmd__survey(struct commander *c, struct cmd *cmd);
/* commander_preview.c: the instances of a dry run are counted; the rest, some a turn. */
struct tally_task *tally__task(struct tally *t, uint32_t task); /* made at need */
void cmd__preview(struct commander *c, struct cmd *cmd);
void cmd__run(struct commander *c, struct cmd *cmd);
void cmd__cancel_rows(struct commander *c, struct cmd *cmd);

/* stored.c: stored documents of all kinds but workflows. */
void stored__init(struct commander *c);
void stored__done(struct commander *c);
int stored__load(struct commander *c, struct store *store, struct err *err);
/* A version is durable; one of a kind that is not kept here is passed over. */
void stored__learn(struct commander *c, const struct store_doc *d);
/* The next version joins e: of d its kind, name, body and whether it goes. body_len 0: all of it */
void stored__change(struct commander *c, const struct cmd *cmd, struct edit *e,
                    const struct store_doc *d);
int stored__missing(enum store_doc_kind kind, const char *name,
                    struct refusal *f); /* E_NOT_FOUND */
/* `r` refuses a document of other projects, and says whose it is. Where reading is bound to
 * projects its removal is answered as what is not there, its change as a name that is taken. */
int stored__hidden(const struct commander *c, enum store_doc_kind kind, const struct cmd *cmd,
                   bool removes, int r, struct refusal *f);
/* E_CONFLICT: a task depends on it. */
int stored__unused(const struct commander *c, enum store_doc_kind kind, const char *name,
                   struct refusal *f);

/* apply_draft.c: a test run of a document that is not saved. */
int order__parse_draft(struct order *o, struct refusal *f);
/* One task, once. `r`: what its selection came to, which f says. */
int order__check_draft(const struct order *o, int r, struct refusal *f);
/* Judged as apply judges it; on 0 cmd->edit keeps it. */
int draft__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
void draft__learn(struct commander *c, const struct store_doc *d);
int drafts__load(struct commander *c, struct store *store, struct err *err);

/* commander_alert.c */
int order__parse_alert(struct order *o, struct refusal *f);
int alert__ack(struct commander *c, struct cmd *cmd, struct refusal *f);
int alerts__load(struct commander *c, struct store *store, struct err *err);
void alerts__forget(struct commander *c);

/* commander_peer.c */
int peer__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
/* What there is of o's peer, to be changed; borrowed until it is put. has_shared: keys_file has a
 * key of it. */
struct peer peer__next(const struct commander *c, const struct order *o, bool *ret_has_shared);
/* Kind, lists and expiry as o says. */
int peer__bound(const struct order *o, struct peer *next, struct refusal *f);
void peer__put(struct commander *c, struct cmd *cmd, const struct peer *next);
void peer__tell(const struct commander *c, const struct store_doc *d);
/* `projects`: that the peer's commands keep to, a line each; NULL: all. E_FORBIDDEN */
int peer__within(const struct order *o, const char *projects, struct refusal *f);
/* `code`: what came of reading the order of a peer that acts by itself. E_NOT_FOUND */
int peer__own_only(const struct client_request *r, int code, struct refusal *f);

/* commander_enrol.c: a peer's public keys */
int peer__invite(struct commander *c, struct cmd *cmd, struct refusal *f);
int peer__key(struct commander *c, struct cmd *cmd, struct refusal *f);
int peer__approve(struct commander *c, struct cmd *cmd, struct refusal *f);
/* commander_exposed.c */
int peer__exposed(struct commander *c, struct cmd *cmd, struct refusal *f);
/* commander_trust.c */
int trust__begin(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_target.c: what other documents with secrets say alike. */
/* `projects` of the arguments. */
int secret__parse_projects(const struct order *o, struct refusal *f);
/* A text, which is sealed, or where it is kept outside. `in` has it as `name`. */
int secret__parse(const struct jval *in, const char *place, const char *name, struct refusal *f);
/* 1: it is sealed with the first key now; 0: it was already. */
int secret__seal_again(struct commander *c, const char *about, char **sealed, struct err *err);
void secret__print_projects(struct buf *out, const struct jval *v);
void secret__print_ref(struct buf *out, const char *key, const struct jval *v);

int targets__seal_again(struct commander *c, struct cmd *cmd, struct err *err);
/* commander_rekey.c */
int rekey__begin(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_channel.c: ways by which people are told. */
/* The argument that names a channel, a list or a rule. */
int told__parse_name(struct order *o, const char *key, struct refusal *f);
int channel__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
int channels__seal_again(struct commander *c, struct cmd *cmd, struct err *err);
/* May the command, which keeps to projects, change a document of these projects? E_FORBIDDEN */
int channel__within(const struct order *o, const char *place, const struct jval *projects,
                    struct refusal *f);

/* commander_rule.c: who is told of what; commander_oncall.c: whose turn it is. */
int rule__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
/* A recipient of a rule, or of a list (`of_list`): somebody of a known kind. */
int rule__recipient(const char *place, const char *text, bool of_list, struct refusal *f);
int oncall__begin(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_silence.c */
/* args.project, workflow, task: what it covers, o->covers. */
int order__parse_covers(const struct commander *c, struct order *o, struct refusal *f);
int order__parse_silence(const struct commander *c, struct order *o, struct refusal *f);
int silence__begin(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_node.c */
int cmd__forget_node(const struct commander *c, const char *name, struct refusal *f);

/* commander_task.c: definitions. */
void cmd__edit(struct commander *c, struct cmd *cmd); /* PH_EDIT, PH_RETIRE */
void cmd__gone(struct commander *c, struct cmd *cmd); /* PH_GONE */
/* Kinds that act on documents: cmd->edit is made, unless it is there. */
/* 1: in the next turn more of it */
int cmd__begin_edit(struct commander *c, struct cmd *cmd, struct refusal *f);
/* What one edit may change: more of it would wait for ever. E_INVALID. */
int cmd__check_edit(const struct commander *c, const struct edit *e, struct refusal *f);
void cmd__other(struct commander *c, struct cmd *cmd); /* PH_OTHER: what is done at once */

/* commander_print.c */
struct face cmd__face(const struct cmd *cmd);
/* How many tasks a command on tasks changes, or would. */
size_t cmd__tasks_changed(struct commander *c, const struct cmd *cmd);
void cmd__print_dry(struct commander *c, const struct cmd *cmd, struct buf *out);

/* commander_in.c */
struct cmd *cmd__new(const struct commander *c, enum command_kind kind, const char *request_id,
                     const char *actor, const char *args, int64_t created_us);
void cmd__free(struct cmd *cmd);
/* While the store is full, who waits for an answer gets it: E_FULL. */
void commander__look_full(struct commander *c);
enum phase cmd__first_phase(const struct cmd *cmd);

/* commander_past.c: what is kept of commands that are over. */
void pasts__keep(struct pasts *ps, const struct cmd *cmd); /* and the oldest may go for it */
const struct past *pasts__find(const struct pasts *ps, uint64_t id);
const struct past *pasts__repeated(const struct pasts *ps, const char *request_id);
/* args NULL: of a kind that hides some, they are not compared. */
bool past__same(const struct past *p, enum command_kind kind, const char *args);
struct face past__face(const struct past *p);
void pasts__done(struct pasts *ps);

/* commander_record.c */
bool cmd__cursor_parse(struct cmd *cmd, const char *text);
void cmd__record(struct commander *c, struct cmd *cmd, struct store_command_item *items,
                 size_t n_items);
void cmd__over(struct commander *c, struct cmd *cmd, enum command_state state, const char *error);
void cmd__fail(struct commander *c, struct cmd *cmd, const struct refusal *f);
void cmd__answer_all(struct cmd *cmd);
bool trial__saved(const struct commander *c, const struct cmd *cmd); /* is it in force? */
/* A workflow that is tried ends: what has not started is skipped, what runs is killed, and then it
 * goes; the command ends as `state`. Told again: nothing. */
void trial__end(struct commander *c, struct cmd *cmd, enum command_state state, const char *why);

/* commander_load.c */
int commander__load(struct commander *c, struct store *store, struct err *err);
void budget__notice(const struct commander *c);   /* what is stored past a budget, in the log */
void commander__resume(struct commander *c);      /* commands that are not over */
void commander__tell_scopes(struct commander *c); /* their members, to the resolver */
/* What an edit that is durable says of documents and names. */
void commander__learn(struct commander *c, const struct edit *e);

/* apply_args.c */
int apply__parse(struct order *o, struct refusal *f);

/* apply.c: documents. On 0 cmd->edit and cmd->changes are set. */
int apply__begin(struct commander *c, struct cmd *cmd, struct refusal *f); /* 1: it goes on */
void apply__drop(struct cmd *cmd); /* what is under way of it */

/* apply_alike.c: refused when people take a project that comes into being for one in force. */
int project__alike(const struct commander *c, const char *project, const char *place,
                   struct refusal *f);

/* commander_pool.c: pools and quotas. On 0 pool__begin() has set cmd->edit. */
int order__parse_pool(struct order *o, struct refusal *f);
int pool__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
/* Adds the change of a pool or a quota to e, unless it is so already. size: POOL_NONE removes.
 * False: nothing changes. */
bool pool__change(struct commander *c, const struct cmd *cmd, const char *name, int32_t size,
                  struct edit *e);
/* Every pool that the tasks name is there and large enough. */
int pools__check(const struct commander *c, const struct workflow_set *set,
                 struct task *const *tasks, size_t n, struct refusal *f);

/* commander_user.c, commander_people.c: people, groups, tokens. On 0 person__begin() has set
 * cmd->edit. */
int order__parse_person(struct order *o, struct refusal *f);
#define ARGS_KEPT_OUT "(not kept)"
/* Without what its kind hides; the caller's. */
char *args__shown(const struct order *o);
int person__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
/* commander_prefs.c: what people have set for their browsers; and the end of their sessions. */
int order__parse_web(struct order *o, struct refusal *f);
int order__parse_signs(struct order *o, struct refusal *f);
int preferences__begin(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_factor.c: second factors of people. */
int factor__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
/* He is gone: so is what he signed in with; joins cmd->edit. */
void factor__gone(struct commander *c, const struct cmd *cmd, const char *user);
/* Those that are not sealed with the vault's first key are now; joins cmd->edit. */
int factors__seal_again(struct commander *c, const struct cmd *cmd, struct err *err);
void factors__forget(struct commander *c);
/* commander_session.c: sessions of people. They have set cmd->edit. */
int session__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
int session__end(struct commander *c, struct cmd *cmd, struct refusal *f);
/* Ends a person's sessions in cmd->edit, which changes his credentials: `key` is `since` or
 * `factor`, `value` what it is from now on. The session that gave the command goes on. */
void sessions__renew(struct commander *c, struct cmd *cmd, const char *key, int64_t value);
/* commander_sign_in.c */
void sign_ins__init(struct commander *c);
void sign_ins__done(struct commander *c);
/* sign_outside.c: are people of a provider believed to be who a face says? In the log, at start. */
void outside__look(struct commander *c);

/* commander_target.c: target servers. On 0 target__begin() has set cmd->edit. */
int order__parse_target(struct order *o, struct refusal *f);
int target__begin(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_plugin.c: versions of runner plugins. On 0 plugin__begin() has set cmd->edit. */
int order__parse_plugin(struct order *o, struct refusal *f);
int plugin__begin(struct commander *c, struct cmd *cmd, struct refusal *f);
void plugin__tell(const struct commander *c, const char *type); /* the workers */
void plugins__tell(const struct commander *c);                  /* of all, at the start */

/* commander_rights.c: who gives it, by the credential that came with it: r->actor is that one from
 * now on. E_AUTH */
int rights__who(const struct commander *c, struct client_request *r, struct credential *ret,
                struct refusal *f);
/* May the one for whom a face speaks give it? ret_by: what the audit says
 * besides, a member of JSON; heap, or NULL. E_FORBIDDEN */
int rights__judge(const struct commander *c, const struct client_request *r, const struct order *o,
                  const struct credential *has, char **ret_by, struct refusal *f);
const char *alert__subject(const struct commander *c, uint64_t id); /* NULL: it is not open */

/* commander_touch.c: the projects that a command touches, kept with it in cmd->projects. `name`: a
 * project, or what begins with one and a slash. */
void touch__name(struct cmd *cmd, const char *name);
void touch__order(const struct commander *c, struct cmd *cmd); /* once, as its arguments say */
void touch__set(struct cmd *cmd, const struct workflow_set *set);
void touch__steered(struct cmd *cmd, const struct cmd *at);
void touch__items(const struct commander *c, struct cmd *cmd,
                  const struct store_command_item *items, size_t n);

/* commander_reading.c */
int order__parse_reading(struct order *o, struct refusal *f);
int reading__begin(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_within.c: the projects that a command keeps to. E_FORBIDDEN. */
extern const char *const order__faces_keys[]; /* which faces write, no person */
int order__parse_within(struct order *o, struct refusal *f);
bool within__covers(const struct order *o, const char *name);
int within__refuse(const struct order *o, const char *place, const char *name, struct refusal *f);
int within__check(const struct commander *c, const struct order *o, struct refusal *f);
/* May he save it with the `raw` in it? */
int within__check_raw(const struct order *o, const struct workflow *wf, struct refusal *f);
int within__check_quota(const struct order *o, const char *project, struct refusal *f);
int within__check_set(const struct order *o, const struct workflow_set *set, struct refusal *f);
bool within__own(const struct cmd *cmd, const char *actor); /* may cmd steer a command of theirs? */

#endif
