/* Who is meant by a recipient that a rule or a document names.
 *
 * `TYPE:WHO` means itself. `owner` is the task's owner, `user:NAME` a person or the people of a
 * group: each by the ways he has (owners.c). A list that is a document is all who stand in it, or
 * whose turn it is when the letter is sent. A list of the notifier's own file stays as it is: who
 * it is, is worked out when the letter is due (channels.c), and the file's name goes first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/channels.h"
#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/owners.h"
#include "notifier/stored.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"

#define ONCALL "oncall:"
#define USER   "user:"

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* A person, by the i-th way. */
static char *of_person(const struct notifier *n, const char *name, enum happening what, size_t i)
{
	if (!name || !name[0] || strpbrk(name, "\r\n"))
		return NULL;
	return owners_recipient(n->owners, n->channels, n->devices, name, happening_severity(what),
	                        i);
}

static char *of_one(const struct notifier *n, const char *one, enum happening what, size_t i)
{
	if (begins_with(one, USER))
		return of_person(n, one + strlen(USER), what, i);
	return i == 0 ? mem_str(one) : NULL;
}

static bool is_filed(const struct channels *c, const char *list)
{
	const char *name, *now;

	for (size_t i = 0; channels_list_at(c, i, &name, &now, 0); i++)
		if (strcmp(name, list) == 0)
			return true;
	return false;
}

static char *of_list(const struct notifier *n, const char *list, enum happening what, int64_t at,
                     size_t i)
{
	const char *one;

	for (size_t k = 0; (one = stored_duty(n->stored, list, at, k)); k++) {
		size_t ways = 0;
		char *way;
		while ((way = of_one(n, one, what, ways))) {
			if (i == 0)
				return way;
			free(way);
			ways++;
			i--;
		}
	}
	return NULL;
}

char *recipients_at(const struct notifier *n, const char *named, const char *owner,
                    enum happening what, int64_t at, size_t i)
{
	const struct jval *projects;
	const char *list = begins_with(named, ONCALL) ? named + strlen(ONCALL) : NULL;

	if (strcmp(named, "owner") == 0)
		return of_person(n, owner, what, i);
	if (list && !is_filed(n->channels, list) && stored_has_list(n->stored, list, &projects))
		return of_list(n, list, what, at, i);
	return of_one(n, named, what, i);
}

const char *recipients_refusal(const struct notifier *n, const char *recipient, const char *project,
                               int64_t now_us)
{
	const struct channel *c = NULL;
	const char *who = NULL;
	struct err ignored = { 0 };

	if (channels_find(n->channels, recipient, now_us, &c, &who, &ignored) < 0 ||
	    channel_is_for(c, project))
		return NULL;
	return project ? "the channel is not for this project"
	               : "the channel is for some projects only";
}
