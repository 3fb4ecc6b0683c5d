/* budget.h — what one person, or one app, may cost the others. A budget bounds requests in a time,
 * requests that wait for their answer at once, time of reading the store, and open streams. Thread:
 * any. */
#ifndef CGI_BUDGET_H
#define CGI_BUDGET_H

#include <stdint.h>

struct budget;
struct call;

struct budget *budget_new(void);
void budget_free(struct budget *b); /* NULL is fine */

/* Who asks is known: book the request, and that it is being answered, until budget_give(). A call
 * is booked once. E_LIMIT */
int budget_take(struct call *c);
/* It goes on as a stream: booked as that instead. E_LIMIT */
int budget_stream(struct call *c);
/* May it read the store? E_LIMIT: its person, or app, has read for too long in this time. A call
 * that nobody is booked for may. *ret_spent_us: what they have read for so far. */
int budget_may_read(struct call *c, int64_t *ret_spent_us);
/* Book what a read took, us; returns what they have read for now. */
int64_t budget_read(struct call *c, int64_t us);
/* Logs are looked through for it: may it begin? Book a piece: bytes, and how long it took from when
 * it was asked for, us. E_LIMIT: its person, or app, has no more of either in this minute. */
int budget_may_search(struct call *c);
int budget_search(struct call *c, int64_t bytes, int64_t us);
/* Its body is large: one person has no more than half of applies_max under way. E_LIMIT */
int budget_large(struct call *c);
/* The call is over. Nothing, if nothing is booked. */
void budget_give(struct call *c);

#endif
