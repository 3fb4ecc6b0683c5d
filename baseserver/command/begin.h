/* begin.h — when plans begin, and how one version of a plan follows another (internal to the
 * commander; design: SEMANTICS section 1, "Plans have versions", "Begin").
 */
#ifndef BASESERVER_BEGIN_H
#define BASESERVER_BEGIN_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct cat_task;
struct catalog;
struct cmd;
struct commander;
struct edit;
struct order;
struct plan;
struct store_task;
struct task;

/* Would an earlier `from` that was asked for move the begin of what is in force? */
bool begin_moves(const struct cat_task *was, const struct plan *plan, const struct order *o);

/* What was in force goes on as `plan`, which has no past yet: it gets its begin and its past.
 *
 *   was   NULL: it is new; one that was retired counts as new
 *   row   as it will be, but for what this decides: its state, online_from
 *   over  its plan had run out: with new dates it is online again
 *
 *   returns  true: a version follows, its past is to be kept (begin_keep) */
bool begin_follow(const struct cat_task *was, struct plan *plan, const struct order *o, bool over,
                  struct store_task *row);

/* The past of a task's plan, as a document of the edit. */
void begin_keep(struct edit *e, uint32_t task, const char *name, const struct plan *plan,
                const char *actor, int64_t now_us);

struct beginning {
	const struct cat_task *was;   /* NULL: it is new */
	const struct task *def;       /* as it will be, ... */
	const struct plan *plan;      /* ... with this plan ... */
	const struct store_task *row; /* ... and this row */
};

/* For a preview: the first date that counts (`begins`) of what goes online, and what comes due at
 * once: how many (`run_dates`; `left_out`: of those what def's catch-up skips), `first` and
 * `last`; `no_dates` when none is left to come; of what is online the first date that comes due
 * from now on (`fires`), when (`fires_due`, by the clock of its `zone` `fires_local`), and whether
 * that is another than before (`fires_anew`), or that it is `frozen`. Nothing of what was put
 * offline. */
void begin_print(const struct catalog *cat, const struct beginning *of, int64_t now,
                 struct buf *out);
/* The same of all tasks that a command would put online. */
void cmd_print_online(const struct commander *c, const struct cmd *cmd, struct buf *out);

#endif
