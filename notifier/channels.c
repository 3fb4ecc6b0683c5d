/* The channels file, read whole: with one fault all of it is refused, and a reload keeps the
 * former.
 *
 * Texts are borrowed from the document, which struct channels owns. Kinds of channels, and the
 * keys each needs, are rows of schema/tbl/channel.def. Who is on call is worked out when a letter
 * is due, not when it is made. Nothing is sent here.
 */
#include "notifier/channels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/message.h"
#include "notifier/stored.h"
#include "sched/civil.h"
#include "sched/name.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_read.h"
#include "util/yaml.h"

enum { FILE_BYTES_MAX = 1 << 20, WORDS_MAX = 64 };

struct channels {
	struct yaml_doc *doc; /* owns the texts */
	struct channel *items;
	size_t n;
	enum owners_when owners;
	const struct yaml_node *nodes;  /* recipients; NULL: nobody */
	const struct yaml_node *system; /* [{when, to}]; NULL: nobody */
	struct duty *duties;
	size_t n_duties;
	const struct stored *stored; /* documents; NULL: none yet */
};

#define NO_TEXTS \
	.url = "", .from = "", .user = "", .password = "", .secret = "", .chat = "", \
	.language = "", .ca_file = "", .key_file = ""

/* The console's own: an alert that it is told of stands there, and nothing is sent. */
static const struct channel bell = {
	.type = CH_BELL, .made = CHANNEL_BUILT, .name = "console", NO_TEXTS
};

/* Who is on call: the first from `from_us` on, the next after each `every_us`, round and round. */
struct duty {
	const char *name;
	const struct yaml_node *people; /* recipients */
	int64_t from_us, every_us;
};

/* --- reading ------------------------------------------------------------------------- */

static int channels_wrong(const struct yaml_node *n, const char *path, struct err *err,
                          const char *what)
{
	return err_set(err, E_INVALID, "%s:%d:%d: %s", path, n->line, n->column, what);
}

static const char **text_place(struct channel *ch, const char *key)
{
	const struct {
		const char *key;
		const char **at;
	} texts[] = { { "url", &ch->url },           { "from", &ch->from },
		      { "user", &ch->user },         { "password", &ch->password },
		      { "secret", &ch->secret },     { "chat", &ch->chat },
		      { "language", &ch->language }, { "ca_file", &ch->ca_file },
		      { "key_file", &ch->key_file } };

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (strcmp(texts[i].key, key) == 0)
			return texts[i].at;
	return NULL;
}

static int read_words(const char *key, const struct yaml_node *n, const char *const **ret,
                      const char *path, struct err *err)
{
	const char **words;

	if (n->kind != YAML_LIST || n->n == 0 || n->n > WORDS_MAX)
		return err_set(err, E_INVALID, "%s:%d:%d: %s: want a list of 1 to 64 words", path,
		               n->line, n->column, key);
	words = mem_array(n->n + 1, sizeof *words);
	free((void *)*ret); /* the key was said twice */
	*ret = words;
	for (size_t i = 0; i < n->n; i++) {
		if (n->items[i]->kind != YAML_SCALAR || !n->items[i]->text[0])
			return channels_wrong(n->items[i], path, err,
			                      "want a list of 1 to 64 words");
		words[i] = n->items[i]->text;
	}
	return 0;
}

static int read_argv(struct channel *ch, const struct yaml_node *n, const char *path,
                     struct err *err)
{
	int r = read_words("argv", n, &ch->argv, path, err);

	return r < 0 || ch->argv[0][0] == '/'
	               ? r
	               : channels_wrong(n, path, err, "argv: the program's path begins with /");
}

static int read_key(struct channel *ch, const char *key, const struct yaml_node *n,
                    const char *path, struct err *err)
{
	const char **at = text_place(ch, key);

	if (strcmp(key, "type") == 0)
		return 0; /* read first */
	if (strcmp(key, "argv") == 0)
		return read_argv(ch, n, path, err);
	if (strcmp(key, "hosts") == 0)
		return read_words(key, n, &ch->hosts, path, err);
	if (strcmp(key, "insecure") == 0)
		return yaml_bool(n, &ch->insecure)
		               ? 0
		               : channels_wrong(n, path, err, "insecure: want true or false");
	if (!at)
		return channels_wrong(
			n, path, err,
			"no key of a channel: type, url, from, user, password, secret, chat, argv, "
			"language, ca_file, insecure, hosts, key_file");
	/* CR and LF would begin new header lines. */
	if (n->kind != YAML_SCALAR || !n->text[0] || strpbrk(n->text, "\r\n"))
		return channels_wrong(n, path, err, "want one line of text");
	*at = n->text;
	return 0;
}

static bool has_need(const struct channel *ch, const char *need, size_t len)
{
	char key[16] = "";
	const char **at;

	memcpy(key, need, len < sizeof key ? len : sizeof key - 1);
	if (strcmp(key, "argv") == 0)
		return ch->argv != NULL;
	at = text_place((struct channel *)ch, key);
	return at && (*at)[0];
}

static bool is_local(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "localhost", 9) == 0 ||
	       strncmp(host, "[::1]", 5) == 0;
}

/* Whom a push service may write to: it refuses a signature that does not say so. */
static int check_contact(const struct channel *ch, const struct yaml_node *n, const char *path,
                         struct err *err)
{
	if (strcmp(ch->name, "push") != 0)
		return channels_wrong(n, path, err,
		                      "a channel of type push is called push: there is one");
	if (strncmp(ch->from, "mailto:", 7) != 0 && strncmp(ch->from, "https://", 8) != 0)
		return channels_wrong(
			n, path, err,
			"from: want who answers for it, mailto:ADDRESS or https://...");
	return 0;
}

/* Secrets do not go over a network in the clear unless somebody asked for it. */
static int check_url(const struct channel *ch, const struct yaml_node *n, const char *path,
                     struct err *err)
{
	bool mail = ch->type == CH_MAIL;
	bool tls = strncmp(ch->url, mail ? "smtps://" : "https://", 8) == 0;
	bool plain = strncmp(ch->url, mail ? "smtp://" : "http://", 7) == 0;

	if (ch->type == CH_SCRIPT)
		return 0;
	if (ch->type == CH_FILE)
		return word_ok(ch->name) ? 0
		                         : channels_wrong(n, path, err,
		                                          "a channel of type file is the file's "
		                                          "name: letters, digits, _ . -");
	if (ch->type == CH_PUSH)
		return check_contact(ch, n, path, err);
	if (!tls && !plain)
		return channels_wrong(n, path, err,
		                      mail ? "url: want smtp://HOST or smtps://HOST"
		                           : "url: want https://...");
	if (plain && !mail && !ch->insecure && !is_local(ch->url))
		return channels_wrong(n, path, err,
		                      "url: want https://, or `insecure: true` for http");
	return 0;
}

static int read_channel(struct channel *ch, const struct yaml_node *name, const struct yaml_node *n,
                        const char *path, struct err *err)
{
	const struct yaml_node *type = n->kind == YAML_MAP ? yaml_get(n, "type") : NULL;
	int r = 0;

	*ch = (struct channel){ .name = name->text, NO_TEXTS };
	if (n->kind != YAML_MAP || !type || !channel_type_of(type->text, &ch->type) ||
	    ch->type == CH_BELL)
		return channels_wrong(
			type ? type : n, path, err,
			"type: want mail, webhook, dingtalk, wecom, feishu, slack, telegram, "
			"pagerduty, alertmanager, push, script or file");
	for (size_t i = 0; i < n->n && r == 0; i++)
		r = read_key(ch, n->keys[i]->text, n->items[i], path, err);
	for (const char *need = channel_type_needs(ch->type); r == 0 && *need;) {
		size_t len = strcspn(need, " ");
		if (!has_need(ch, need, len))
			return err_set(err, E_INVALID,
			               "%s:%d:%d: channel %.64s of type %s needs `%.*s`", path,
			               n->line, n->column, name->text, channel_type_name(ch->type),
			               (int)len, need);
		need += len + (need[len] == ' ');
	}
	if (r == 0 && ch->language[0] && strcmp(ch->language, "en") != 0 &&
	    strcmp(ch->language, "zh") != 0)
		return channels_wrong(n, path, err, "language: want en or zh");
	return r < 0 ? r : check_url(ch, n, path, err);
}

static int read_owners(struct channels *c, const struct yaml_node *n, const char *path,
                       struct err *err)
{
	static const char *const names[] = { "never", "failed", "done" };

	for (int i = 0; i < 3; i++)
		if (yaml_is(n, names[i])) {
			c->owners = (enum owners_when)i;
			return 0;
		}
	return channels_wrong(n, path, err, "owners: want never, failed or done");
}

static int read_recipient(const struct channels *c, const struct yaml_node *n, const char *path,
                          struct err *err)
{
	const struct channel *ch;
	const char *who;
	struct err why = { 0 };

	if (n->kind == YAML_SCALAR && channels_find(c, n->text, 0, &ch, &who, &why) == 0)
		return 0;
	return channels_wrong(n, path, err, why.text[0] ? why.text : "want a recipient, TYPE:WHO");
}

static int read_duty(struct channels *c, const struct yaml_node *name, const struct yaml_node *n,
                     const char *path, struct err *err)
{
	bool is_map = n->kind == YAML_MAP;
	const struct yaml_node *people = is_map ? yaml_get(n, "people") : NULL;
	const struct yaml_node *from = is_map ? yaml_get(n, "from") : NULL;
	const struct yaml_node *every = is_map ? yaml_get(n, "every") : NULL;
	struct duty *d = &c->duties[c->n_duties];
	struct when at = { 0 };
	int r = 0;

	for (size_t i = 0; is_map && i < n->n; i++)
		if (n->items[i] != people && n->items[i] != from && n->items[i] != every)
			return channels_wrong(n->keys[i], path, err,
			                      "no key here: people, from, every");
	*d = (struct duty){ .name = name->text,
		            .people = people,
		            .every_us = 7 * DAY_S * US_PER_S };
	if (!people || people->kind != YAML_LIST || people->n == 0)
		return channels_wrong(people ? people : n, path, err,
		                      "people: want a list of recipients");
	for (size_t i = 0; i < people->n && r == 0; i++)
		r = read_recipient(c, people->items[i], path, err);
	if (r < 0)
		return r;
	if (every && (every->kind != YAML_SCALAR || !duration_parse_us(every->text, &d->every_us) ||
	              d->every_us < 60 * US_PER_S))
		return channels_wrong(every, path, err,
		                      "every: want a duration from 1m on, such as 7d");
	if (!from || from->kind != YAML_SCALAR || !when_parse(from->text, WHEN_NO_NOW, &at) ||
	    when_is_local(&at))
		return channels_wrong(
			from ? from : n, path, err,
			"from: want the instant of the first handover, 2026-03-02T09:00:00+08:00");
	d->from_us = at.at * US_PER_S;
	c->n_duties++; /* only now: nobody is on call for himself */
	return 0;
}

static int read_duties(struct channels *c, const struct yaml_node *n, const char *path,
                       struct err *err)
{
	int r = 0;

	if (n->kind != YAML_MAP)
		return channels_wrong(n, path, err,
		                      "oncall: want a map of names to {people, from, every}");
	c->duties = mem_array(n->n + 1, sizeof *c->duties);
	for (size_t i = 0; i < n->n && r == 0; i++)
		r = read_duty(c, n->keys[i], n->items[i], path, err);
	return r;
}

static int read_nodes(struct channels *c, const struct yaml_node *n, const char *path,
                      struct err *err)
{
	int r = 0;

	if (n->kind != YAML_LIST)
		return channels_wrong(n, path, err, "nodes: want a list of recipients, TYPE:WHO");
	for (size_t i = 0; i < n->n && r == 0; i++)
		r = read_recipient(c, n->items[i], path, err);
	if (r < 0)
		return r;
	c->nodes = n;
	return 0;
}

static bool is_system_word(const struct yaml_node *n)
{
	int what = n->kind == YAML_SCALAR ? happening_from_word(n->text) : -1;

	return what >= HP_BROKER_LOST;
}

static int read_rule(struct channels *c, const struct yaml_node *n, const char *path,
                     struct err *err)
{
	const struct yaml_node *when = n->kind == YAML_MAP ? yaml_get(n, "when") : NULL;
	const struct yaml_node *to = n->kind == YAML_MAP ? yaml_get(n, "to") : NULL;
	int r = 0;

	if (!when || when->kind != YAML_LIST || !to || to->kind != YAML_LIST || n->n != 2)
		return channels_wrong(n, path, err, "system: want {when: [...], to: [...]}");
	for (size_t i = 0; i < when->n; i++)
		if (!is_system_word(when->items[i]))
			return channels_wrong(
				when->items[i], path, err,
				"when: want broker_lost, broker_back, plugin_down, plugin_back, "
				"broker_twice, starts_fail, peer_misbehaves, quarantine, crowded, "
				"trouble, disk, partition, mended or leader_changed");
	for (size_t i = 0; i < to->n && r == 0; i++)
		r = read_recipient(c, to->items[i], path, err);
	return r;
}

static int read_system(struct channels *c, const struct yaml_node *n, const char *path,
                       struct err *err)
{
	int r = 0;

	if (n->kind != YAML_LIST)
		return channels_wrong(n, path, err,
		                      "system: want a list of {when: [...], to: [...]}");
	for (size_t i = 0; i < n->n && r == 0; i++)
		r = read_rule(c, n->items[i], path, err);
	c->system = n;
	return r;
}

static int read_all(struct channels *c, const char *path, struct err *err)
{
	const struct yaml_node *root = yaml_root(c->doc), *list;
	int r = 0;

	list = root->kind == YAML_MAP ? yaml_get(root, "channels") : NULL;
	if (!list || list->kind != YAML_MAP)
		return channels_wrong(root, path, err,
		                      "want `channels:`, a map of names to channels");
	for (size_t i = 0; i < root->n; i++)
		if (strcmp(root->keys[i]->text, "channels") != 0 &&
		    strcmp(root->keys[i]->text, "owners") != 0 &&
		    strcmp(root->keys[i]->text, "nodes") != 0 &&
		    strcmp(root->keys[i]->text, "oncall") != 0 &&
		    strcmp(root->keys[i]->text, "system") != 0)
			return channels_wrong(
				root->keys[i], path, err,
				"no key here: channels, owners, nodes, oncall, system");
	c->items = mem_array(list->n + 1, sizeof *c->items);
	for (size_t i = 0; i < list->n && r == 0; i++, c->n++)
		r = read_channel(&c->items[i], list->keys[i], list->items[i], path, err);
	if (r == 0 && yaml_get(root, "owners"))
		r = read_owners(c, yaml_get(root, "owners"), path, err);
	if (r == 0 && yaml_get(root, "oncall"))
		r = read_duties(c, yaml_get(root, "oncall"), path, err);
	if (r == 0 && yaml_get(root, "system"))
		r = read_system(c, yaml_get(root, "system"), path, err);
	if (r == 0 && yaml_get(root, "nodes"))
		r = read_nodes(c, yaml_get(root, "nodes"), path, err);
	return r;
}

int channels_read(const char *path, struct channels **ret_channels, struct err *err)
{
	struct channels *c = mem_new(sizeof *c);
	struct yaml_doc **docs = NULL;
	struct diags d;
	struct buf text;
	size_t n = 0;
	int r;

	buf_init(&text);
	diags_init(&d);
	r = fs_read_secret(path, FILE_BYTES_MAX, &text, err);
	if (r == 0) {
		r = yaml_read(buf_str(&text), text.len, path, &d, &docs, &n);
		if (r < 0)
			err_set(err, E_INVALID, "%s:%d:%d: %s", path, d.items[0].at.line,
			        d.items[0].at.column, d.items[0].message);
	}
	if (r == 0 && n != 1)
		r = err_set(err, E_INVALID, "%s: want one document, `channels:`", path);
	for (size_t i = 1; i < n; i++)
		yaml_free(docs[i]);
	if (n > 0)
		c->doc = docs[0];
	if (r == 0)
		r = read_all(c, path, err);
	free(docs);
	buf_done(&text);
	diags_done(&d);
	if (r < 0)
		channels_free(c);
	else
		*ret_channels = c;
	return r;
}

struct channels *channels_none(void)
{
	return mem_new(sizeof(struct channels));
}

void channels_free(struct channels *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		free((void *)c->items[i].argv);
		free((void *)c->items[i].hosts);
	}
	free(c->items);
	free(c->duties);
	yaml_free(c->doc);
	free(c);
}

enum owners_when channels_owners(const struct channels *c)
{
	return c->owners;
}

const char *channels_node_recipient(const struct channels *c, size_t i)
{
	return c->nodes && i < c->nodes->n ? c->nodes->items[i]->text : NULL;
}

static bool channels_says(const struct yaml_node *list, const char *word)
{
	for (size_t i = 0; word && i < list->n; i++)
		if (strcmp(list->items[i]->text, word) == 0)
			return true;
	return !word;
}

const char *channels_system_recipient(const struct channels *c, const char *word, size_t i)
{
	for (size_t k = 0; c->system && k < c->system->n; k++) {
		const struct yaml_node *to = yaml_get(c->system->items[k], "to");
		if (!channels_says(yaml_get(c->system->items[k], "when"), word))
			continue;
		if (i < to->n)
			return to->items[i]->text;
		i -= to->n;
	}
	return NULL;
}

/* --- who serves a recipient ---------------------------------------------------------- */

static const struct channel *notifier_channels_find(const struct channels *c,
                                                    enum channel_type type, const char *name)
{
	const struct channel *one;

	for (size_t i = 0; (one = channels_at(c, i)); i++)
		if (one->type == type && strcmp(one->name, name) == 0)
			return one;
	return NULL;
}

static const char *on_duty(const struct duty *d, int64_t now_us)
{
	int64_t turn = now_us < d->from_us ? 0 : (now_us - d->from_us) / d->every_us;

	return d->people->items[(size_t)turn % d->people->n]->text;
}

void channels_use(struct channels *c, const struct stored *s)
{
	c->stored = s;
}

size_t channels_count(const struct channels *c)
{
	return c->n + stored_count(c->stored) + 1;
}

const struct channel *channels_at(const struct channels *c, size_t i)
{
	if (i < c->n)
		return &c->items[i];
	i -= c->n;
	return i < stored_count(c->stored)    ? stored_at(c->stored, i)
	       : i == stored_count(c->stored) ? &bell
	                                      : NULL;
}

size_t channels_place(const struct channels *c, const struct channel *one)
{
	size_t i = 0;

	while (channels_at(c, i) && channels_at(c, i) != one)
		i++;
	return i;
}

const struct channel *channels_of_type(const struct channels *c, enum channel_type type)
{
	const struct channel *one;

	for (size_t i = 0; (one = channels_at(c, i)); i++)
		if (one->type == type)
			return one;
	return NULL;
}

bool channel_is_for(const struct channel *c, const char *project)
{
	const struct jval *list = c->projects;

	return !jv_first(list) || jv_has(list, "*") || (project && jv_has(list, project));
}

bool channels_list_at(const struct channels *c, size_t i, const char **ret_name,
                      const char **ret_now, int64_t now_us)
{
	if (i >= c->n_duties)
		return false;
	*ret_name = c->duties[i].name;
	*ret_now = on_duty(&c->duties[i], now_us);
	return true;
}

#define ONCALL "oncall:"

/* "oncall:NAME": who it is by then; others are themselves. NULL: no such list. */
static const char *stand_in(const struct channels *c, const char *recipient, int64_t now_us)
{
	if (strncmp(recipient, ONCALL, strlen(ONCALL)) != 0)
		return recipient;
	for (size_t i = 0; i < c->n_duties; i++)
		if (strcmp(c->duties[i].name, recipient + strlen(ONCALL)) == 0)
			return on_duty(&c->duties[i], now_us);
	return NULL;
}

int channels_find(const struct channels *c, const char *recipient, int64_t now_us,
                  const struct channel **ret_channel, const char **ret_who, struct err *err)
{
	const char *one = stand_in(c, recipient, now_us);
	size_t n = one ? strcspn(one, ":") : 0;
	char kind[40] = "";
	enum channel_type type;

	if (!one)
		return err_set(err, E_NOT_FOUND, "there is no on-call list '%.64s'",
		               recipient + strlen(ONCALL));
	snprintf(kind, sizeof kind, "%.*s", (int)n, one);
	if (!one[n] || !channel_type_of(kind, &type))
		return err_set(err, E_NOT_FOUND, "'%.80s' is nobody to tell, want TYPE:WHO", one);
	const char *who = one + n + 1;
	bool personal = channel_is_personal(type);
	const char *name = personal ? channel_type_name(type) : who;
	*ret_channel = notifier_channels_find(c, type, name);
	*ret_who = personal ? who : "";
	if (!*ret_channel)
		return err_set(err, E_NOT_FOUND, "there is no channel '%.64s' of type %s", name,
		               channel_type_name(type));
	return 0;
}
