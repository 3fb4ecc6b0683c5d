/* commander_kind.h — what a kind of command means: a row each (commander_kinds.c). For the files of
 * this room only. Whoever works on a command asks its row and never what kind it is; the commander
 * is given the table when it is made, so that no file refers upward. */
#ifndef BASESERVER_COMMANDER_KIND_H
#define BASESERVER_COMMANDER_KIND_H

#include <stdbool.h>

#include "baseserver/model/command.h"

struct buf;
struct cat_task;
struct cmd;
struct commander;
struct edit;
struct look;
struct order;
struct refusal;
struct store_task;
struct task;
struct verdict;

enum { KEYS_MAX = 16, HIDES_MAX = 3 };

/* Kinds that change definitions: when do their instances get their verdict? */
enum sweep { SWEEP_NONE, SWEEP_AFTER_EDIT, SWEEP_BEFORE_EDIT };

struct kind {
	const char *keys[KEYS_MAX]; /* of its arguments, besides `message` and `within` */
	/* What its own arguments say. NULL: it has none but those that all have. */
	int (*parse)(struct order *o, struct refusal *f);
	/* What they say of what there is, after a restart too. NULL: nothing. */
	int (*resolve)(const struct commander *c, struct order *o, struct refusal *f);
	/* May somebody give it whose rights end at projects? NULL: by its selection, or who gave
	 * the command that it steers; a kind that has neither is refused. */
	int (*within)(const struct order *o, struct refusal *f);
	/* May anybody give it, for it is about himself? NULL: his role alone says it. */
	bool (*own)(const struct commander *c, const struct order *o, const char *person);
	/* May only an administrator say what these arguments say? NULL: the role of the kind is
	 * enough. */
	bool (*wants_admin)(const struct order *o);
	/* Before it is recorded, and never again: may these tasks go, are its parameters of any
	 * use? NULL: yes. */
	int (*check)(const struct commander *c, const struct order *o, struct refusal *f);
	/* For one instance. NULL: it is left alone. */
	struct verdict (*decide)(const struct look *l);
	unsigned sources; /* of instances, besides FEED_LIVE; FEED_BARE: only with off_plan */
	/* Its task with `row` as it is to be, a reference of the caller's; NULL: it is so already.
	 * e: may be given documents. */
	struct task *(*change)(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
	                       struct store_task *row);
	/* Makes its edit of documents, cmd->edit. 1: in the next turn more of it */
	int (*begin)(struct commander *c, struct cmd *cmd, struct refusal *f);
	/* That edit is durable. NULL: nobody is told but all who read the stream. */
	void (*edited)(struct commander *c, const struct cmd *cmd, const struct edit *e);
	/* Which instances are meant, of a kind whose own edit makes their tasks: into o->sel, once
	 * that is in force. NULL: its arguments say it. */
	void (*chosen)(const struct commander *c, const struct cmd *cmd, struct order *o);
	/* Acts at once. 1: not yet, ask again. cmd->edit_posted: it goes on by letters. */
	int (*act)(struct commander *c, struct cmd *cmd, struct refusal *f);
	/* Adds members to the answer of a dry run; of a kind that picks dates to that of the
	 * command too. NULL: none */
	void (*print)(const struct commander *c, const struct cmd *cmd, struct buf *out);
	enum sweep sweep;
	/* Members of its arguments that are not kept with it: a password, or its hash. Who has the
	 * address of a browser may have its maker's service wake it. */
	const char *hides[HIDES_MAX];
	bool is_manual;    /* without a date it means the last planned one */
	bool picks_dates;  /* resolve() says which instances are meant */
	bool beside_plan;  /* any date will do, and the ledger chooses the part of the key */
	bool wants_dates;  /* states alone do not say what is meant */
	bool has_children; /* what depends on its instances sees a difference */
	bool fills;        /* what it makes, or begins anew, is unfinished: quotas count it */
	bool brakes;       /* ends instances, or holds them back: taken of whom has too many, too */
	bool repeats;      /* what it begins again keeps the parameters that it was made with */
	bool strands;      /* its preview says what would wait for dates that do not come */
	bool has_scope;    /* may take what depends on the chosen, within `scope` */
	bool retires;      /* with the end of what runs, the tasks go for good */
	bool tries;        /* what it saves is there as long as it lasts (commander_trial.c) */
	bool on_tests;     /* may be given to members of such a one, too */
	bool about_access; /* changes what lets somebody in, or with what rights: no token may */
	bool is_private;   /* told to who asks, and no record is kept */
	bool is_large;     /* of long arguments the record keeps a hash (commander_brief.c) */
};

/* commander_kinds.c: by enum command_kind. Every kind can be carried out: CHECKed. */
const struct kind *command_kinds(void);

/* commander_check.c */
int check_offline(const struct commander *c, const struct order *o, struct refusal *f);
int check_types(const struct commander *c, const struct order *o, struct refusal *f);
int check_retire(const struct commander *c, const struct order *o, struct refusal *f);

/* commander_params.c: those of this run, that nothing would use */
int check_params(const struct commander *c, const struct order *o, struct refusal *f);

/* commander_order.c */
int priority_parse(struct order *o, struct refusal *f);

/* commander_decide.c: those that keep or change what there is. */
struct verdict decide_freeze(const struct look *l);
struct verdict decide_unfreeze(const struct look *l);
struct verdict decide_kill(const struct look *l);
struct verdict decide_force(const struct look *l);
struct verdict decide_priority(const struct look *l);
struct verdict decide_skip(const struct look *l);
struct verdict decide_declare(const struct look *l);
struct verdict decide_offline(const struct look *l);

/* commander_again.c: those that make something run. */
int redo_parse(struct order *o, struct refusal *f);
int backfill_parse(struct order *o, struct refusal *f);
int backfill_resolve(const struct commander *c, struct order *o, struct refusal *f);
struct verdict decide_redo(const struct look *l);
struct verdict decide_backfill(const struct look *l);
struct verdict decide_run_now(const struct look *l);
struct verdict decide_enqueue(const struct look *l);
struct verdict decide_test_run(const struct look *l);
int run_now_resolve(const struct commander *c, struct order *o, struct refusal *f);

/* commander_start.c: a workflow, once. */
int start_parse(struct order *o, struct refusal *f);
int start_resolve(const struct commander *c, struct order *o, struct refusal *f);
/* Members that say for which date: the one that was asked for, or was chosen. */
void start_print(const struct commander *c, const struct cmd *cmd, struct buf *out);
struct verdict decide_start(const struct look *l);

/* apply_trial.c, commander_trial.c: a workflow that is tried. */
int trial_parse(struct order *o, struct refusal *f);
int trial_resolve(const struct commander *c, struct order *o, struct refusal *f);
void trial_chosen(const struct commander *c, const struct cmd *cmd, struct order *o);
struct verdict decide_trial(const struct look *l);

/* commander_task.c: definitions. */
int retire_parse(struct order *o, struct refusal *f);
struct task *change_online(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                           struct store_task *row);
struct task *change_offline(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                            struct store_task *row);
struct task *change_freeze(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                           struct store_task *row);
struct task *change_quarantine(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                               struct store_task *row);
struct task *change_release(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                            struct store_task *row);
struct task *change_unfreeze(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                             struct store_task *row);
void freeze_edited(struct commander *c, const struct cmd *cmd, const struct edit *e);
void retire_edited(struct commander *c, const struct cmd *cmd, const struct edit *e);

/* commander_broker.c: brokers, their plugins, how much the daemons write. */
int brokers_parse(struct order *o, struct refusal *f);
int broker_types_parse(struct order *o, struct refusal *f);
int level_parse(struct order *o, struct refusal *f);
int drain_act(struct commander *c, struct cmd *cmd, struct refusal *f);
int undrain_act(struct commander *c, struct cmd *cmd, struct refusal *f);
int release_act(struct commander *c, struct cmd *cmd, struct refusal *f);
int level_act(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_probe.c: a broker tries to connect to a target server. */
int probe_parse(struct order *o, struct refusal *f);
int probe_act(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_peer.c */
int peer_parse(struct order *o, struct refusal *f);
int peer_set_parse(struct order *o, struct refusal *f);
int peer_invite_parse(struct order *o, struct refusal *f);
int peer_key_parse(struct order *o, struct refusal *f);
int peer_exposed_parse(struct order *o, struct refusal *f);

/* commander_steer.c: other commands, and who leads. */
int steer_parse(struct order *o, struct refusal *f);
int pause_act(struct commander *c, struct cmd *cmd, struct refusal *f);
int resume_act(struct commander *c, struct cmd *cmd, struct refusal *f);
int cancel_act(struct commander *c, struct cmd *cmd, struct refusal *f);
int node_parse(struct order *o, struct refusal *f);
int node_act(struct commander *c, struct cmd *cmd, struct refusal *f);
int step_down_act(struct commander *c, struct cmd *cmd, struct refusal *f);

/* commander_session.c */
int session_begin_parse(struct order *o, struct refusal *f);
int session_end_parse(struct order *o, struct refusal *f);

/* commander_channel.c, commander_rule.c, commander_oncall.c */
int channel_parse(struct order *o, struct refusal *f);
bool channel_wants_admin(const struct order *o);
int rule_parse(struct order *o, struct refusal *f);
int rule_resolve(const struct commander *c, struct order *o, struct refusal *f);
int oncall_parse(struct order *o, struct refusal *f);

/* commander_rights.c */
bool own_person(const struct commander *c, const struct order *o, const char *name);
bool own_thing(const struct commander *c, const struct order *o, const char *name);
bool own_web(const struct commander *c, const struct order *o, const char *name);
bool own_alert(const struct commander *c, const struct order *o, const char *name);

/* commander_factor.c */
int factor_parse(struct order *o, struct refusal *f);
bool own_factor(const struct commander *c, const struct order *o, const char *name);

/* commander_within.c */
int within_later(const struct order *o, struct refusal *f); /* what it acts on is not known yet */
int within_apply(const struct order *o, struct refusal *f);
int within_probe(const struct order *o, struct refusal *f);
int within_quota(const struct order *o, struct refusal *f);
int within_silence(const struct order *o, struct refusal *f);

#endif
