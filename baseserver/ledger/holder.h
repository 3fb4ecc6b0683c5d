/* holder.h — whose a lease is.
 *
 * A peer can guess tokens, read the number that a machine drew, and take over a name. So a lease
 * belongs to one broker on one machine, and only both together prove it: the key of another name
 * proves nothing, and neither does the number of another machine. A machine that gets another name
 * leaves its jobs to the old one.
 */
#ifndef BASESERVER_HOLDER_H
#define BASESERVER_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* Of a session that was greeted; the registrar's word (registrar_machine.c). */
struct holder {
	uint64_t machine; /* which one it is, the same after it was restarted; 0: tests */
	uint64_t since;   /* tokens of its name below this were granted to a former machine */
	uint32_t broker;
};

/* machine 0: of a former server's time, when nobody kept which one it was. */
static inline bool holder_has(const struct holder *h, uint64_t machine, uint32_t broker,
                              uint64_t token)
{
	if (broker != h->broker)
		return false;
	return machine ? machine == h->machine : token >= h->since;
}

/* Speaking of it is no mistake: it is another broker's, of another machine. A machine that was
 * renamed speaks of its former name's; and of a former server's time no machine is known. */
static inline bool holder_forges(const struct holder *h, uint64_t machine, uint32_t broker)
{
	return broker != h->broker && machine && machine != h->machine;
}

#endif
