#include "wire/protocol.h"

/* The tests of upgrades build later releases than this one: tests/upgrade/module.mk. */
#ifndef SIRDAR_NEXT
#define SIRDAR_NEXT 0
#endif
#define NEWEST (2 + SIRDAR_NEXT)

const uint32_t protocol_max = NEWEST;
const uint32_t protocol_min = NEWEST > 1 ? NEWEST - 1 : NEWEST;

uint32_t protocol_agree(uint32_t their_min, uint32_t their_max)
{
	uint32_t newest = their_max < protocol_max ? their_max : protocol_max;

	return newest >= protocol_min && newest >= their_min ? newest : 0;
}
