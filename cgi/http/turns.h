/* turns.h — whose read of the store is next. A person's calls wait in the order they came, and
 * people take turns: who has cost least comes first. Knows no thread and no clock: what a read cost
 * is told. Thread: whoever holds the lock of what it belongs to. */
#ifndef CGI_TURNS_H
#define CGI_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who has cost less than this may have the last free reader. */
#define TURNS_LIGHT_US 250000

/* Embed it in what waits. */
struct turn {
	struct turn *next; /* of the same person */
	const void *who;   /* any pointer that is the person's alone; NULL: nobody's */
};

struct turns;

struct turns *turns_new(size_t readers, size_t waiting_max);
void turns_free(struct turns *t); /* nothing waits or is read any more; NULL is fine */

/* It waits; what the person has cost so far is `spent_us`. E_BUSY: waiting_max wait. */
int turns_put(struct turns *t, struct turn *it, const void *who, int64_t spent_us);
/* What turns_take() gave, and is to go on, waits once more, however many do. */
void turns_again(struct turns *t, struct turn *it, const void *who, int64_t spent_us);
/* May a reader that is free begin one now? */
bool turns_has_next(const struct turns *t);
/* A free reader begins the next one, until turns_end(); NULL: none may begin. */
struct turn *turns_take(struct turns *t);
/* A read that turns_take() gave is over; its person has cost `spent_us` now. */
void turns_end(struct turns *t, const void *who, int64_t spent_us);
/* Whatever waits, without turns and readers: at the end. NULL: nothing does. */
struct turn *turns_drain(struct turns *t);

#endif
