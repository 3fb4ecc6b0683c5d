/* post.h — what becomes of a delivery: `done` of the sender, for letters and for a test. */
#ifndef NOTIFIER_POST_H
#define NOTIFIER_POST_H

void post_done(void *ctx, void *delivery, const char *error);
void post_drop(void *delivery); /* it is under way in the outbox: the next process sends it again */
void post_probed(void *ctx, void *delivery, const char *error);

#endif
