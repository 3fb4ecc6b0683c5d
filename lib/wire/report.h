/* report.h — what a report of a broker says, for both who write and who read one: the numbers of
 * schema/tbl/report.def. */
#ifndef WIRE_REPORT_H
#define WIRE_REPORT_H

enum report_kind {
#define REPORT(name, num, ask, end, reason) REPORT_##name = (num),
#include "tbl/report.def"
#undef REPORT
	REPORT_COUNT
};

#endif
