/* forecaster.h — plays forecasts on a thread of its own, and watches over promises (baselines). */
#ifndef BASESERVER_FORECASTER_H
#define BASESERVER_FORECASTER_H

#include "baseserver/forecast/forecast.h"
#include "rt/actor.h"

struct forecaster;
struct front;
struct thread;

/* A forecast that travels. The letter comes back through `answered`; after it the receiver owns
 * it: forecast_letter_free(). */
struct forecast_letter {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	struct forecast f;
	void *ctx;                 /* the sender's */
	const struct front *front; /* who else is asked; NULL: nobody */
	int code;
	char text[200];
};
struct forecast_letter *forecast_letter_new(int64_t now_us);
void forecast_letter_free(struct forecast_letter *l); /* NULL is fine */

/*   store_url  its statistics are read on a connection of its own; what cannot be read there
 *              counts as never measured
 *   every_us   promises are looked at so often; 0: never */
struct forecaster *forecaster_new(struct thread *th, const char *store_url, int64_t every_us);
void forecaster_free(struct forecaster *fc); /* its thread is stopped; NULL is fine */
/* Who knows what is promised (query/query.h), and is told what comes of it. Thread of both: any. */
struct forecast_source {
	void *ctx;
	/* Fill l; it comes back through `answered`. On 0 the source owns it until then. */
	int (*snapshot)(void *ctx, struct forecast_letter *l);
	/* What is said of this promise is different from now on. Owns note. */
	void (*tell)(void *ctx, struct inst_key key, enum promise_state state, char *note);
};
/* Copied. Before any thread runs. */
void forecaster_set_source(struct forecaster *fc, const struct forecast_source *source);

/* Play it: on 0 the letter is the forecaster's until it is answered. Thread: any. */
int forecaster_play(struct forecaster *fc, struct forecast_letter *l);

#endif
