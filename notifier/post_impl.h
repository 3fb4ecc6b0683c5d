/* post_impl.h — one message under way, shared by post*.c only. */
#ifndef NOTIFIER_POST_IMPL_H
#define NOTIFIER_POST_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "notifier/message.h"

struct ask;
struct jval;
struct device;
struct notifier;
struct payload_ask;

struct item {
	int64_t id, made_us, of; /* of: the alert's id */
	uint32_t tries;
	const struct jval *json; /* owns the alert's texts */
	struct alert alert;
};

/* One message: letters of one recipient. A push goes in parts, one a device: each is a parcel that
 * names the whole, which ends with the last of them. */
struct parcel {
	struct notifier *notifier;
	char *recipient;
	char channel[64]; /* by which it went; "": none was found */
	struct ask *ask;  /* a test that a client asked for, or NULL */
	struct item *items;
	size_t n, cap;

	size_t pending;    /* parts that have not ended */
	char error[300];   /* of the last part that failed */
	struct parcel *of; /* the whole; NULL: this is it */
	char *device;      /* of a part */
	uint32_t version;  /* of that device */
	int64_t *letters;  /* of a part: n_letters that it brings */
	size_t n_letters;
};

/* post_parcel.c */
void parcel__free(struct parcel *p);
/* It was taken (NULL), or not: written down, told, freed. */
void parcel__end(struct parcel *p, const char *error);

/* post_push.c: begin all parts of it; owns p, and may end it at once. */
void push__parcel(struct notifier *n, struct parcel *p, struct payload_ask *ask, const char *who);
/* The same of a test to one device. */
void push__one(struct notifier *n, struct parcel *p, struct payload_ask *ask,
               const struct device *d);
void push__part_end(struct parcel *part, const char *error, int status);

#endif
