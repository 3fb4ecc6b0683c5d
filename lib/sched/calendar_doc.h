/* calendar_doc.h — a business calendar as people write it.
 *
 *   calendar: cn-workdays
 *   description: State Council, 2026
 *   weekends: [saturday, sunday]        or  working: [monday, ...]
 *   years: 2020..2035                   for dates written without a year
 *   holidays: [2026-01-01, 2026-10-01..2026-10-07, 12-25, {on: 05-01..05-03, name: Labour}]
 *   workdays: [2026-02-14]              working although weekend
 *
 * or, instead of weekdays, `dates: [...]`: these dates and no others. Each list may be a map
 * of years to lists of dates without one. Immutable once read; thread: any.
 */
#ifndef SCHED_CALENDAR_DOC_H
#define SCHED_CALENDAR_DOC_H

#include <stdbool.h>

struct buf;
struct calendar;
struct calendar_doc;
struct diags;
struct yaml_doc;
struct yaml_node;

enum { CALENDAR_WEEK = 7, CALENDAR_SHORT = 3 /* letters */, CALENDAR_TEXT_MAX = 10000 };
/* Monday first; their first letters name them too. */
extern const char *const calendar_weekdays[CALENDAR_WEEK];

/* Is it meant as a calendar? (A workflow may name one under the same key.) */
bool calendar_doc_is(const struct yaml_node *root);

/* Read one document.
 *
 *   doc     taken, also on error
 *   file    for people; copied
 *   owns    *ret_doc is the caller's, until calendar_doc_free()
 *   errors  E_INVALID, everything that is wrong is in d
 */
int calendar_doc_read(struct yaml_doc *doc, const char *file, struct diags *d,
                      struct calendar_doc **ret_doc);
void calendar_doc_free(struct calendar_doc *c); /* NULL is fine */

const char *calendar_doc_name(const struct calendar_doc *c);
const char *calendar_doc_file(const struct calendar_doc *c);
const char *calendar_doc_description(const struct calendar_doc *c);     /* "" for none */
const struct calendar *calendar_doc_days(const struct calendar_doc *c); /* borrowed */
int calendar_doc_line(const struct calendar_doc *c);                    /* of the name */
/* Append it as YAML: what calendar_doc_read() reads as the same. */
void calendar_doc_print(const struct calendar_doc *c, struct buf *out);

#endif
