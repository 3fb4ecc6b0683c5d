/* From an iCalendar file to our document: libical reads it and unrolls the rules, this file
 * decides what a day means and writes it down, year by year. What cannot be said in days (an
 * event with a time, a rule without an end and no years given) is refused by name, because a
 * holiday that is silently missing would start jobs on the wrong day. */
#include "admin-console/cli/documents/ics.h"

#include <libical/ical.h>
#include <stdbool.h>
#include <string.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/yaml.h"

enum { DAYS_MAX = 100000 };

struct reading {
	const struct ics_options *o;
	struct buf holidays, workdays;
	size_t days;
	struct err *err;
};

static const char *summary_of(icalcomponent *event)
{
	const char *text = icalcomponent_get_summary(event);

	return text ? text : "";
}

static int ics_refuse(const struct reading *r, icalcomponent *event, const char *what)
{
	struct icaltimetype at = icalcomponent_get_dtstart(event);

	return err_set(r->err, E_INVALID, "the event '%.60s' of %04d-%02d-%02d: %s",
	               summary_of(event), at.year, at.month, at.day, what);
}

static void print_date(struct icaltimetype t, struct buf *out)
{
	buf_printf(out, "%04d-%02d-%02d", t.year, t.month, t.day);
}

static bool is_wanted(const struct reading *r, struct icaltimetype first)
{
	return !r->o->first_year ||
	       (first.year >= r->o->first_year && first.year <= r->o->last_year);
}

/* One occurrence: `days` from `first` on. */
static int ics_add(struct reading *r, icalcomponent *event, struct icaltimetype first, int days)
{
	const char *summary = summary_of(event), *mark = r->o->workday_mark;
	struct buf *out = mark && strstr(summary, mark) ? &r->workdays : &r->holidays;
	struct icaltimetype last = first;

	if (!is_wanted(r, first))
		return 0;
	r->days += (size_t)days;
	if (r->days > DAYS_MAX)
		return ics_refuse(r, event, "more than 100000 days; say fewer --years");
	buf_puts(out, "- on: ");
	print_date(first, out);
	icaltime_adjust(&last, days - 1, 0, 0, 0);
	if (days > 1) {
		buf_puts(out, "..");
		print_date(last, out);
	}
	buf_puts(out, "\n  name: ");
	yaml_print_text(summary, false, out);
	buf_putc(out, '\n');
	return 0;
}

static bool is_left_out(icalcomponent *event, struct icaltimetype t)
{
	for (icalproperty *p = icalcomponent_get_first_property(event, ICAL_EXDATE_PROPERTY); p;
	     p = icalcomponent_get_next_property(event, ICAL_EXDATE_PROPERTY))
		if (icaltime_compare_date_only(icalproperty_get_exdate(p), t) == 0)
			return true;
	return false;
}

static int add_repeated(struct reading *r, icalcomponent *event, icalproperty *rule, int days)
{
	struct icalrecurrencetype recur = icalproperty_get_rrule(rule);
	struct icaltimetype start = icalcomponent_get_dtstart(event), t;
	bool has_end = recur.count > 0 || !icaltime_is_null_time(recur.until);
	int code = 0;

	if (!has_end && !r->o->first_year)
		return ics_refuse(r, event, "repeats without end; say for which --years");
	icalrecur_iterator *it = icalrecur_iterator_new(recur, start);
	if (!it)
		return ics_refuse(r, event, "its RRULE cannot be read");
	for (t = icalrecur_iterator_next(it); code == 0 && !icaltime_is_null_time(t);
	     t = icalrecur_iterator_next(it)) {
		if (r->o->first_year && t.year > r->o->last_year)
			break;
		if (!is_left_out(event, t))
			code = ics_add(r, event, t, days);
	}
	icalrecur_iterator_free(it);
	return code;
}

/* DTEND is the day after; without one it is a single day. */
static int length_of(icalcomponent *event, struct icaltimetype start)
{
	struct icaltimetype end = icalcomponent_get_dtend(event);
	int days = 0;

	if (icaltime_is_null_time(end) || !end.is_date)
		return 1;
	while (days <= DAYS_MAX && icaltime_compare_date_only(start, end) < 0) {
		icaltime_adjust(&start, 1, 0, 0, 0);
		days++;
	}
	return days ? days : 1;
}

static int add_event(struct reading *r, icalcomponent *event)
{
	struct icaltimetype start = icalcomponent_get_dtstart(event);
	icalproperty *rule = icalcomponent_get_first_property(event, ICAL_RRULE_PROPERTY);

	if (icalcomponent_get_status(event) == ICAL_STATUS_CANCELLED)
		return 0;
	if (icaltime_is_null_time(start) || !icaltime_is_valid_time(start))
		return ics_refuse(r, event, "it has no DTSTART that can be read");
	if (!start.is_date)
		return ics_refuse(r, event, "DTSTART has a time of day, want VALUE=DATE");
	if (icalcomponent_get_first_property(event, ICAL_RDATE_PROPERTY) ||
	    icalcomponent_get_first_property(event, ICAL_RECURRENCEID_PROPERTY))
		return ics_refuse(r, event,
		                  "RDATE and RECURRENCE-ID are not supported; write the "
		                  "dates out as events");
	int days = length_of(event, start);
	return rule ? add_repeated(r, event, rule, days) : ics_add(r, event, start, days);
}

static int add_all(struct reading *r, icalcomponent *root, size_t *n)
{
	int code = 0;

	for (icalcomponent *c = icalcomponent_get_first_component(root, ICAL_ANY_COMPONENT);
	     c && code == 0; c = icalcomponent_get_next_component(root, ICAL_ANY_COMPONENT)) {
		if (icalcomponent_isa(c) == ICAL_VCALENDAR_COMPONENT) {
			code = add_all(r, c, n);
		} else if (icalcomponent_isa(c) == ICAL_VEVENT_COMPONENT) {
			(*n)++;
			code = add_event(r, c);
		}
	}
	return code;
}

static void print_list(const char *key, const struct buf *items, struct buf *out)
{
	if (!items->len)
		return;
	buf_printf(out, "%s:\n", key);
	buf_puts(out, buf_str((struct buf *)(uintptr_t)items));
}

int ics_read(const char *text, const struct ics_options *o, struct buf *out, struct err *err)
{
	struct reading r = { .o = o, .err = err };
	size_t n = 0;

	icalerror_set_errors_are_fatal(0);
	icalcomponent *root = icalparser_parse_string(text);
	if (!root)
		return err_set(err, E_INVALID, "it is no iCalendar file");
	buf_init(&r.holidays);
	buf_init(&r.workdays);
	int code = add_all(&r, root, &n);
	if (code == 0 && n == 0)
		code = err_set(err, E_INVALID, "it is no iCalendar file, or has no events");
	if (code == 0) {
		buf_printf(out, "calendar: %s\nweekends: [%s]\n", o->name, o->weekends);
		print_list("holidays", &r.holidays, out);
		print_list("workdays", &r.workdays, out);
	}
	buf_done(&r.holidays);
	buf_done(&r.workdays);
	icalcomponent_free(root);
	return code;
}
