/* calendars.h — the business calendars that are stored: documents of kind DOC_CALENDAR. */
#ifndef BASESERVER_CALENDARS_H
#define BASESERVER_CALENDARS_H

#include "baseserver/model/docs.h"

struct calendar;

/* Its row of doc_kinds: what a calendar means is a struct calendar, counted. */
int calendar_read(const struct store_doc *d, void **ret_days, struct err *err);
void calendar_drop(void *days);

/* The dates of one in use; NULL: none of that name. */
const struct calendar *calendars_days(const struct docs *calendars, const char *name);

#endif
