/* What clients ask about pushes: the key to subscribe with, a subscription, a test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/channels.h"
#include "notifier/devices.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/post.h"
#include "notifier/push.h"
#include "notifier/webpush.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

static int print_device(struct notifier *n, const struct device *d, struct buf *out,
                        struct err *err)
{
	char error[200], *name = push_try_name(d->name);
	int64_t at_us = 0;
	int r = outbox_try(n->outbox, name, &at_us, error, err);

	free(name);
	put_open(out, NULL, '{');
	put_text(out, "device", d->name);
	asked_put_try(out, at_us, error);
	put_close(out, '}');
	return r;
}

static int push_key(struct notifier *n, struct ask *a, const struct jval *args, struct err *err)
{
	const char *owner = jv_str(args, "owner");
	const struct device *d;
	struct buf out;
	int r = devices_refresh(n->devices, err);

	buf_init(&out);
	put_open(&out, NULL, '{');
	put_text(&out, "key", n->pair ? webpush_pair_public(n->pair) : NULL);
	put_open(&out, "devices", '[');
	for (size_t i = 0; r == 0 && (d = devices_at(n->devices, i)); i++)
		if (strcmp(d->owner, owner) == 0)
			r = print_device(n, d, &out, err);
	put_close(&out, ']');
	put_close(&out, '}');
	if (r == 0)
		asked_reply(n, a, 0, "", &out);
	buf_done(&out);
	return r;
}

static int asked_push_check(struct notifier *n, struct ask *a, const struct channel *c,
                            const struct jval *args, struct err *err)
{
	const struct webpush_to to = { .endpoint = jv_str(args, "endpoint"),
		                       .p256dh = jv_str(args, "p256dh"),
		                       .auth = jv_str(args, "auth") };
	int r = push_check(c, &to, err);

	if (r == 0)
		asked_reply(n, a, 0, "", NULL);
	return r;
}

static int asked_push_test(struct notifier *n, struct ask *a, const struct channel *c,
                           const struct jval *args, struct err *err)
{
	const char *name = jv_str(args, "device");
	int r = devices_refresh(n->devices, err);
	const struct device *d = r == 0 ? devices_find(n->devices, name) : NULL;

	if (r < 0)
		return r;
	if (!d)
		return err_set(err, E_NOT_FOUND, "there is no device of this name");
	snprintf(a->channel, sizeof a->channel, "%s", c->name);
	log_info("push.test", "device=%s actor=%s", d->name, jv_str(args, "actor"));
	post_ask_device(n, a, c, d);
	return 0;
}

int asked_push(struct notifier *n, struct ask *a, const struct jval *args, struct err *err)
{
	const struct channel *c = channels_of_type(n->channels, CH_PUSH);

	if (strcmp(a->kind, "push") == 0)
		return push_key(n, a, args, err);
	if (!c || !n->pair)
		return err_set(err, E_NOT_FOUND,
		               "nothing is pushed here: the channels file has no channel of type "
		               "push");
	return strcmp(a->kind, "push-check") == 0 ? asked_push_check(n, a, c, args, err)
	                                          : asked_push_test(n, a, c, args, err);
}
