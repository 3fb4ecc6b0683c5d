/* Command lines read by rows. argp gets its options made of struct opt, and calls back here alone:
 * a value is checked, kept in the order said, and put into the body that the command may send. */
#include "admin-console/cli/base/verb.h"

#include <stdlib.h>
#include <string.h>

#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"

enum { KEY_FIRST = 0x2000 };

/* --- the body ----------------------------------------------------------------------------- */

/* The object that a member belongs to; *ret_name is its name there. */
static cJSON *object_of(struct asked *q, const char *to, const char **ret_name)
{
	const char *dot = strchr(to, '.');
	cJSON *o = q->body;

	*ret_name = dot ? dot + 1 : to;
	if (!dot)
		return o;
	char *name = mem_strn(to, (size_t)(dot - to));
	o = cJSON_GetObjectItemCaseSensitive(q->body, name);
	if (!o)
		o = cJSON_AddObjectToObject(q->body, name);
	free(name);
	return o;
}

static void body_put(struct asked *q, const char *to, cJSON *value)
{
	const char *name;
	cJSON *o = object_of(q, to, &name);

	cJSON_DeleteItemFromObjectCaseSensitive(o, name);
	cJSON_AddItemToObject(o, name, value);
}

void body_text(struct asked *q, const char *name, const char *value)
{
	body_put(q, name, cJSON_CreateString(value));
}

cJSON *body_list(struct asked *q, const char *to)
{
	const char *name;
	cJSON *o = object_of(q, to, &name), *list = cJSON_GetObjectItemCaseSensitive(o, name);

	return list ? list : cJSON_AddArrayToObject(o, name);
}

static void pair_put(struct asked *q, const char *to, const char *arg)
{
	cJSON *object = cJSON_GetObjectItemCaseSensitive(q->body, to);
	size_t n = strcspn(arg, "=");

	if (!object)
		object = cJSON_AddObjectToObject(q->body, to);
	if (!arg[0])
		return;
	char *name = mem_strn(arg, n);
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddStringToObject(object, name, arg + n + 1);
	free(name);
}

/* arg: NULL for a flag. */
static void option_put(struct asked *q, const struct opt *o, const char *arg)
{
	if (!arg)
		arg = "";
	switch (o->take) {
	case TAKE_OWN:
	case TAKE_QUERY:
		break;
	case TAKE_TEXT:
		body_text(q, o->to, arg);
		break;
	case TAKE_NUMBER:
		body_put(q, o->to, cJSON_CreateNumber((double)strtol(arg, NULL, 10)));
		break;
	case TAKE_TRUE:
	case TAKE_FALSE:
		body_put(q, o->to, cJSON_CreateBool(o->take == TAKE_TRUE));
		break;
	case TAKE_ITEM:
	case TAKE_ITEMS: {
		cJSON *list = body_list(q, o->to);
		if (*arg || o->take == TAKE_ITEM)
			cJSON_AddItemToArray(list, cJSON_CreateString(arg));
		break;
	}
	case TAKE_PAIR:
		pair_put(q, o->to, arg);
		break;
	}
}

void check_number(struct asked *q, const struct opt *o, const char *arg, struct argp_state *state)
{
	char *end;

	(void)q;
	(void)o;
	(void)strtol(arg, &end, 10);
	if (end == arg || *end)
		argp_error(state, "'%s' is no number", arg);
}

void check_once(struct asked *q, const struct opt *o, const char *arg, struct argp_state *state)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->given[i].opt == o && strcmp(q->given[i].value, arg) != 0)
			argp_error(state,
			           "--%s is said twice: %s and %s; it takes one, run the "
			           "command once for each",
			           o->name, q->given[i].value, arg);
}

void check_no_json(struct asked *q, struct argp_state *state)
{
	if (q->cli->json)
		argp_error(state, "it prints text as it is, there is no --json");
}

/* --- parsing ------------------------------------------------------------------------------- */

static void words_check(struct asked *q, struct argp_state *state)
{
	const struct verb *v = q->verb;

	if ((int)q->words.n < v->least && v->few)
		argp_error(state, "%s", v->few);
	if ((int)q->words.n > v->most && v->many)
		argp_error(state, "%s", v->many);
	if (v->check)
		v->check(q, state);
}

static error_t verb_take(int key, char *arg, struct argp_state *state)
{
	struct asked *q = state->input;
	const struct opt *o = q->verb->options;

	if (key == ARGP_KEY_ARG && q->verb->most != WORDS_NONE) {
		words_add(&q->words, arg);
		return 0;
	}
	if (key == ARGP_KEY_END) {
		words_check(q, state);
		return 0;
	}
	for (int i = 0; o && o->name; i++, o++) {
		if (key != (o->letter ? o->letter : KEY_FIRST + i))
			continue;
		if (o->check)
			o->check(q, o, arg, state);
		q->given[q->n++] = (struct given){ o, arg ? arg : "" };
		option_put(q, o, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* "-3d" is a date and no options: behind a blank getopt leaves it alone, and who reads dates skips
 * that. */
static char **argv_dates(struct asked *q, int argc, char **argv)
{
	char **all = mem_array((size_t)argc + 1, sizeof *all);
	struct when_span dates;

	q->kept = mem_array((size_t)argc + 1, sizeof *q->kept);
	for (int i = 0; i < argc; i++) {
		bool is_date = argv[i][0] == '-' && when_range(argv[i], 0, &dates);
		all[i] = argv[i];
		if (is_date)
			all[i] = q->kept[q->n_kept++] = mem_fmt(" %s", argv[i]);
	}
	return all;
}

int asked_parse(struct asked *q, int argc, char **argv)
{
	const struct opt *o = q->verb->options;
	size_t n = 0;

	while (o && o[n].name)
		n++;
	struct argp_option *options = mem_array(n + 1, sizeof *options);
	for (size_t i = 0; i < n; i++)
		options[i] = (struct argp_option){ .name = o[i].name,
			                           .key = o[i].letter ? o[i].letter
			                                              : KEY_FIRST + (int)i,
			                           .arg = o[i].arg,
			                           .flags = o[i].help ? 0 : OPTION_HIDDEN,
			                           .doc = o[i].help,
			                           .group = o[i].group };
	const struct argp own = { .options = options, .parser = verb_take };
	/* "-abc" is an option for each of its letters. */
	size_t most = 1;
	for (int i = 1; i < argc; i++)
		most += strlen(argv[i]) + 1;
	q->given = mem_array(most, sizeof *q->given);
	q->body = cJSON_CreateObject();
	q->cli->asked = q;
	char **all = argv_dates(q, argc, argv);
	cli_parse(q->cli, &own, argc, all, q);
	free(all);
	free(options);
	return (int)q->words.n < q->verb->least ||
	                       (int)q->words.n > (q->verb->most < 0 ? 0 : q->verb->most)
	               ? usage(q->cli)
	               : CLI_OK;
}

void asked_done(struct asked *q)
{
	cJSON_Delete(q->body);
	free(q->given);
	words_done(&q->words);
	for (size_t i = 0; i < q->n_kept; i++)
		free(q->kept[i]);
	free(q->kept);
}

/* --- asking -------------------------------------------------------------------------------- */

static const struct opt *opt_of(const struct verb *v, const char *name)
{
	for (const struct opt *o = v->options; o && o->name; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

const char *given(const struct asked *q, const char *name)
{
	const struct opt *o = opt_of(q->verb, name);

	CHECK(o);
	for (size_t i = q->n; i > 0; i--)
		if (q->given[i - 1].opt == o)
			return o->arg || !o->value ? q->given[i - 1].value : o->value;
	return o->arg ? o->value : NULL;
}

const char *given_if(const struct asked *q, const char *name)
{
	return opt_of(q->verb, name) ? given(q, name) : NULL;
}

const char *word(const struct asked *q, size_t i)
{
	return i < q->words.n ? q->words.items[i] : NULL;
}

int usage(const struct cli *cli)
{
	return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name, cli->command->args);
}
