/* The table of homes: what an address begins with says which kind is meant. */
#include "home/home.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

struct home {
	const struct home_ops *ops;
	void *self;
};

#define HOME(kind) extern const struct home_ops home_##kind;
#include "home/homes.def"
#undef HOME

static const struct home_ops *const homes[] = {
#define HOME(kind) &home_##kind,
#include "home/homes.def"
#undef HOME
};

static const char kinds[] =
#define HOME(kind) #kind ": or "
#include "home/homes.def"
#undef HOME
	;

/* The kind of an address; *ret_address is what follows. */
static const struct home_ops *home_kind(const char *url, const char **ret_address)
{
	for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
		size_t n = strlen(homes[i]->kind);
		if (strncmp(url, homes[i]->kind, n) == 0 && url[n] == ':') {
			*ret_address = url + n + 1;
			return homes[i];
		}
	}
	return NULL;
}

int home_check(const char *url, struct err *err)
{
	const char *address = NULL;
	const struct home_ops *ops = home_kind(url, &address);

	if (!ops)
		return err_set(err, E_INVALID, "'%.100s' begins with no kind of home: want %.*s",
		               url, (int)(sizeof kinds - sizeof " or "), kinds);
	return ops->check(address, err);
}

int home_open(const struct home_settings *set, struct home **ret, struct err *err)
{
	const char *address = NULL;
	const struct home_ops *ops = home_kind(set->url, &address);
	void *self = NULL;
	int r = home_check(set->url, err);

	if (r == 0)
		r = ops->open(set, address, &self, err);
	if (r < 0)
		return r;
	*ret = mem_new(sizeof **ret);
	(*ret)->ops = ops;
	(*ret)->self = self;
	return 0;
}

void home_close(struct home *h)
{
	if (!h)
		return;
	h->ops->close(h->self);
	free(h);
}

int home_secret_set(struct home *h, const char *text, struct err *err)
{
	return h->ops->secret_set(h->self, text, err);
}

void home_secret_wipe(struct home *h)
{
	h->ops->secret_wipe(h->self);
}

int home_put_step(struct home *h, struct home_put *put, struct err *err)
{
	CHECK(put->name && put->fd >= 0);
	return h->ops->put_step(h->self, put, err);
}

void home_put_done(struct home *h, struct home_put *put)
{
	if (put->state)
		h->ops->put_done(h->self, put);
	put->state = NULL;
}

int home_get(struct home *h, const char *name, uint64_t from, size_t n, struct buf *out,
             struct err *err)
{
	CHECK(n > 0);
	return h->ops->get(h->self, name, from, n, out, err);
}

int home_remove(struct home *h, const char *name, struct err *err)
{
	return h->ops->remove(h->self, name, err);
}

int home_list(struct home *h, char after[HOME_AFTER_BYTES], home_each_fn *each, void *ctx,
              bool *ret_more, struct err *err)
{
	return h->ops->list(h->self, after, each, ctx, ret_more, err);
}

int home_sweep(struct home *h, int64_t before_us, size_t *ret_n, struct err *err)
{
	return h->ops->sweep(h->self, before_us, ret_n, err);
}
