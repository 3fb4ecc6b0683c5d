/* holder.h — whose a lease is.
 *
 * Tokens can be guessed, and a name can pass from one machine to another. So a lease is of the
 * machine that it was granted to, and only that one's word about it counts: who has the key of a
 * name, or has taken the name over, says nothing of what others hold.
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
	return machine ? machine == h->machine : broker == h->broker && token >= h->since;
}

#endif
