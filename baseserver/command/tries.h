/* tries.h — wrong passwords, and how long they make the next ones wait: of a person in the network
 * that they came from, never of a person everywhere (any stranger could keep him out). One actor's.
 */
#ifndef BASESERVER_TRIES_H
#define BASESERVER_TRIES_H

#include <stdbool.h>
#include <stdint.h>

struct tries;

struct tries *tries_new(int64_t free_tries); /* so many are not slowed down */
void tries_free(struct tries *t);            /* NULL is fine */
/* 0: booked, before it is judged, until tries_over(). Else so many us it has to wait. */
int64_t tries_take(struct tries *t, const char *user, const char *network, int64_t now_us);
void tries_back(struct tries *t, const char *user, const char *network,
                int64_t now_us); /* it was not judged */
void tries_over(struct tries *t, const char *user, const char *network, bool is_right,
                int64_t now_us);

#endif
