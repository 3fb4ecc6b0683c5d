/* The lines between the runner and its guests: one JSON object each. Which fields an op needs and
 * may have, their kinds and ranges, is message.def; anything else is refused with a sentence about
 * the field. Unknown fields are passed over, so that newer guests may say more. Buffers hold
 * secrets: they are wiped when they move or go. */
#include "message.h"

#include "sirdar/runner.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_INTEGER, KIND_TEXT, KIND_TRUTH };

static const struct field {
	const char *name;
	const char *choices;
	int64_t min, max, otherwise;
	size_t offset;
	unsigned bit;
	enum kind kind;
} fields[] = {
#define INTEGER(name, bit, min, max, otherwise) \
	{ #name, NULL, min, max, otherwise, offsetof(struct message, name), bit, KIND_INTEGER },
#define TEXT(name, bit, choices) \
	{ #name, choices, 0, 0, 0, offsetof(struct message, name), bit, KIND_TEXT },
#define TRUTH(name, bit, otherwise) \
	{ #name, NULL, 0, 1, otherwise, offsetof(struct message, name), bit, KIND_TRUTH },
#include "message.def"
#undef INTEGER
#undef TEXT
#undef TRUTH
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

static const struct {
	const char *word;
	unsigned needs, may;
} ops[OPS] = {
#define OP(name, word, needs, may) [OP_##name] = { word, needs, may },
#include "message.def"
#undef OP
};

/* --- reading ------------------------------------------------------------------------ */

static int message_wrong(char why[FOREIGN_WHY_BYTES], const char *op, const char *name,
                         const char *want)
{
	snprintf(why, FOREIGN_WHY_BYTES, "its message `%.20s`: %s %s", op, name, want);
	return -1;
}

static int is_choice(const char *choices, const char *word)
{
	size_t len = strlen(word);

	if (strchr(word, ' '))
		return 0;
	for (const char *at = choices; len && (at = strstr(at, word)); at += len) {
		if (at > choices && at[-1] == ' ' && at[len] == ' ')
			return 1;
	}
	return 0;
}

static int read_integer(const struct field *f, const cJSON *item, const char *op, int64_t *ret,
                        char why[FOREIGN_WHY_BYTES])
{
	char want[100];
	double value = item->valuedouble;

	if (cJSON_IsNumber(item) && value == floor(value) && value >= (double)f->min &&
	    value <= (double)f->max) {
		*ret = (int64_t)value;
		return 0;
	}
	snprintf(want, sizeof want, "must be a whole number, %lld to %lld", (long long)f->min,
	         (long long)f->max);
	return message_wrong(why, op, f->name, want);
}

static int read_text(const struct field *f, const cJSON *item, const char *op, const char **ret,
                     char why[FOREIGN_WHY_BYTES])
{
	char want[100];

	if (!cJSON_IsString(item) || !item->valuestring)
		return message_wrong(why, op, f->name, "must be a text");
	if (f->choices && !is_choice(f->choices, item->valuestring)) {
		snprintf(want, sizeof want, "is '%.20s', want one of%.50s", item->valuestring,
		         f->choices);
		return message_wrong(why, op, f->name, want);
	}
	*ret = item->valuestring;
	return 0;
}

static int read_field(const struct field *f, const cJSON *item, const char *op, struct message *ret,
                      char why[FOREIGN_WHY_BYTES])
{
	void *at = (char *)ret + f->offset;

	if (f->kind == KIND_INTEGER)
		return read_integer(f, item, op, at, why);
	if (f->kind == KIND_TEXT)
		return read_text(f, item, op, at, why);
	if (!cJSON_IsBool(item))
		return message_wrong(why, op, f->name, "must be true or false");
	*(int *)at = cJSON_IsTrue(item);
	return 0;
}

static void set_defaults(struct message *m)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		void *at = (char *)m + fields[i].offset;

		if (fields[i].kind == KIND_INTEGER)
			*(int64_t *)at = fields[i].otherwise;
		else if (fields[i].kind == KIND_TRUTH)
			*(int *)at = (int)fields[i].otherwise;
	}
}

static int find_op(const cJSON *tree, char why[FOREIGN_WHY_BYTES])
{
	const cJSON *op = cJSON_GetObjectItemCaseSensitive(tree, "op");
	const char *word = cJSON_IsString(op) ? op->valuestring : NULL;
	size_t at;

	for (int i = 0; word && i < OPS; i++) {
		if (strcmp(ops[i].word, word) == 0)
			return i;
	}
	at = (size_t)snprintf(why, FOREIGN_WHY_BYTES, word ? "op is '%.20s', want" : "no op, want",
	                      word);
	for (int i = 0; i < OPS; i++)
		at += (size_t)snprintf(why + at, FOREIGN_WHY_BYTES - at, " %s", ops[i].word);
	return -1;
}

/* The line's beginning, fit to be shown. */
static void excerpt(const char *line, size_t len, char ret[61])
{
	size_t n = len < 60 ? len : 60;

	for (size_t i = 0; i < n; i++)
		ret[i] = line[i] >= ' ' && line[i] <= '~' ? line[i] : '?';
	ret[n] = 0;
}

int message_read(const char *line, size_t len, struct message *ret, char ret_why[FOREIGN_WHY_BYTES])
{
	const char *end = NULL;
	char shown[61];

	memset(ret, 0, sizeof *ret);
	set_defaults(ret);
	ret->tree = cJSON_ParseWithLengthOpts(line, len, &end, 0);
	while (ret->tree && end < line + len && (*end == ' ' || *end == '\t' || *end == '\r'))
		end++;
	if (!cJSON_IsObject(ret->tree) || end != line + len) {
		excerpt(line, len, shown);
		snprintf(ret_why, FOREIGN_WHY_BYTES,
		         "it said `%s` on descriptor 4, want one JSON object a line", shown);
		return -1;
	}
	int op = find_op(ret->tree, ret_why);

	if (op < 0)
		return -1;
	ret->op = (enum message_op)op;
	for (size_t i = 0; i < N_FIELDS; i++) {
		const struct field *f = &fields[i];
		const cJSON *item = (ops[op].needs | ops[op].may) & f->bit
		                            ? cJSON_GetObjectItemCaseSensitive(ret->tree, f->name)
		                            : NULL;

		if (cJSON_IsNull(item))
			item = NULL;
		if (!item && ops[op].needs & f->bit)
			return message_wrong(ret_why, ops[op].word, f->name, "is missing");
		if (item && read_field(f, item, ops[op].word, ret, ret_why) < 0)
			return -1;
	}
	return 0;
}

void message_done(struct message *m)
{
	cJSON_Delete(m->tree);
	m->tree = NULL;
}

uint32_t message_verdict(const char *word)
{
	static const char *const words[] = {
		[RUNNER_BY_CODE] = "code", [RUNNER_RETRYABLE] = "retry", [RUNNER_FATAL] = "fatal",
		[RUNNER_INFRA] = "infra",  [RUNNER_NOT_YET] = "not_yet",
	};

	for (uint32_t i = 0; word && i < sizeof words / sizeof words[0]; i++) {
		if (strcmp(words[i], word) == 0)
			return i;
	}
	return RUNNER_BY_CODE;
}

/* --- making ------------------------------------------------------------------------- */

/* Not realloc(): it would leave a copy of secrets behind. */
static int text_room(struct text *t, size_t more)
{
	size_t cap = t->cap ? t->cap : 512;
	char *at;

	if (t->len + more <= t->cap)
		return 0;
	while (cap < t->len + more)
		cap *= 2;
	at = malloc(cap);
	if (!at) {
		t->is_short = 1;
		return -1;
	}
	if (t->len)
		memcpy(at, t->at, t->len);
	if (t->at)
		explicit_bzero(t->at, t->cap);
	free(t->at);
	t->at = at;
	t->cap = cap;
	return 0;
}

void text_put(struct text *t, const char *bytes, size_t len)
{
	if (len == 0 || text_room(t, len) < 0)
		return;
	memcpy(t->at + t->len, bytes, len);
	t->len += len;
}

void text_word(struct text *t, const char *word)
{
	text_put(t, word, strlen(word));
}

void text_json(struct text *t, const char *value)
{
	char escape[8];

	text_word(t, "\"");
	while (*value) {
		size_t plain = 0;

		while ((unsigned char)value[plain] >= ' ' && value[plain] != '"' &&
		       value[plain] != '\\' && value[plain] != 0x7f)
			plain++;
		text_put(t, value, plain);
		value += plain;
		if (!*value)
			break;
		snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*value++);
		text_word(t, escape);
	}
	text_word(t, "\"");
}

void text_field(struct text *t, const char *name, const char *value)
{
	text_word(t, ",\"");
	text_word(t, name);
	text_word(t, "\":");
	text_json(t, value);
}

void text_number(struct text *t, const char *name, int64_t value)
{
	char number[32];

	snprintf(number, sizeof number, "\":%lld", (long long)value);
	text_word(t, ",\"");
	text_word(t, name);
	text_word(t, number);
}

void text_drop(struct text *t, size_t len)
{
	t->len -= len;
	if (t->len)
		memmove(t->at, t->at + len, t->len);
	if (t->at)
		explicit_bzero(t->at + t->len, len);
}

void text_done(struct text *t)
{
	if (t->at)
		explicit_bzero(t->at, t->cap);
	free(t->at);
	memset(t, 0, sizeof *t);
}
