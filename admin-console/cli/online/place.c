/* Where something is wrong, in the words of the command line: the server says
 * args.selection.dates.0, the person wrote a date. The verb's own rows say which option a member of
 * the body came from; what words became is said by its value. */
#include "admin-console/cli/online/place.h"

#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/base/verb.h"
#include "util/alloc.h"

/* What is there at "args.selection.dates.0" of a body; NULL: nothing. */
static const cJSON *place_value(const cJSON *at, const char *place)
{
	while (at && *place) {
		size_t n = strcspn(place, ".");
		char *key = mem_strn(place, n);
		at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, (int)strtol(key, NULL, 10))
		                       : cJSON_GetObjectItemCaseSensitive(at, key);
		free(key);
		place += n + (place[n] == '.');
	}
	return at;
}

static bool is_within(const char *place, const char *to)
{
	size_t n = to ? strlen(to) : 0;

	return n && strncmp(place, to, n) == 0 && (place[n] == '.' || place[n] == '\0');
}

static const struct opt *option_of(const struct verb *v, const char *place)
{
	for (const struct opt *o = v->options; o && o->name; o++)
		if (o->help && is_within(place, o->to))
			return o;
	return NULL;
}

/* Was it said with a value? What an answer to a question, a pipe or a file put into the body may be
 * a secret, and no message repeats it. */
static bool is_said(const struct cli *cli, const struct opt *o)
{
	const struct asked *q = cli->asked;

	for (size_t i = 0; q && o->arg && i < q->n; i++)
		if (q->given[i].opt == o)
			return true;
	return false;
}

/* Words became these, or options did: their value says which is meant. */
static bool is_word(const struct cli *cli, const char *place)
{
	static const char *const chosen[] = { "selection.tasks", "selection.dates",
		                              "selection.instances", "selection.workflow" };

	for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++)
		if (is_within(place, chosen[i]))
			return true;
	return cli->command->verb->words && strstr(cli->command->verb->words, place);
}

char *place_said(const struct cli *cli, const cJSON *body, const char *place)
{
	const cJSON *value = place_value(body, place);
	const struct opt *o;

	if (strncmp(place, "args.", 5) != 0 || !cli->command)
		return mem_str(place);
	const char *inner = place + 5;
	if (is_word(cli, inner) && cJSON_IsString(value))
		return mem_str(value->valuestring);
	o = option_of(cli->command->verb, inner);
	if (o && o->take == TAKE_PAIR && strchr(inner, '.'))
		return mem_fmt("--%s %s", o->name, strchr(inner, '.') + 1);
	if (o && is_said(cli, o) && cJSON_IsString(value) && value->valuestring[0])
		return mem_fmt("--%s %s", o->name, value->valuestring);
	return o ? mem_fmt("--%s", o->name) : mem_str(inner);
}

/* Does the rest of the message show what it is about? Of a query nobody sent a body: what is in
 * quotes is the word that was said. */
static bool is_told(const cJSON *body, const char *said, const char *rest)
{
	return strncmp(rest, ": ", 2) == 0 && (body ? strstr(rest, said) : strchr(rest, '\''));
}

char *place_message(const struct cli *cli, const cJSON *body, const char *place,
                    const char *message)
{
	char *said = place_said(cli, body, place), *text;
	size_t n = strlen(place);

	/* The server's text may name its place. */
	if (n && strncmp(message, place, n) == 0 && message[n] == ':')
		text = is_told(body, said, message + n) ? mem_str(message + n + 2)
		                                        : mem_fmt("%s%s", said, message + n);
	else if (said[0] && !strstr(message, said))
		text = mem_fmt("%s: %s", said, message);
	else
		text = mem_str(message);
	free(said);
	return text;
}
