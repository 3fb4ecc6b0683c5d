/* The little XML that a store of objects answers with: elements without attributes, their text with
 * the five entities. What does not fit is passed over; nothing of it decides more than which names
 * of ours are there. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "home/s3.h"
#include "sched/civil.h"

enum { TAG_MAX = 40 };

bool xml_next(const char **at, const char *end, const char *tag, const char **ret, size_t *ret_n)
{
	char open[TAG_MAX + 3], close[TAG_MAX + 4];
	int n = snprintf(open, sizeof open, "<%s>", tag);
	int m = snprintf(close, sizeof close, "</%s>", tag);

	const char *from = *at < end ? memmem(*at, (size_t)(end - *at), open, (size_t)n) : NULL;
	if (!from)
		return false;
	from += n;
	const char *to = memmem(from, (size_t)(end - from), close, (size_t)m);
	if (!to)
		return false;
	*ret = from;
	*ret_n = (size_t)(to - from);
	*at = to + m;
	return true;
}

static size_t xml_entity(const char *from, size_t n, char *to)
{
	static const struct {
		const char *text;
		char c;
	} all[] = { { "&amp;", '&' },  { "&lt;", '<' },  { "&gt;", '>' },
		    { "&quot;", '"' }, { "&#34;", '"' }, { "&apos;", '\'' } };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		size_t len = strlen(all[i].text);
		if (n >= len && memcmp(from, all[i].text, len) == 0) {
			*to = all[i].c;
			return len;
		}
	}
	*to = *from;
	return 1;
}

bool xml_text(const char *from, size_t n, const char *tag, char *to, size_t cap)
{
	const char *text, *at = from;
	size_t len, out = 0;

	if (!xml_next(&at, from + n, tag, &text, &len))
		return false;
	for (size_t i = 0; i < len && out + 1 < cap; out++)
		i += xml_entity(text + i, len - i, &to[out]);
	to[out] = '\0';
	return out + 1 < cap;
}

/* `digits` digits and the character behind them. */
static bool xml_number(const char **at, int digits, char behind, int64_t *ret)
{
	int64_t n = 0;

	for (int i = 0; i < digits; i++, (*at)++) {
		if (!isdigit((unsigned char)**at))
			return false;
		n = n * 10 + (**at - '0');
	}
	*ret = n;
	return !behind || *(*at)++ == behind;
}

int64_t xml_time_us(const char *text)
{
	int64_t y, m, d, h, min, s;

	if (!xml_number(&text, 4, '-', &y) || !xml_number(&text, 2, '-', &m) ||
	    !xml_number(&text, 2, 'T', &d) || !xml_number(&text, 2, ':', &h) ||
	    !xml_number(&text, 2, ':', &min) || !xml_number(&text, 2, '\0', &s))
		return 0;
	if (m < 1 || m > 12 || d < 1 || d > civil_month_days(y, (int32_t)m))
		return 0;
	int64_t day = civil_to_day(y, (int32_t)m, (int32_t)d);
	return (day * DAY_S + h * 3600 + min * 60 + s) * 1000000;
}
