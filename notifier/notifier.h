/* notifier.h — from events in the store to messages that were taken.
 *
 * Three steps, each durable before the next begins: events are read from the store and what
 * they ask for enters the outbox, with the place up to which was read; letters that are due are
 * grouped by recipient and sent; how that went is written down. Whatever ends the process,
 * each step goes on where it was. Told at least once; twice only when a crash comes between an
 * answer and its record.
 */
#ifndef NOTIFIER_NOTIFIER_H
#define NOTIFIER_NOTIFIER_H

#include <stdatomic.h>
#include <stdint.h>

#include "util/param.h"

struct channels;
struct err;
struct outbox;
struct reader;
struct rules;
struct sender;
struct wake;

struct notifier {
	struct param_notifier param;
	struct channels *channels;
	struct outbox *outbox;
	struct reader *reader;
	struct rules *rules;
	struct sender *sender;
	_Atomic bool has_news;
	_Atomic int64_t cursor; /* wake.c looks too */
	int64_t forgot_us;
	int64_t began_us;        /* wall */
	int64_t nodes_us;        /* when nodes were last looked at */
	const struct wake *wake; /* NULL: not connected at all */
};

/* errors  of the channels file, the store, the state directory */
int notifier_open(struct notifier *n, struct err *err);
void notifier_close(struct notifier *n);
int notifier_reload(struct notifier *n, struct err *err); /* the channels file */
/* Of wake.h. Thread: any. */
void notifier_news(void *notifier);
uint64_t notifier_place(void *notifier);

/* One round: read, send, wait until something happens or `fd` can be read.
 *
 *   errors  of the outbox: the process must end. A store that cannot be read is tried again */
int notifier_round(struct notifier *n, int fd, struct err *err);

/* news.c: what happened since the cursor, into the outbox. */
int news_take(struct notifier *n, struct err *err);
int news_late(struct notifier *n, int64_t now_us, struct err *err);
/* nodes.c: what became of nodes in etcd's registry, into the outbox. */
int news_nodes(struct notifier *n, struct err *err);
/* post.c: letters that are due, to their recipients. */
int post_due(struct notifier *n, int64_t now_us, struct err *err);
int post_test(struct notifier *n, const char *recipient, struct err *err); /* at once */

#endif
