/* Somebody signs in, at a face. A person's password is judged here, by the hash in his document; of
 * people whose password is kept elsewhere (LDAP, OpenID) a face asserts that they are who they say,
 * as far as its document lets it (enum asserts).
 *
 * A try with a password is booked before it is judged, and waits: one at a time is hashed, on a
 * thread of its own, in turns between faces, and within one between networks, so that whoever sends
 * many waits for himself. Of who has confirmed a second factor a code comes with the password: it
 * is spent (commander_factor.c) before anything is made, and without one nothing is. What comes of
 * it is
 *   - a session, answered when it is durable (commander_session.c), or
 *   - with `brief` a secret for two minutes, in memory, for what follows at once, or
 *   - with `session` nothing new: that session's person has proven himself for ten minutes.
 * A secret leaves once, in the answer; its hash is kept. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "baseserver/command/tries.h"
#include "baseserver/model/grants.h"
#include "baseserver/model/peers.h"
#include "baseserver/secret/passwords.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"
#include "util/network.h"

enum { WAITING_MAX = 256, LANE_MAX = 16, TURNS = 1024, LANE_TEXT = 136, LIFE_MAX_S = 90 * 86400 };
#define BRIEF_US  (120 * US_PER_S)
#define PROVEN_US (600 * US_PER_S)

struct sign_in {
	struct client_request *r; /* who asks; owned */
	const struct jval *args;  /* owned; borrowed by what follows */
	const char *user, *via, *password, *code;
	char network[NETWORK_TEXT];
	char secret[CREDENTIAL_TEXT]; /* minted, not durable yet; "": not that far */
	uint64_t came;                /* the turn at which it began to wait */
	int64_t since;                /* of the person whose password was right */
	int64_t factor;               /* the mark of his second factor; 0: he has none */
	bool is_booked;
};

struct sign_ins {
	struct tries *tries;
	struct sign_in *waiting[WAITING_MAX]; /* as they came */
	size_t n;
	struct sign_in *judged;   /* its password is being hashed; NULL: none is */
	struct sign_in **keeping; /* their codes, or sessions, become durable */
	size_t n_keeping, cap;
	uint64_t turn, turns[TURNS]; /* when a face, or a lane of it, had its last turn, by hash */
};

static void sign_free(struct sign_in *s)
{
	if (!s)
		return;
	if (s->code)
		sodium_memzero((char *)(uintptr_t)s->code, strlen(s->code));
	client_request_free(s->r);
	jv_free(s->args);
	sodium_memzero(s, sizeof *s);
	free(s);
}

/* The password is in what came and in what was read of it: neither is kept. */
static void password_wipe(struct sign_in *s)
{
	if (s->password)
		sodium_memzero((char *)(uintptr_t)s->password, strlen(s->password));
	s->password = NULL;
	sodium_memzero(s->r->args, s->r->args_len);
}

static void sign_refuse(struct sign_in *s, struct refusal *f)
{
	struct client_request *r = s->r;

	password_wipe(s);
	s->r = NULL;
	sign_free(s);
	request_refuse(r, f);
}

static void sign_answer(struct sign_in *s, uint64_t number)
{
	struct client_request *r = s->r;
	struct buf body;

	buf_init(&body);
	put_open(&body, NULL, '{');
	if (s->secret[0])
		put_text(&body, "session", s->secret);
	put_int(&body, "since", s->since);
	put_int(&body, "factor", s->factor);
	put_close(&body, '}');
	s->r = NULL;
	sign_free(s);
	request_answer(r, 0, "", &body, number);
}

/* --- who it is ---------------------------------------------------------------------------- */

static const struct jval *person_of(const struct commander *c, const char *user)
{
	const struct doc *d = docs_find(&c->docs[DOC_USER], user);

	return d ? doc_json(d) : NULL;
}

static const char *source_of(const struct jval *person)
{
	const char *source = jv_str(person, "source");

	return *source ? source : "local";
}

static bool is_outside(const struct jval *person)
{
	return person && strcmp(source_of(person), "local") != 0;
}

/* No administrator, unless the document of the face says that it asserts those too. */
static int check_asserted(const struct commander *c, const struct sign_in *s, struct refusal *f)
{
	enum asserts asserts = grants_asserts(c->docs, s->r->face);
	struct grantee g = { .name = s->user,
		             .person = person_of(c, s->user),
		             .groups = &c->docs[DOC_GROUP] };

	if (!g.person || jv_true(g.person, "disabled") || strcmp(source_of(g.person), s->via) != 0)
		return refuse(f, E_FORBIDDEN, "user", "sirdar user show",
		              "'%.64s' is not a user of %s, or may not sign in", s->user, s->via);
	if (asserts == ASSERTS_NOBODY ||
	    (asserts != ASSERTS_ADMIN && grants_role(&g) == LEAST_ADMIN))
		return refuse(f, E_FORBIDDEN, "user", "sirdar peer show",
		              "the face %s may not assert that it is '%.64s': it asserts %s",
		              s->r->face, s->user, asserts_word(asserts));
	return 0;
}

/* --- it is he ----------------------------------------------------------------------------- */

/* A command of the person's own, so that it is at a standby; `then` with the answer. */
static void give_command(struct commander *c, struct sign_in *s, enum command_kind kind,
                         struct buf *args, void (*then)(struct letter *l, void *self))
{
	struct sign_ins *x = c->sign_ins;
	struct client_request *r = client_request_new(command_kind_name(kind), buf_str(args),
	                                              args->len);

	sodium_memzero((char *)(uintptr_t)buf_str(args), args->len);
	buf_done(args);
	r->actor = mem_str(s->user);
	r->request_id = mem_fmt("sign-in-%016" PRIx64 "%016" PRIx64,
	                        (uint64_t)randombytes_random() << 32 | randombytes_random(),
	                        (uint64_t)randombytes_random() << 32 | randombytes_random());
	r->reply_to = c->me;
	r->answered = then;
	r->ctx = s;
	x->keeping = mem_room(x->keeping, &x->cap, x->n_keeping + 1, sizeof(struct sign_in *));
	x->keeping[x->n_keeping++] = s;
	int code = commander_command(c, r);
	if (code < 0) {
		r->code = code;
		snprintf(r->text, sizeof r->text, "%s", err_text(code));
		then(&r->letter, c);
	}
}

/* Whose command it was, which is answered. */
static struct sign_in *take_answered(struct commander *c, struct client_request *r)
{
	struct sign_ins *x = c->sign_ins;
	size_t at = 0;

	while (at < x->n_keeping && x->keeping[at] != r->ctx)
		at++;
	CHECK(at < x->n_keeping);
	x->keeping[at] = x->keeping[--x->n_keeping];
	sodium_memzero(r->args, r->args_len);
	return r->ctx;
}

static void session_kept(struct letter *l, void *self)
{
	struct commander *c = self;
	struct client_request *r = (struct client_request *)l;
	struct sign_in *s = take_answered(c, r);

	if (r->code == 0) {
		log_info("sign-in.done", "user=%s via=%s face=%s", s->user, s->via, s->r->face);
		sign_answer(s, r->number);
	} else {
		struct refusal f = { 0 };

		refuse(&f, r->code, NULL, NULL, "%s", r->text);
		sign_refuse(s, &f);
	}
	client_request_free(r);
}

static void print_session(const struct commander *c, const struct sign_in *s, struct buf *out)
{
	int64_t life_s = jv_int(s->args, "life_s", 0);
	char hex[CREDENTIAL_HEX], id[SESSION_ID];
	unsigned char bytes[(SESSION_ID - 1) / 2];

	randombytes_buf(bytes, sizeof bytes);
	sodium_bin2hex(id, sizeof id, bytes, sizeof bytes);
	credential_hash(s->secret, hex);
	put_open(out, NULL, '{');
	put_text(out, "user", s->user);
	put_text(out, "session", id);
	put_text(out, "hash", hex);
	put_text(out, "via", s->via);
	put_text(out, "address", jv_str(s->args, "address"));
	put_text(out, "agent", jv_str(s->args, "agent"));
	put_text(out, "face", s->r->face);
	put_int(out, "since", s->since);
	put_int(out, "factor", s->factor);
	put_int(out, "expires",
	        actor_wall_us(c->me) / US_PER_S +
	                (life_s > 0 && life_s < LIFE_MAX_S ? life_s : LIFE_MAX_S));
	put_close(out, '}');
}

/* The command is in the audit, too. */
static void session_mint(struct commander *c, struct sign_in *s)
{
	struct buf args;

	buf_init(&args);
	print_session(c, s, &args);
	give_command(c, s, CK_SESSION_BEGIN, &args, session_kept);
}

static void proof_keep(struct commander *c, const struct sign_in *s, const char *secret,
                       bool is_alone)
{
	struct proof p = { .since = s->since, .factor = s->factor, .is_alone = is_alone };

	credential_hash(secret, p.hash);
	snprintf(p.user, sizeof p.user, "%s", s->user);
	p.until_us = actor_mono_us(c->me) + (is_alone ? BRIEF_US : PROVEN_US);
	credential_prove(&c->credentials, &p);
}

static void sign_right(struct commander *c, struct sign_in *s)
{
	struct credential has = { 0 };
	struct refusal f = { 0 };

	if (s->r->credential && *s->r->credential) {
		if (credential_find(&c->credentials, c->docs, s->r->credential,
		                    actor_wall_us(c->me), actor_mono_us(c->me), &has) &&
		    !has.token && strcmp(has.user, s->user) == 0) {
			proof_keep(c, s, s->r->credential, false);
			sign_answer(s, 0);
			return;
		}
		refuse(&f, E_AUTH, "session", "sign in again", "this session is over");
		sign_refuse(s, &f);
		return;
	}
	credential_new(s->secret);
	bool is_brief = jv_true(s->args, "brief");
	proof_keep(c, s, s->secret, is_brief);
	if (is_brief)
		sign_answer(s, 0);
	else
		session_mint(c, s);
}

/* --- a second factor ---------------------------------------------------------------------- */

static void try_over(struct commander *c, const struct sign_in *s, bool is_right)
{
	tries_over(c->sign_ins->tries, s->user, s->network, is_right, actor_mono_us(c->me));
}

/* It is spent, durably; nobody has seen a session yet. */
static void code_judged(struct letter *l, void *self)
{
	struct commander *c = self;
	struct client_request *r = (struct client_request *)l;
	struct sign_in *s = take_answered(c, r);
	struct refusal f = { 0 };

	commander_fold(c);
	if (r->code == 0 || r->code == E_AUTH)
		try_over(c, s, r->code == 0);
	else
		tries_back(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));
	if (r->code == 0) {
		sign_right(c, s);
	} else {
		refuse(&f, r->code, "code",
		       r->code == E_AUTH ? "wait for the next code of the device" : NULL, "%s",
		       r->text);
		sign_refuse(s, &f);
	}
	client_request_free(r);
}

/* The password was right; until a code is, nothing was, so that nobody makes up for wrong codes
 * with a password that he knows. */
static void code_ask(struct commander *c, struct sign_in *s)
{
	struct refusal f = { 0 };
	struct buf args;

	if (s->r->credential && *s->r->credential) { /* that session began with a code */
		tries_back(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));
		sign_right(c, s);
		return;
	}
	if (!s->code || !*s->code) {
		tries_back(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));
		refuse(&f, E_FACTOR, "code", "six digits of the device, or a recovery code: `code`",
		       "the password is right; a code of the second factor is wanted too");
		sign_refuse(s, &f);
		return;
	}
	buf_init(&args);
	put_open(&args, NULL, '{');
	put_text(&args, "user", s->user);
	put_text(&args, "code", s->code);
	put_close(&args, '}');
	give_command(c, s, CK_FACTOR_USE, &args, code_judged);
}

/* --- in turns ----------------------------------------------------------------------------- */

static void lane_of(const struct sign_in *s, char ret[LANE_TEXT])
{
	snprintf(ret, LANE_TEXT, "%.80s %s", s->r->face, s->network);
}

static uint64_t *turn_of(struct sign_ins *x, const char *text)
{
	return &x->turns[map_text(text) % TURNS];
}

static bool same_lane(const struct sign_in *a, const struct sign_in *b)
{
	return strcmp(a->r->face, b->r->face) == 0 && strcmp(a->network, b->network) == 0;
}

/* How many wait of its face, and of its lane. */
struct length {
	size_t face, lane;
};

static struct length length_of(const struct sign_ins *x, const struct sign_in *s)
{
	struct length n = { 0, 0 };

	for (size_t i = 0; i < x->n; i++) {
		n.face += strcmp(x->waiting[i]->r->face, s->r->face) == 0;
		n.lane += same_lane(x->waiting[i], s);
	}
	return n;
}

static struct sign_in *take_at(struct sign_ins *x, size_t at)
{
	struct sign_in *s = x->waiting[at];

	CHECK(at < x->n);
	x->n--;
	memmove(&x->waiting[at], &x->waiting[at + 1], (x->n - at) * sizeof x->waiting[0]);
	return s;
}

/* The face, and in it the lane, that has waited for its turn for longest. A lane that never had one
 * has waited since it came: else networks that are invented would always come first. */
static struct sign_in *take_next(struct sign_ins *x)
{
	uint64_t best[2] = { UINT64_MAX, UINT64_MAX };
	char lane[LANE_TEXT];
	size_t at = 0;

	for (size_t i = 0; i < x->n; i++) {
		lane_of(x->waiting[i], lane);
		uint64_t face = *turn_of(x, x->waiting[i]->r->face), of = *turn_of(x, lane);
		of = of > x->waiting[i]->came ? of : x->waiting[i]->came;
		if (face > best[0] || (face == best[0] && of >= best[1]))
			continue;
		best[0] = face;
		best[1] = of;
		at = i;
	}
	struct sign_in *s = take_at(x, at);
	lane_of(s, lane);
	*turn_of(x, s->r->face) = *turn_of(x, lane) = ++x->turn;
	return s;
}

/* The last of the longest lane, of the face of which most wait: it gives its place to one whose
 * face, or in it whose lane, is shorter. */
static size_t longest_last(const struct sign_ins *x, struct length *ret)
{
	size_t at = 0;

	*ret = (struct length){ 0, 0 };
	for (size_t i = 0; i < x->n; i++) {
		struct length n = length_of(x, x->waiting[i]);

		if (n.face < ret->face || (n.face == ret->face && n.lane < ret->lane))
			continue;
		*ret = n;
		at = i;
	}
	return at;
}

/* It was not judged: no try of anybody. */
static void sign_busy(struct commander *c, struct sign_in *s)
{
	struct refusal f = { 0 };

	if (s->is_booked)
		tries_back(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));

	refuse(&f, E_BUSY, NULL, NULL, "too many sign-ins wait for their turn, try again");
	sign_refuse(s, &f);
}

static void judge_next(struct commander *c);

static void password_judged(struct letter *l, void *self)
{
	struct commander *c = self;
	struct password_question *q = (struct password_question *)l;
	struct sign_in *s = c->sign_ins->judged;
	struct refusal f = { 0 };

	commander_fold(c);
	CHECK(s);
	c->sign_ins->judged = NULL;
	const struct jval *p = person_of(c, s->user);
	bool right = q->is_right && p && !jv_true(p, "disabled") && !is_outside(p) &&
	             jv_int(p, "since", 0) == s->since;
	free(q);
	s->factor = factor_marked(c->docs, s->user);
	if (right && s->factor != 0) {
		code_ask(c, s);
	} else if (right) {
		try_over(c, s, true);
		sign_right(c, s);
	} else {
		try_over(c, s, false);
		refuse(&f, E_AUTH, NULL, NULL, "wrong user or password");
		sign_refuse(s, &f);
	}
	judge_next(c);
}

static void question_discard(struct letter *l)
{
	struct password_question *q = (struct password_question *)l;

	sodium_memzero(q->password, sizeof q->password);
	free(q);
}

static void judge_next(struct commander *c)
{
	struct sign_ins *x = c->sign_ins;

	while (!x->judged && x->n) {
		struct password_question *q = mem_new(sizeof *q);
		struct sign_in *s = take_next(x);
		const struct jval *p = person_of(c, s->user);

		q->reply_to = c->me;
		q->answered = password_judged;
		q->discard = question_discard;
		s->since = jv_int(p, "since", 0);
		if (p && !jv_true(p, "disabled") && !is_outside(p))
			snprintf(q->hash, sizeof q->hash, "%s", jv_str(p, "secret"));
		snprintf(q->password, sizeof q->password, "%s", s->password);
		password_wipe(s);
		x->judged = s;
		if (passwords_ask(c->set.passwords, q) == 0)
			continue;
		question_discard(&q->letter);
		x->judged = NULL;
		sign_busy(c, s);
	}
}

/* --- it comes in -------------------------------------------------------------------------- */

static int sign_read(struct sign_in *s, struct refusal *f)
{
	static const char *const vias[] = { "password", "ldap", "oidc", NULL };
	int via = -1;
	struct err err = { 0 };

	if (jv_parse_args(s->r->args, s->r->args_len, &s->args, &err) < 0)
		return refuse(f, E_INVALID, NULL, NULL, "%s", err.text);
	s->password = jv_text(s->args, "password");
	s->code = jv_text(s->args, "code");
	if (arg_choice(s->args, "args", "via", vias, &via, f) < 0)
		return f->code;
	s->user = jv_str(s->args, "user");
	s->via = via < 0 ? "password" : vias[via];
	network_of(jv_str(s->args, "address"), 3, s->network);
	if (!*s->user || strlen(s->user) >= PERSON_NAME)
		return refuse(f, E_AUTH, NULL, NULL, "wrong user or password");
	if (strcmp(s->via, "password") != 0)
		return 0;
	if (!s->password || strlen(s->password) > PASSWORD_BYTES_MAX)
		return refuse(f, E_AUTH, NULL, NULL, "wrong user or password");
	return 0;
}

static int try_take(struct commander *c, struct sign_in *s, struct refusal *f)
{
	int64_t wait_us = tries_take(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));

	s->is_booked = wait_us == 0;
	return s->is_booked ? 0
	                    : refuse(f, E_LIMIT, "login_tries_per_minute", NULL,
	                             "too many wrong passwords, wait %" PRId64 " s",
	                             (int64_t)(wait_us / US_PER_S + 1));
}

static void sign_wait(struct commander *c, struct sign_in *s)
{
	struct sign_ins *x = c->sign_ins;
	struct length own = length_of(x, s), longest;

	if (own.lane >= LANE_MAX) {
		sign_busy(c, s);
		return;
	}
	if (x->n == WAITING_MAX) {
		size_t at = longest_last(x, &longest);
		bool is_shorter = own.face + 1 < longest.face ||
		                  (own.face == longest.face && own.lane + 1 < longest.lane);
		struct sign_in *gives = is_shorter ? take_at(x, at) : s;

		sign_busy(c, gives);
		if (gives == s)
			return;
	}
	s->came = x->turn;
	x->waiting[x->n++] = s;
	judge_next(c);
}

static void on_sign_in(struct letter *l, void *self)
{
	struct commander *c = self;
	struct refusal f = { 0 };
	struct sign_in *s = mem_new(sizeof *s);

	commander_fold(c);
	s->r = (struct client_request *)l;
	CHECK(s->r->face);
	int code = sign_read(s, &f);
	bool by_password = code == 0 && strcmp(s->via, "password") == 0;
	if (code == 0)
		code = by_password ? try_take(c, s, &f) : check_asserted(c, s, &f);
	if (code < 0) {
		sign_refuse(s, &f);
	} else if (by_password) {
		sign_wait(c, s);
	} else {
		s->since = jv_int(person_of(c, s->user), "since", 0);
		sign_right(c, s);
	}
}

int commander_sign_in(struct commander *c, struct client_request *r)
{
	if (!c->set.passwords)
		return E_UNSUPPORTED;
	r->letter.deliver = on_sign_in;
	return actor_post(c->me, &r->letter);
}

/* --- life --------------------------------------------------------------------------------- */

void sign_ins__init(struct commander *c)
{
	c->sign_ins = mem_new(sizeof *c->sign_ins);
	c->sign_ins->tries = tries_new(c->set.login_tries);
}

void sign_ins__done(struct commander *c)
{
	struct sign_ins *x = c->sign_ins;

	if (!x)
		return;
	for (size_t i = 0; i < x->n; i++)
		sign_free(x->waiting[i]);
	for (size_t i = 0; i < x->n_keeping; i++)
		sign_free(x->keeping[i]);
	sign_free(x->judged);
	tries_free(x->tries);
	free(x->keeping);
	free(x);
}
