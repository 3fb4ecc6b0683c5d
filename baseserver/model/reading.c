#include "baseserver/model/reading.h"

#include <string.h>

bool reading_is_bound(const struct docs *settings)
{
	const struct doc *d = docs_find(settings, READING_NAME);

	/* commander_reading.c writes two texts. */
	return d && d->body && strstr(d->body, "\"project\"") != NULL;
}
