/* calendars.h — the business calendars that are stored, by name.
 *
 * Plain data of one actor. A number belongs to a name for good; the newest version counts.
 */
#ifndef BASESERVER_CALENDARS_H
#define BASESERVER_CALENDARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calendar;
struct err;
struct nearest;
struct store_doc;

struct known_calendar {
	char *name, *body;
	size_t len;
	uint32_t id, version;
	bool retired;
	struct calendar *days; /* counted */
};

struct calendars {
	struct known_calendar *items;
	size_t n;
	uint32_t last_id;
};

void calendars_init(struct calendars *c);
void calendars_done(struct calendars *c);
/* As stored. Errors: E_CORRUPT a document that does not read back. */
int calendars_put(struct calendars *c, const struct store_doc *d, struct err *err);
/* NULL: never heard of. Retired ones are found. Borrowed until the next put. */
const struct known_calendar *calendars_find(const struct calendars *c, const char *name);
/* The dates of one in use; NULL: none of that name. */
const struct calendar *calendars_days(const struct calendars *c, const char *name);
void calendars_nearest(const struct calendars *c, struct nearest *near);

#endif
