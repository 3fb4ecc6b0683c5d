/* A command line of java or hadoop, split as a shell would split it and sorted into the
 * parameters of its type. Nothing is executed or expanded: quotes and backslashes only say
 * where words end, and '$' is doubled. Words that a type does not know become the program's own
 * arguments. */
#include "cgi/seeds/program.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"

struct words {
	char **items;
	size_t n, at;
};

/* --- words ------------------------------------------------------------------------------- */

/* Quotes and backslashes as a shell has them; nothing is expanded, here or later ('$' doubled). */
static void word_take(const char **at, struct buf *out)
{
	char quote = '\0';

	for (; **at != '\0' && (quote != '\0' || !isspace((unsigned char)**at)); (*at)++) {
		if (**at == quote) {
			quote = '\0';
			continue;
		}
		if (quote == '\0' && (**at == '\'' || **at == '"')) {
			quote = **at;
			continue;
		}
		if (**at == '\\' && quote != '\'' && (*at)[1] != '\0')
			(*at)++;
		if (**at == '$')
			buf_putc(out, '$');
		buf_putc(out, **at);
	}
}

static void words_take(const char *text, struct words *w)
{
	for (;;) {
		struct buf one;

		text += strspn(text, " \t\r\n");
		if (*text == '\0')
			return;
		buf_init(&one);
		word_take(&text, &one);
		w->items = mem_grow(w->items, w->n + 1, sizeof *w->items);
		w->items[w->n++] = mem_str(buf_str(&one));
		buf_done(&one);
	}
}

static void words_done(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->items[i]);
	free(w->items);
}

static const char *program_next(struct words *w)
{
	return w->at < w->n ? w->items[w->at++] : NULL;
}

/* The next one is this program, perhaps with its path: passed over. */
static bool program_skip(struct words *w, const char *program)
{
	const char *word = w->at < w->n ? w->items[w->at] : "", *slash = strrchr(word, '/');
	bool is = strcmp(slash ? slash + 1 : word, program) == 0;

	w->at += is;
	return is;
}

static void program_add(cJSON *params, const char *key, const char *word)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(params, key);

	if (!list)
		list = cJSON_AddArrayToObject(params, key);
	cJSON_AddItemToArray(list, cJSON_CreateString(word));
}

static void add_rest(cJSON *params, const char *key, struct words *w)
{
	for (const char *word; (word = program_next(w));)
		program_add(params, key, word);
}

/* --- types ------------------------------------------------------------------------------- */

static bool ends_in_jar(const char *word)
{
	size_t n = strlen(word);

	return n > 4 && strcmp(word + n - 4, ".jar") == 0;
}

/* Java's own options, then -jar FILE or a class, then the program's arguments. */
static void java_put(struct words *w, cJSON *params)
{
	const char *word;
	bool is_jar = false;

	(void)program_skip(w, "java");
	while ((word = program_next(w)) && word[0] == '-') {
		is_jar = is_jar || strcmp(word, "-jar") == 0;
		if (strcmp(word, "-jar") == 0)
			continue;
		if (strcmp(word, "-cp") == 0 || strcmp(word, "-classpath") == 0 ||
		    strcmp(word, "--class-path") == 0) {
			word = program_next(w);
			if (word)
				cJSON_AddStringToObject(params, "classpath", word);
			continue;
		}
		program_add(params, "options", word);
	}
	if (word)
		cJSON_AddStringToObject(params, is_jar || ends_in_jar(word) ? "jar" : "class",
		                        word);
	add_rest(params, "arguments", w);
}

/* a.b.Main: names with dots between them, the last with a capital. Any other word is the first
 * argument of a jar that names its class itself. */
static bool is_class(const char *word)
{
	const char *last = strrchr(word, '.');

	last = last ? last + 1 : word;
	return isupper((unsigned char)*last) && !isdigit((unsigned char)*word) &&
	       word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                         "0123456789_.$")] == '\0';
}

static void mapreduce_put(struct words *w, cJSON *params)
{
	const char *word;

	if (program_skip(w, "hadoop") || program_skip(w, "yarn"))
		(void)program_skip(w, "jar");
	word = program_next(w);
	if (word)
		cJSON_AddStringToObject(params, "jar", word);
	if (w->at < w->n && is_class(w->items[w->at]))
		cJSON_AddStringToObject(params, "class", program_next(w));
	add_rest(params, "args", w);
}

static const struct program {
	const char *type, *needs, *or_needs, *want;
	void (*put)(struct words *w, cJSON *params);
} programs[] = {
	{ "java", "jar", "class", "[java] [OPTION...] -jar FILE|CLASS [ARGUMENT...]", java_put },
	{ "mapreduce", "jar", "jar", "[hadoop jar] JAR [CLASS] [ARGUMENT...]", mapreduce_put },
};

static const struct program *program_find(const char *type)
{
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
		if (strcmp(programs[i].type, type) == 0)
			return &programs[i];
	return NULL;
}

bool program_is(const char *type)
{
	return program_find(type) != NULL;
}

int program_put(struct call *c, cJSON *task, const char *type, const char *command)
{
	const struct program *p = program_find(type);
	cJSON *params = cJSON_AddObjectToObject(task, "params");
	struct words w = { 0 };
	bool is;

	cJSON_AddStringToObject(task, "type", type);
	words_take(command, &w);
	p->put(&w, params);
	words_done(&w);
	is = cJSON_HasObjectItem(params, p->needs) || cJSON_HasObjectItem(params, p->or_needs);
	return is ? 0
	          : call_fail(c, E_INVALID, "command", "a command of %s wants %s", type, p->want);
}
