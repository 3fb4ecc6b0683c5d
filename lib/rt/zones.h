/* zones.h — the time zones of this machine, by name, read once.
 *
 * Zones are kept for the life of the process: what a plan borrows stays. New tzdata is
 * taken up at the next start.
 */
#ifndef RT_ZONES_H
#define RT_ZONES_H

struct err;
struct tz;

/* The zone of that IANA name. "UTC" needs no file.
 *
 *   owns    *ret_tz is borrowed, for the life of the process
 *   errors  E_INVALID unknown or unsafe name (the nearest known one is named), not a zone file
 *   thread  any; reads a file the first time a zone is asked for
 */
int zones_get(const char *name, const struct tz **ret_tz, struct err *err);

#endif
