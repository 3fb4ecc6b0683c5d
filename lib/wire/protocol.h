/* protocol.h — the versions of the protocol that this program speaks: its release's own and the
 * one of the release before. A change of the protocol is a new version; what an older peer would
 * not understand is sent only where the newer one was agreed on. */
#ifndef WIRE_PROTOCOL_H
#define WIRE_PROTOCOL_H

#include <stdint.h>

/* From this version on a log is one stream of records, number 3 of LOG_CHUNK and LOG_READ. */
#define PROTOCOL_RECORDS 2

extern const uint32_t protocol_min, protocol_max;

/* The newest that both speak; 0: there is none. Pure. */
uint32_t protocol_agree(uint32_t their_min, uint32_t their_max);

#endif
