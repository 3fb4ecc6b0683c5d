/* ics.h — an iCalendar file (RFC 5545) as a calendar document of ours.
 *
 * Every event of whole days is a holiday, or a working day when its summary says so. What a
 * rule repeats is written out, year by year. Needs libical; nothing else of Sirdar does.
 */
#ifndef CLI_ICS_H
#define CLI_ICS_H

struct buf;
struct err;

struct ics_options {
	const char *name;          /* of the calendar */
	const char *weekends;      /* "saturday, sunday" */
	const char *workday_mark;  /* events with this in their summary are working days; NULL */
	int first_year, last_year; /* only what lies in them; 0: everything */
};

/* Append the document as YAML.
 *
 *   errors  E_INVALID naming the event: no calendar, an event with a time of day, a rule
 *           without an end when no years are given, RDATE, RECURRENCE-ID
 */
int ics_read(const char *text, const struct ics_options *o, struct buf *out, struct err *err);

#endif
