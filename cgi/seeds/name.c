/* What people call a job in a seed's interface, as a name of documents. Most texts are names as
 * they are. Others have what no name may have replaced, and a mark (a hash of the text) that
 * keeps different texts apart. Releases that knew names of ASCII only made marked names of all
 * others: where such a task is in force it is the one that is meant, for good. */
#include "cgi/seeds/seed.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/name.h"
#include "sched/task.h"
#include "store/read.h"

enum { MARK_BYTES = 5, MADE_BYTES = 41 };

/* ".5cb37237a2" behind what is there. */
static void mark_put(const char *text, char ret[SEED_NAME_BYTES])
{
	unsigned char hash[crypto_generichash_BYTES_MIN];
	size_t n = strlen(ret);

	crypto_generichash(hash, sizeof hash, (const unsigned char *)text, strlen(text), NULL, 0);
	ret[n++] = '.';
	sodium_bin2hex(ret + n, SEED_NAME_BYTES - n, hash, MARK_BYTES);
}

/* A name as documents take it, of any text: what may not be in a name becomes '_', with a
 * mark that keeps different texts apart. */
static void seed_name(const char *text, char ret[SEED_NAME_BYTES])
{
	char *nfc = name_nfc(text);
	const char *name = nfc ? nfc : text;

	if (name_ok(name)) {
		snprintf(ret, SEED_NAME_BYTES, "%s", name);
	} else {
		name_make(name, MADE_BYTES, ret);
		if (ret[0] == '\0')
			snprintf(ret, SEED_NAME_BYTES, "_");
		mark_put(text, ret);
	}
	free(nfc);
}

/* As it was made when names were ASCII. */
static void former_name(const char *text, char ret[SEED_NAME_BYTES])
{
	size_t n = 0;

	if (word_ok(text)) {
		snprintf(ret, SEED_NAME_BYTES, "%s", text);
		return;
	}
	if (strspn(text, "0123456789.-") > 0)
		ret[n++] = '_';
	for (const char *p = text; *p != '\0' && n < 40; p++) {
		char word[3] = { '_', *p, '\0' };

		if (word_ok(word))
			ret[n++] = *p;
		else if (n == 0 || ret[n - 1] != '_')
			ret[n++] = '_';
	}
	ret[n] = '\0';
	mark_put(text, ret);
}

static int state_take(void *ctx, const struct store_task *t)
{
	*(bool *)ctx = t->state != TS_RETIRED;
	return 0;
}

static bool in_force(const struct call *c, struct reader *r, const char *name)
{
	char full[3 * SEED_NAME_BYTES];
	bool is_there = false;

	snprintf(full, sizeof full, "%s/%s/%s", seed_project(c), name, name);
	return read_task(r, full, 0, state_take, &is_there, NULL) == 0 && is_there;
}

void seed_name_of(const struct call *c, struct reader *r, const char *text,
                  char ret[SEED_NAME_BYTES])
{
	char former[SEED_NAME_BYTES];

	seed_name(text, ret);
	former_name(text, former);
	if (strcmp(ret, former) != 0 && !in_force(c, r, ret) && in_force(c, r, former))
		memcpy(ret, former, SEED_NAME_BYTES);
}
