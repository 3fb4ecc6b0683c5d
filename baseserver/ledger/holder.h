/* holder.h — whose a lease is.
 *
 * Tokens can be guessed, the number that a machine drew can be read there, and a name can pass
 * from one machine to another. So a lease is of the broker and of the machine that it was granted
 * to, and only their word together counts: who has the key of another name, or has taken the name
 * over, says nothing of what others hold. A machine that gets another name leaves its jobs to the
 * old one.
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

#endif
