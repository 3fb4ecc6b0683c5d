/* scrubber.h — looks through the whole store while the server leads, beside its writer, once a day.
 *
 * An actor on a thread of its own with a connection of its own, which only reads. What a start
 * looks at is bounded by time; this finds the rest. A store that is damaged ends the process: first
 * nothing leaves any more, then health tells it for a while, so that people are.
 */
#ifndef BASESERVER_SCRUBBER_H
#define BASESERVER_SCRUBBER_H

#include <stdbool.h>
#include <stdint.h>

struct ledger;
struct scrubber;
struct site;
struct thread;

struct scrubber_figures {
	uint64_t done, of, partly; /* tables; of is 0: not begun */
	bool is_over;              /* the store was looked through and is whole */
	bool is_damaged;
};

struct scrubber *scrubber_new(struct thread *th, const struct site *site, struct ledger *l);
void scrubber_free(struct scrubber *s); /* its thread is stopped; NULL is fine */
/* Thread: any. */
void scrubber_figures(const struct scrubber *s, struct scrubber_figures *ret);

#endif
