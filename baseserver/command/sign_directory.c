/* People of a directory (LDAP) sign in: where the server has ldap_url it asks the directory itself,
 * and no face's word counts for any of them.
 *
 * Their password comes as everybody's does. Whose it is the documents say: who has one here, or
 * comes from elsewhere, is not asked about there; a name that nobody has may be the directory's.
 * They wait in a queue of their own, for a directory may take seconds, and for those nobody else is
 * to wait. What it says of them is decided where people of a provider are (sign_outside.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/people.h"
#include "baseserver/command/sign_in_impl.h"
#include "baseserver/command/tries.h"
#include "baseserver/model/grants.h"
#include "baseserver/model/peers.h"
#include "baseserver/secret/directories.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

_Static_assert((int)DIRECTORY_USER_MAX == (int)PERSON_NAME, "a name of ours fits");

bool directory__judges(const struct commander *c)
{
	return c->set.directories;
}

bool directory__may_know(const struct commander *c, const char *user)
{
	const struct doc *d = docs_find(&c->docs[DOC_USER], user);

	if (!c->set.directories || strcmp(user, "admin") == 0)
		return false;
	return d ? strcmp(jv_str(doc_json(d), "source"), "ldap") == 0 : person_name_ok(user);
}

/* --- judged ------------------------------------------------------------------------------- */

static void directory_next(struct commander *c);

/* What it could not say was no try. */
static void directory_refused(struct commander *c, struct sign_in *s,
                              const struct directory_question *q)
{
	int64_t now_us = actor_mono_us(c->me);
	struct refusal f = { 0 };

	if (q->code == E_AUTH)
		tries_over(c->sign_ins->tries, s->user, s->network, false, now_us);
	else
		tries_back(c->sign_ins->tries, s->user, s->network, now_us);
	refuse(&f, q->code, q->code == E_AUTH ? NULL : "ldap_url", NULL, "%s", q->text);
	sign__refuse(s, &f);
}

static void directory_judged(struct letter *l, void *self)
{
	struct commander *c = self;
	struct directory_question *q = (struct directory_question *)l;
	struct sign_in *s = c->sign_ins->directory.judged;

	commander_fold(c);
	CHECK(s);
	c->sign_ins->directory.judged = NULL;
	if (q->code < 0) {
		directory_refused(c, s, q);
	} else {
		tries_over(c->sign_ins->tries, s->user, s->network, true, actor_mono_us(c->me));
		s->via = "ldap";
		outside__arrive(c, s, &q->who);
	}
	directory_question_done(q);
	free(q);
	directory_next(c);
}

static void question_discard(struct letter *l)
{
	struct directory_question *q = (struct directory_question *)l;

	directory_question_done(q);
	free(q);
}

static void directory_next(struct commander *c)
{
	struct sign_queue *x = &c->sign_ins->directory;

	while (!x->judged && x->n) {
		struct directory_question *q = mem_new(sizeof *q);
		struct sign_in *s = sign__take_next(x);

		q->reply_to = c->me;
		q->answered = directory_judged;
		q->discard = question_discard;
		snprintf(q->user, sizeof q->user, "%s", s->user);
		snprintf(q->password, sizeof q->password, "%s", s->password);
		sign__wipe(s);
		x->judged = s;
		if (directories_ask(c->set.directories, q) == 0)
			continue;
		question_discard(&q->letter);
		x->judged = NULL;
		sign__not_judged(c, s);
	}
}

void directory__ask(struct commander *c, struct sign_in *s)
{
	struct refusal f = { 0 };

	if (!*s->password) { /* to a directory that is nobody's, and right */
		tries_over(c->sign_ins->tries, s->user, s->network, false, actor_mono_us(c->me));
		refuse(&f, E_AUTH, NULL, NULL, "wrong user or password");
		sign__refuse(s, &f);
		return;
	}
	if (sign__wait(c, &c->sign_ins->directory, s))
		directory_next(c);
}

/* --- a face with a directory of its own ------------------------------------------------------ */

void directory__begin(struct commander *c, struct sign_in *s)
{
	struct client_request *r = s->r;
	struct buf body;

	buf_init(&body);
	put_open(&body, NULL, '{');
	put_bool(&body, "judged", directory__judges(c));
	put_close(&body, '}');
	s->r = NULL;
	sign__free(s);
	request_answer(r, 0, "", &body, 0);
}

void directory__asserted(struct sign_in *s)
{
	struct refusal f = { 0 };

	refuse(&f, E_FORBIDDEN, "via", "upgrade sirdar-cgi",
	       "the server asks the directory (its ldap_url is set): without a password the word "
	       "of "
	       "the face %s lets nobody in",
	       s->r->face);
	sign__refuse(s, &f);
}

void directory__believed(struct commander *c, const struct sign_in *s)
{
	if (!c->sign_ins->is_told)
		log_warn("ldap.believed",
		         "face=%s user=%s it is believed that this is a person of the directory: "
		         "set ldap_url at the server, which asks the directory then",
		         s->r->face, s->user);
	c->sign_ins->is_told = true;
}
