/* sender.h — deliveries under way: transfers of libcurl, scripts of the administrator.
 *
 * One thread, which waits in sender_wait(). A delivery ends by `done` exactly once; it may not
 * start another from there.
 */
#ifndef NOTIFIER_SENDER_H
#define NOTIFIER_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include "notifier/payload.h"

struct err;
struct sender;

struct sender_ops {
	/* error: NULL when it was taken; else one line for people, without secrets. status: of
	 * the HTTP answer; 0: there was none */
	void (*done)(void *ctx, void *delivery, const char *error, int status);
	void (*drop)(
		void *delivery); /* under way when the sender was freed; NULL: nothing to free */
};

/* Of channels of kind file: below which directory, and how large one gets. Borrowed. */
struct sender_files {
	const char *state_dir;
	int64_t bytes_max;
};

/* How the words of an error begin, where people want to tell one from another. */
#define SENDER_REFUSED   "refused: "
#define SENDER_TIMED_OUT "timed out "
#define SENDER_NO_WAY    "no connection: "

/* send_ms: how long a delivery may take. E_IO */
int sender_new(int64_t send_ms, const struct sender_ops *ops, void *ctx, struct sender **ret_sender,
               struct err *err);
void sender_set_files(struct sender *s, const struct sender_files *files);
/* Deliveries under way are dropped. NULL is fine. */
void sender_free(struct sender *s);

/* Begin; nothing of `ask` is needed afterwards. What is wrong at once is told through `done`
 * by the next sender_wait(). */
void sender_start(struct sender *s, const struct payload_ask *ask, void *delivery);
size_t sender_active(const struct sender *s);

/* Work until something happens, `fd` can be read, or wait_ms are over. */
int sender_wait(struct sender *s, int fd, int64_t wait_ms, struct err *err);
/* Have sender_wait() return. Thread: any. */
void sender_wake(struct sender *s);

#endif
