#include "util/pwhash.h"

#include <stdint.h>
#include <stdio.h>

bool pwhash_ok(const char *text)
{
	unsigned version, kib, passes, lanes;
	int at = 0;

	/* NOLINTNEXTLINE(cert-err34-c): a number that does not fit is beyond the bounds, too */
	if (sscanf(text, "$argon2id$v=%3u$m=%9u,t=%9u,p=%3u$%n", &version, &kib, &passes, &lanes,
	           &at) != 4 ||
	    at == 0 || text[at] == '\0')
		return false;
	return version == 19 && lanes == 1 && kib <= PWHASH_KIB && passes >= 1 &&
	       (uint64_t)kib * passes <= (uint64_t)PWHASH_KIB * PWHASH_PASSES;
}
