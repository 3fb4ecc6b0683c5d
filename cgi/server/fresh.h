/* fresh.h — answers about instances, kept while nothing they show has changed.
 *
 * An answer is of one snapshot, and has its number. It holds while the stream of events, which is
 * followed from before that number on, has told nothing newer: of its instance, or, of a list, of
 * any. Answers of commands count as told. Without the stream nothing is kept; and nothing longer
 * than a second, for what changes without an event (retention). So an answer may be as old as an
 * event takes to come here, no older. Threads: any; has its own lock.
 */
#ifndef CGI_FRESH_H
#define CGI_FRESH_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/instance.h"

struct call;
struct fresh;

struct fresh *fresh_new(void);
void fresh_free(struct fresh *f); /* NULL is fine */

/* Answer the call with what is kept for its target. False: there is nothing. Thread: HTTP. */
bool fresh_reply(struct call *c);
/* Keep c->out, which c->fresh says is worth it, and answer the call with it. Thread: HTTP. */
int fresh_keep(struct call *c);

/* What net tells. `fresh_want`: since when the stream is wanted, 0 not at all. */
uint64_t fresh_want(struct fresh *f, int64_t now_us);
void fresh_live(struct fresh *f, uint64_t from);
bool fresh_is_live(struct fresh *f);
void fresh_event(struct fresh *f, uint64_t number, struct inst_key key);
void fresh_told(struct fresh *f, uint64_t number); /* a command's answer */
void fresh_lost(struct fresh *f);                  /* a gap, or no stream any more */

#endif
