/* Members of an answer as texts that printf() takes, in rings of static room: one lives until as
 * many more were asked for as answer.h says. What is not there is "" or 0. Nothing is checked:
 * the server's answer is taken as it is. */
#include "admin-console/cli/base/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/base/cli.h"
#include "admin-console/cli/base/output.h"
#include "util/buf.h"
#include "util/json_in.h"

const char *text_of(const cJSON *o, const char *key)
{
	static char numbers[16][24];
	static unsigned at;
	const cJSON *v = json_get(o, key);

	if (cJSON_IsString(v))
		return v->valuestring;
	if (cJSON_IsBool(v))
		return cJSON_IsTrue(v) ? "yes" : "no";
	if (!cJSON_IsNumber(v))
		return "";
	char *text = numbers[at++ % 16];
	snprintf(text, sizeof numbers[0], "%.0f", v->valuedouble);
	return text;
}

long long number_of(const cJSON *o, const char *key)
{
	return json_int(o, key, 0);
}

const char *counted(size_t n, const char *one)
{
	static char counts[4][64];
	static unsigned at;
	char *text = counts[at++ % 4];

	snprintf(text, sizeof counts[0], "%zu %s%s", n, one, n == 1 ? "" : "s");
	return text;
}

const char *plural_of(const cJSON *o, const char *key, const char *one)
{
	return counted((size_t)number_of(o, key), one);
}

const char *time_of(const cJSON *o, const char *key)
{
	static char times[8][32];
	static unsigned at;
	const char *t = json_text(o, key);
	char *text = times[at++ % 8];

	if (!t || strlen(t) < 19)
		return "";
	snprintf(text, sizeof times[0], "%.10s %.8sZ", t, t + 11);
	return text;
}

const char *date_of(const cJSON *o, const char *key)
{
	static char dates[8][32];
	static unsigned at;
	const char *t = json_text(o, key);
	char *text = dates[at++ % 8];

	if (!t || strlen(t) < 19)
		return "";
	snprintf(text, sizeof dates[0], "%.19sZ", t);
	return text;
}

const char *label_in(const cJSON *o)
{
	const char *label = json_text(o, "label");

	return label ? label : date_of(o, "run_date");
}

/* A message that names its place already does not say it twice. */
void mistake_say(FILE *to, const struct mistake *m)
{
	bool placed = m->path[0] && strncmp(m->message, m->path, strlen(m->path)) != 0;

	cli_line(to, "%s:%lld:%lld: %s%s%s%s%s%s%s", m->file, m->line, m->column,
	         m->is_warning ? "warning: " : "", m->message, placed ? " (" : "",
	         placed ? m->path : "", placed ? ")" : "", m->hint[0] ? "; " : "", m->hint);
}

int print_json(const cJSON *root)
{
	char *text = output_is(OUTPUT_JSON) ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
	struct buf out;
	int code;

	buf_init(&out);
	buf_puts(&out, text);
	free(text);
	code = cli_print(&out);
	buf_done(&out);
	return code;
}
