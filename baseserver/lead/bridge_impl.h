/* bridge_impl.h — a bridge from the inside, for bridge*.c.
 */
#ifndef BASESERVER_BRIDGE_IMPL_H
#define BASESERVER_BRIDGE_IMPL_H

#include "baseserver/lead/bridge.h"

enum { CLUSTER_BYTES = 24 };
#define BRIDGE_MARK "."  /* no job is called so */
#define NOT_KNOWN   (-1) /* of a key's revision */

enum order_kind { ORDER_PUT, ORDER_GONE, ORDER_KILL };

/* A command on its way, or waiting for its turn. A job has one at a time. */
struct order {
	struct order *next;
	enum order_kind kind;
	char *name, *args, *request_id;
	char *is;       /* PUT: what its key says */
	int64_t due_us; /* of one that is asked again */
	int64_t mod_revision;
	int tries; /* of one that was taken and failed: each has a request id of its own */
};

/* A job (a pipeline) of the store, of etcd, or of both. Which of two changes is in force:
 * baseserver/lead rule 9. PREFIX/MARKS/NAME is its mark: the revision of its key that was
 * taken, and the version that it is here. It says later that a key which is gone was there,
 * that one which is there was known, and that a version was saved here since. */
struct job {
	char *name, *problem; /* problem NULL: none */
	char *lost;           /* what people are told of a change of ours; NULL: nothing */
	int64_t lost_base;    /* to what it was lost */
	/* Its key's value, its document, who saved that, as the store has them; is NULL: no job */
	char *is, *text, *actor;
	char *id;                 /* a pipeline's: one of all; NULL: it has none */
	uint32_t version, agreed; /* of the document: in the store; the last that etcd has, too */
	int64_t base; /* the revision of its key that is here, or may be written over; 0: no key */
	int64_t seen; /* nothing older of the key is new */
	int64_t mark; /* 0: none */
	uint32_t mark_version; /* 0: it does not say */
	char *news;            /* the key as it was last seen, to be judged; NULL: it is gone */
	size_t news_len;
	int64_t news_revision;
	bool has_news, is_listed;
	bool was_there; /* it is retired */
	bool is_dirty;  /* what is here is to be written over `base` ... */
	bool put_mark;  /* ... and so is its mark */
};

struct bridge {
	const struct bridge_form *form;
	struct bridge_world world;
	struct commander *commander;
	struct actor *me;
	char *project;
	char *library; /* the document of ECTS's tasks; NULL: none */
	char cluster[CLUSTER_BYTES];
	struct job *jobs;
	size_t n;
	struct order *first, **last, *done; /* done: kills whose keys are to go */
	struct order *later;                /* refused by what goes on now: asked again then */
	bool is_asked;                      /* the first is with the commander */
	int64_t again_us;                   /* not before */
	uint64_t changes;
	bool owes;       /* some job has something to write */
	bool is_listing; /* all keys come, each as it is: not as it changed */
	bool is_listed;  /* all keys were seen once */
	bool known;      /* this etcd has seen us before: the mark of all, BRIDGE_MARK, is there */
};

/* PREFIX/WORD/NAME, the caller's. */
char *bridge__key(const struct bridge *b, const char *word, const char *name);
void bridge__order_free(struct order *o);
/* Is one of its orders on its way? */
bool bridge__is_ordered(const struct bridge *b, const char *name);
/* Both sides are equal: its key at `base` (0: there is none) is what the store has. */
void bridge__agree(struct bridge *b, struct job *j, int64_t base);
/* Its key as it is there now, which is judged; value NULL: it is gone. */
void bridge__take_news(struct bridge *b, struct job *j, const char *value, size_t n,
                       int64_t revision);

#endif
