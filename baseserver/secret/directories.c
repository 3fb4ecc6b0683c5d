/* People of a directory are judged here, one after the other: the directory takes their password,
 * and says who they are. Who waits, and in which order they come, is the asker's to say
 * (baseserver/command/sign_directory.c): one question at a time is under way. */
#include "baseserver/secret/directories.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory/directory.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"

struct directories {
	struct actor *me;
	struct directory *directory;
};

void directory_question_done(struct directory_question *q)
{
	sodium_memzero(q->password, sizeof q->password);
	vouched_done(&q->who);
}

static void on_group(void *ctx, const char *dn)
{
	struct vouched *who = ctx;

	who->groups = mem_grow(who->groups, who->n_groups + 1, sizeof *who->groups);
	who->groups[who->n_groups++] = mem_str(dn);
}

static void on_question(struct letter *l, void *self)
{
	struct directory_question *q = (struct directory_question *)l;
	struct directories *d = self;
	struct directory_answer answer = { .ctx = &q->who, .group = on_group };
	struct err err = { 0 };

	q->code = directory_sign_in(d->directory, q->user, q->password, &answer, &err);
	sodium_memzero(q->password, sizeof q->password);
	snprintf(q->text, sizeof q->text, "%s", err.text);
	if (q->code < 0 && q->code != E_AUTH)
		log_warn("ldap.failed", "code=%s why=\"%s\"", err_name(q->code), err.text);
	snprintf(q->who.name, sizeof q->who.name, "%s", q->user);
	snprintf(q->who.subject, sizeof q->who.subject, "%s", answer.subject);
	snprintf(q->who.full_name, sizeof q->who.full_name, "%s", answer.full_name);
	snprintf(q->who.mail, sizeof q->who.mail, "%s", answer.mail);
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		q->discard(&q->letter);
}

int directories_ask(struct directories *d, struct directory_question *q)
{
	CHECK(q->user[0] && q->password[0]);
	q->letter = (struct letter){ .deliver = on_question, .discard = q->discard };
	return actor_post(d->me, &q->letter);
}

static const struct actor_ops ops = { .name = "directories", .letters_max = 16 };

static int directory_new(const struct param_baseserver *p, struct directory **ret, struct err *err)
{
	const struct directory_settings set = { p->ldap_url,
		                                p->ldap_ca_file,
		                                p->ldap_start_tls,
		                                p->ldap_bind_dn,
		                                p->ldap_bind_secret_file,
		                                p->ldap_user_dn,
		                                p->ldap_base,
		                                p->ldap_filter,
		                                p->ldap_group_base,
		                                p->ldap_group_filter,
		                                p->ldap_group_attribute,
		                                p->ldap_name_attribute,
		                                p->ldap_mail_attribute,
		                                p->ldap_timeout_ms };

	return directory_open(&set, ret, err);
}

int directories_check(const struct param_baseserver *p, struct err *err)
{
	struct directory *directory = NULL;
	int r = directory_new(p, &directory, err);

	directory_close(directory);
	return r;
}

int directories_new(struct thread *th, const struct param_baseserver *p, struct directories **ret,
                    struct err *err)
{
	struct directory *directory = NULL;
	int r = directory_new(p, &directory, err);

	if (r < 0)
		return r;
	CHECK(sodium_init() >= 0);
	*ret = mem_new(sizeof **ret);
	(*ret)->directory = directory;
	(*ret)->me = actor_new(th, &ops, *ret);
	return 0;
}

void directories_free(struct directories *d)
{
	if (!d)
		return;
	directory_close(d->directory);
	free(d);
}
