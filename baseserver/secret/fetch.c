/* A source may block; its thread does nothing else, and ends with the one value. */
#include "baseserver/secret/fetch.h"

#include <stdlib.h>

#include "baseserver/secret/source.h"
#include "util/alloc.h"
#include "util/clock.h"

/* It stays in the list of whoever began it. */
static void fetch_undelivered(struct letter *l)
{
	(void)l;
}

static void *fetch_body(void *arg)
{
	struct fetch *f = arg;
	const struct secret_ref ref = { f->from, f->path, f->key };

	f->r = f->source->fetch(f->self, &ref, &f->value, &f->lease_us, &f->err);
	actor_post_credit(f->reply_to, &f->letter);
	return NULL;
}

int fetch_begin(const struct source *source, void *self, const struct secret_ref *ref,
                const struct fetch_reply *reply, struct fetch **ret, struct err *err)
{
	struct fetch *f = mem_new(sizeof *f);

	f->letter = (struct letter){ .deliver = reply->fetched, .discard = fetch_undelivered };
	f->source = source;
	f->self = self;
	f->reply_to = reply->to;
	f->from = mem_str(ref->from);
	f->path = mem_str(ref->path);
	f->key = mem_str(ref->key);
	f->began_us = clock_steady_us();
	buf_init(&f->value);
	if (pthread_create(&f->thread, NULL, fetch_body, f) != 0) {
		f->is_joined = true;
		fetch_free(f);
		return err_set(err, E_LIMIT, "the server has no thread to ask for it");
	}
	*ret = f;
	return 0;
}

void fetch_join(struct fetch *f)
{
	if (!f->is_joined)
		pthread_join(f->thread, NULL);
	f->is_joined = true;
}

void fetch_free(struct fetch *f)
{
	fetch_join(f);
	source_wipe(&f->value);
	buf_done(&f->value);
	free(f->from);
	free(f->path);
	free(f->key);
	free(f);
}
