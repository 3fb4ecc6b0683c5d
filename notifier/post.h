/* post.h — what becomes of a delivery: `done` of the sender, for letters and for a test. */
#ifndef NOTIFIER_POST_H
#define NOTIFIER_POST_H

void post_done(void *ctx, void *delivery, const char *error, int status);
void post_drop(void *delivery); /* it is under way in the outbox: the next process sends it again */
/* A test through this channel, that a client asked for: asked_tested() says how it went. Owns a. */
struct ask;
struct channel;
struct notifier;
void post_ask(struct notifier *n, struct ask *a, const struct channel *c, const char *who);
/* The same to one device. */
struct device;
void post_ask_device(struct notifier *n, struct ask *a, const struct channel *c,
                     const struct device *d);
void post_probed(void *ctx, void *delivery, const char *error, int status);

#endif
