/* outbox.h — what is still to be told, on disk: nothing is lost by a crash, and an event that is
 * read twice is told once. One SQLite file in the state directory; one thread.
 *
 * The place in the server's history (the cursor) moves in the same transaction that enters
 * what the events up to it ask for.
 */
#ifndef NOTIFIER_OUTBOX_H
#define NOTIFIER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct outbox;

/* Stored. Under way: taken by a delivery; waits again when the outbox is opened anew. */
enum letter_state {
	LETTER_WAITS,
	LETTER_SENT,
	LETTER_GIVEN_UP,
	LETTER_UNDER_WAY,
	LETTER_MENDED, /* it was to be told only if it is still so, and it is not */
	LETTER_SILENCED,
	LETTER_ACKED,   /* somebody acknowledged its alert before it was due */
	LETTER_DROPPED, /* whom it is for takes none, or not of this severity */
};

struct outbox_letter {
	int64_t id;
	int64_t made_us, next_us; /* wall */
	uint32_t tries;
	const char *recipient; /* as documents say it: "mail:me@example.org" */
	const char *key;       /* what makes it the same one; NULL when read */
	const char *body;      /* JSON, message.h */
	int64_t alert;         /* whose it is; 0: of none */
};

/* What somebody is told of, by any number of letters; open until it is mended. */
struct outbox_alert {
	int64_t id;       /* grows with time */
	const char *key;  /* what makes it the same one; NULL when read */
	const char *word; /* alert.def */
	const char *subject;
	uint32_t task;                        /* 0: of none */
	int64_t run_date, since_us, ended_us; /* ended_us 0: open */
	int64_t change;                       /* grows with each change of it or of its letters */
	const char *body;                     /* JSON, message.h */
};

struct outbox_fate {
	const char *recipient, *error;
	enum letter_state state;
	int64_t next_us, ended_us;
	uint32_t tries;
};

struct outbox_watch {
	uint32_t task;
	int64_t run_date, at_us;
};

struct outbox_told {
	uint32_t task, generation;
	int64_t run_date;
	const char *who; /* the recipient; of what is read: until the next one */
};

/* errors  E_IO, E_FULL, E_BUSY: another notifier has this directory */
int outbox_open(const char *state_dir, struct outbox **ret_outbox, struct err *err);
/* For figures only, beside a notifier that runs. E_NOT_FOUND none ran there yet. */
int outbox_open_read(const char *state_dir, struct outbox **ret_outbox, struct err *err);
void outbox_close(struct outbox *o); /* NULL is fine */

/* -1 at the very first start. */
int outbox_cursor(struct outbox *o, int64_t *ret_number, struct err *err);

/* One transaction: begin, any of those below, end; an end with r < 0 takes all back. */
int outbox_begin(struct outbox *o, struct err *err);
int outbox_put(struct outbox *o, const struct outbox_letter *l, struct err *err);
int outbox_put_watch(struct outbox *o, const struct outbox_watch *w, struct err *err);
int outbox_drop_watch(struct outbox *o, const struct outbox_watch *w, struct err *err);
/* Somebody was told how this instance ended: the first one counts. */
int outbox_put_told(struct outbox *o, const struct outbox_told *t, struct err *err);
int outbox_drop_told(struct outbox *o, const struct outbox_told *t, struct err *err);
int outbox_put_node(struct outbox *o, uint32_t id, uint32_t version, struct err *err);
/* The same key again is the same alert, as it is. */
int outbox_raise(struct outbox *o, const struct outbox_alert *a, int64_t *ret_id, struct err *err);
int outbox_end_alert(struct outbox *o, int64_t id, int64_t now_us, struct err *err);
/* Those of no task, of that subject. */
int outbox_end_subject(struct outbox *o, const char *subject, int64_t now_us, struct err *err);
/* Something of it changed; by a letter of it. */
int outbox_touch(struct outbox *o, int64_t alert, struct err *err);
int outbox_touch_by(struct outbox *o, int64_t letter, struct err *err);
/* The server knows it as it was at that change. */
int outbox_said(struct outbox *o, int64_t id, int64_t change, struct err *err);
/* How the last delivery through a channel went. error: "" well. */
int outbox_put_try(struct outbox *o, const char *channel, int64_t now_us, const char *error,
                   struct err *err);
int outbox_move(struct outbox *o, uint64_t cursor, struct err *err);
/* The store's numbers are of another past: what letters and alerts are known by, which has those
 * numbers, is the former one's. */
int outbox_part(struct outbox *o, int64_t now_us, struct err *err);
/* What became of a letter under way: sent, to be tried again at next_us, or given up. */
struct settled {
	enum letter_state state;
	int64_t now_us, next_us;
	const char *error; /* "": none */
};
int outbox_settle(struct outbox *o, int64_t id, const struct settled *as, struct err *err);
int outbox_take(struct outbox *o, int64_t id, struct err *err); /* it is under way */
int outbox_end(struct outbox *o, int r, struct err *err);

/* Letters that wait and are due by `now_us`, by recipient and id; at most `max`. */
int outbox_due(struct outbox *o, int64_t now_us, size_t max,
               int (*each)(void *ctx, const struct outbox_letter *l), void *ctx, struct err *err);
int outbox_watches_due(struct outbox *o, int64_t now_us, size_t max,
                       int (*each)(void *ctx, const struct outbox_watch *w), void *ctx,
                       struct err *err);
/* What the server has not been told yet; at most `max`. */
int outbox_told(struct outbox *o, size_t max, int (*each)(void *ctx, const struct outbox_told *t),
                void *ctx, struct err *err);
/* Open alerts of one instance; and of all tasks, by id after `after`. Only id and body. */
int outbox_open_of(struct outbox *o, uint32_t task, int64_t run_date,
                   int (*each)(void *ctx, const struct outbox_alert *a), void *ctx,
                   struct err *err);
int outbox_open_all(struct outbox *o, int64_t after, size_t max,
                    int (*each)(void *ctx, const struct outbox_alert *a), void *ctx,
                    struct err *err);
/* What the server does not know yet, by id; at most `max`. */
int outbox_unsaid(struct outbox *o, size_t max,
                  int (*each)(void *ctx, const struct outbox_alert *a), void *ctx, struct err *err);
/* What became of its letters; at most `max`. */
int outbox_letters_of(struct outbox *o, int64_t alert, size_t max,
                      int (*each)(void *ctx, const struct outbox_fate *f), void *ctx,
                      struct err *err);
/* How many letters wait for each recipient. */
int outbox_queue(struct outbox *o, int (*each)(void *ctx, const char *recipient, int64_t n),
                 void *ctx, struct err *err);
/* *ret_us 0: nothing went through it yet. */
int outbox_try(struct outbox *o, const char *channel, int64_t *ret_us, char ret_error[static 200],
               struct err *err);
/* A letter to a person reached this device of his: what is tried again goes to the others. */
int outbox_put_handed(struct outbox *o, int64_t letter, const char *device, struct err *err);
int outbox_is_handed(struct outbox *o, int64_t letter, const char *device, bool *ret,
                     struct err *err);
/* What was told last of a subject: "" when nothing was. Cut at OUTBOX_FACT_BYTES. */
enum { OUTBOX_FACT_BYTES = 400 };
int outbox_fact(struct outbox *o, const char *subject, char ret[static OUTBOX_FACT_BYTES],
                struct err *err);
int outbox_put_fact(struct outbox *o, const char *subject, const char *state, struct err *err);
/* The version of a node that was told last; -1: none yet. */
int outbox_node(struct outbox *o, uint32_t id, int64_t *ret_version, struct err *err);
/* When the next letter or watch is due; INT64_MAX: none. */
int outbox_next(struct outbox *o, int64_t *ret_us, struct err *err);

struct outbox_figures {
	int64_t waiting, sent, given_up, cursor;
	char error[200]; /* of the last failed try that still waits; "" */
};
int outbox_figures(struct outbox *o, struct outbox_figures *ret, struct err *err);
/* Forget what was sent or given up before. */
int outbox_forget(struct outbox *o, int64_t before_us, struct err *err);

#endif
