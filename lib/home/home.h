/* home.h — a place away from this machine that keeps closed segments of logs: things by name.
 *
 * One interface; each kind of place is a row of homes.def and a file. A thing is written once,
 * whole, and never changed. Names are those of fs_name_ok(). What is here has no thread: a home is
 * used by one thread at a time, which waits for the network, one question at a time.
 */
#ifndef HOME_HOME_H
#define HOME_HOME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct fetch_ops;
struct home;

enum { HOME_MORE = 1, HOME_NAME_BYTES = 64, HOME_AFTER_BYTES = 1100 };

struct home_settings {
	const char *url;     /* KIND:ADDRESS; borrowed for home_open() */
	const char *ca_file; /* "": the machine's; borrowed as long as the home, like the rest */
	int64_t timeout_ms;  /* of one question */
	const struct fetch_ops *fetch;
	const atomic_bool *stop; /* true: questions end soon, with E_CLOSED */
};

/* Is that the address of a home? Nothing is asked. E_INVALID. Thread: any. */
int home_check(const char *url, struct err *err);
/*   owns    *ret is the caller's until home_close()
 *   errors  E_INVALID, E_NOMEM */
int home_open(const struct home_settings *set, struct home **ret, struct err *err);
void home_close(struct home *h); /* wiped; NULL is fine */

/* What the home lets us in with; copied, until it is wiped. E_INVALID: it has another form. */
int home_secret_set(struct home *h, const char *text, struct err *err);
void home_secret_wipe(struct home *h);

/* Of all below:
 *   errors  E_IO, E_TIMEOUT, E_AUTH its certificate, E_FORBIDDEN it does not let us, E_INVALID it
 *           does not understand, E_CLOSED */

/* A thing on its way there. Zeroed but for the first three. */
struct home_put {
	const char *name; /* borrowed */
	int fd;           /* the file; the caller's */
	uint64_t bytes;
	void *state; /* the home's */
};
/* One question of it. HOME_MORE: there are more; 0: it is there, and was verified. A thing of the
 * same name is replaced. errors also E_CORRUPT: what is there is not what was sent */
int home_put_step(struct home *h, struct home_put *put, struct err *err);
/* The end of it, done or not: what was begun there is taken back, where the home answers. */
void home_put_done(struct home *h, struct home_put *put);

/* Exactly n bytes of a thing, appended. E_NOT_FOUND; E_CORRUPT: it is shorter. */
int home_get(struct home *h, const char *name, uint64_t from, size_t n, struct buf *out,
             struct err *err);
/* What is not there is fine. */
int home_remove(struct home *h, const char *name, struct err *err);

struct home_thing {
	char name[HOME_NAME_BYTES];
	uint64_t bytes;
	int64_t at_us; /* when it was written, by the home's clock; 0: not known */
};
typedef void home_each_fn(void *ctx, const struct home_thing *t);
/* A page of its things, by name: `after` is "" at first, and says then where the next page begins;
 * what others have put there is passed over. *ret_more: there is another. */
int home_list(struct home *h, char after[HOME_AFTER_BYTES], home_each_fn *each, void *ctx,
              bool *ret_more, struct err *err);
/* What was begun before that time, and nobody goes on with, is taken back. *ret_n: how many.
 * errors also E_UNSUPPORTED: this home does not say what was begun */
int home_sweep(struct home *h, int64_t before_us, size_t *ret_n, struct err *err);

/* --- for the kinds --- */

struct home_ops {
	const char *kind;
	int (*check)(const char *address, struct err *err);
	int (*open)(const struct home_settings *set, const char *address, void **ret,
	            struct err *err);
	void (*close)(void *self);
	int (*secret_set)(void *self, const char *text, struct err *err);
	void (*secret_wipe)(void *self);
	int (*put_step)(void *self, struct home_put *put, struct err *err);
	void (*put_done)(void *self, struct home_put *put);
	int (*get)(void *self, const char *name, uint64_t from, size_t n, struct buf *out,
	           struct err *err);
	int (*remove)(void *self, const char *name, struct err *err);
	int (*list)(void *self, char after[HOME_AFTER_BYTES], home_each_fn *each, void *ctx,
	            bool *ret_more, struct err *err);
	int (*sweep)(void *self, int64_t before_us, size_t *ret_n, struct err *err);
};

#endif
