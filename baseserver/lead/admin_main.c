/* `baseserver -c FILE admin WORD NAME [OPTION VALUE]...`: what a person, or a script, types where
 * the server runs. Standard output has what is to be carried on (a code, a list); all else is for
 * people and goes to standard error. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>

#include "baseserver/command/credentials.h"
#include "baseserver/lead/admin.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/pwhash.h"
#include "wire/enrol.h"

enum { OPTIONS_MAX = 64 };
/* Of a password, as the web server has them, which checks it (cgi/who/auth.c). */
enum { PASSWORD_MIN = 10, PASSWORD_MAX = 512, HASH_PASSES = 2, HASH_MEMORY = 19 * 1024 * 1024 };
enum { SECRET_FILE_MAX = 200, TOKEN_BYTES = CREDENTIAL_TEXT + 16, DAYS_MAX = 3650 };

static const char usage[] =
	"usage: baseserver -c FILE admin COMMAND, as root or the server's user, where it runs:\n"
	"  list                       peers: name, kind, state, public key; `waits`: approve it\n"
	"  invite NAME [--kind KIND] [--group G] [--type T] [--project P] [--expires TIME]\n"
	"                             print a code, for an hour and one use: `PROGRAM enrol CODE`\n"
	"  approve NAME [--fingerprint KEY | --yes]\n"
	"                             let it in with the key that waits, if it is that one\n"
	"  revoke NAME                let it in no more; its sessions end at once\n"
	"  password USER [--role ROLE] [--from FILE]\n"
	"                             a new password, asked for or a line of standard input; with\n"
	"                             --role USER is made, or may sign in again, as that: admin.\n"
	"                             USER admin: the server keeps `admin` from then on, no cgi.\n"
	"                             --from: the one of the file `password` of a cgi's state_dir\n"
	"  token NAME [--role ROLE] [--days N] [--app]\n"
	"                             print a token that is nobody's, of all cgis; of the role\n"
	"                             admin (if none is said) it changes credentials, too.\n"
	"                             --app: the key of an app\n"
	"  token-remove NAME          it lets nobody in any more\n"
	"KIND is " PEER_KINDS ".\n"
	"Exit status: 0 done, 64 wrong use, 69 no server answers, 77 not allowed, 1 refused.\n";

struct typed {
	const char *state_dir, *word, *name;
	const char *option[OPTIONS_MAX], *value[OPTIONS_MAX]; /* "--kind", "face" */
	size_t n;
};

static int admin_usage(const char *what, const char *why)
{
	fprintf(stderr, "baseserver: %s '%s'; `baseserver admin --help` tells what there is\n", why,
	        what);
	return EX_USAGE;
}

static const char *value_of(const struct typed *t, const char *option)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->option[i], option) == 0)
			return t->value[i] ? t->value[i] : "";
	return NULL;
}

static int admin_die(const struct err *err)
{
	fprintf(stderr, "baseserver: %s\n", err->text);
	return err->code == E_FORBIDDEN ? EX_NOPERM
	       : err->code == E_CLOSED || err->code == E_STANDBY || err->code == E_AGAIN ||
	                       err->code == E_TIMEOUT
	               ? EX_UNAVAILABLE
	               : EXIT_FAILURE;
}

/* --- what is asked for ---------------------------------------------------------------------- */

static void args_open(struct buf *args, const char *key, const char *name)
{
	buf_init(args);
	put_open(args, NULL, '{');
	put_text(args, key, name);
}

/* Closes, asks, and forgets what was asked with: it may have a secret. */
static int args_send(const struct typed *t, const char *kind, struct buf *args, struct buf *body)
{
	struct err err = { 0 };

	put_close(args, '}');
	int r = admin_ask(t->state_dir, false, kind, args, body, &err);
	explicit_bzero(args->data, args->cap);
	buf_done(args);
	return r < 0 ? admin_die(&err) : EX_OK;
}

static int simple_send(const struct typed *t, const char *kind, struct buf *args)
{
	struct buf body;

	buf_init(&body);
	int code = args_send(t, kind, args, &body);
	buf_done(&body);
	return code;
}

static void put_options(const struct typed *t, const char *option, const char *key,
                        struct buf *args)
{
	if (!value_of(t, option))
		return;
	put_open(args, key, '[');
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->option[i], option) == 0 && t->value[i][0])
			put_text(args, NULL, t->value[i]);
	put_close(args, ']');
}

/* --- peers ------------------------------------------------------------------------------------ */

static int peers_ask(const struct typed *t, struct buf *body, const struct jval **ret)
{
	struct err err = { 0 };
	struct buf args;

	buf_init(&args);
	put_open(&args, NULL, '{');
	if (t->name)
		put_text(&args, "peer", t->name);
	put_close(&args, '}');
	int r = admin_ask(t->state_dir, true, "peers", &args, body, &err);
	buf_done(&args);
	if (r == 0)
		r = jv_parse(buf_str(body), body->len, ret, &err);
	return r < 0 ? admin_die(&err) : EX_OK;
}

static int do_list(const struct typed *t)
{
	const struct jval *root = NULL;
	struct buf body;

	buf_init(&body);
	int code = peers_ask(t, &body, &root);
	JV_EACH(p, jv_get(root, "peers")) {
		const char *waits = jv_str(p, "waits"), *key = jv_str(p, "fingerprint");
		printf("%-24s %-9s %-10s %s%s\n", jv_str(p, "peer"),
		       jv_str(p, "kind")[0] ? jv_str(p, "kind") : "-", jv_str(p, "state"),
		       waits[0] ? waits : key, waits[0] ? " waits" : "");
	}
	jv_free(root);
	buf_done(&body);
	return code;
}

static const char *enrols(const char *kind)
{
	return strcmp(kind, "broker") == 0     ? "taskbroker -c FILE enrol CODE"
	       : strcmp(kind, "face") == 0     ? "sirdar-cgi -c FILE enrol CODE"
	       : strcmp(kind, "notifier") == 0 ? "sirdar-notifier -c FILE enrol CODE"
	                                       : "its program";
}

static int do_invite(const struct typed *t)
{
	enum { ID = 6, ALL = ID + 16 };
	uint8_t drawn[ALL];
	char digits[2 * ALL + 1], id[2 * ID + 1];
	struct buf args;

	randombytes_buf(drawn, sizeof drawn);
	sodium_bin2hex(digits, sizeof digits, drawn, sizeof drawn);
	snprintf(id, sizeof id, "%.12s", digits);
	args_open(&args, "peer", t->name);
	buf_room(&args, 4096); /* growing would leave a copy behind */
	if (value_of(t, "--kind"))
		put_text(&args, "kind", value_of(t, "--kind"));
	put_options(t, "--group", "groups", &args);
	put_options(t, "--type", "types", &args);
	put_options(t, "--project", "projects", &args);
	if (value_of(t, "--expires"))
		put_text(&args, "expires", value_of(t, "--expires"));
	put_text(&args, "id", id);
	put_text(&args, "secret", digits + 2 * ID);
	int code = simple_send(t, "peer-invite", &args);
	if (code == EX_OK) {
		printf("%s-%s\n", id, digits + 2 * ID);
		fflush(stdout);
		fprintf(stderr,
		        "baseserver: a code for %s, for an hour and one use; on its machine: %s\n",
		        t->name, enrols(value_of(t, "--kind") ? value_of(t, "--kind") : ""));
	}
	explicit_bzero(drawn, sizeof drawn);
	explicit_bzero(digits, sizeof digits);
	return code;
}

/* By the eye of who sits there. False: he does not, or says no. */
static bool agrees(const char *name, const char *kind, const char *key)
{
	char line[16] = "";

	fprintf(stderr,
	        "%s (%s) waits with the key\n  %s\nIs it the one that `enrol` printed on its "
	        "machine? [y/N] ",
	        name, kind, key);
	fflush(stderr);
	return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* Whatever was looked at is what is approved: never another key that came meanwhile. */
static int do_approve(const struct typed *t)
{
	const char *wanted = value_of(t, "--fingerprint");
	const struct jval *peer = NULL;
	struct buf args, body;

	buf_init(&body);
	int code = peers_ask(t, &body, &peer);
	const char *waits = jv_str(peer, "waits");
	if (code == EX_OK && !waits[0]) {
		fprintf(stderr, "baseserver: no key of '%s' waits for anybody's approval\n",
		        t->name);
		code = EXIT_FAILURE;
	} else if (code == EX_OK && !wanted && !value_of(t, "--yes")) {
		bool sits = isatty(STDIN_FILENO);
		if (!sits)
			fprintf(stderr,
			        "baseserver: the key of '%s' that waits is %s: say --fingerprint "
			        "KEY, as its machine shows it, or --yes\n",
			        t->name, waits);
		if (!sits || !agrees(t->name, jv_str(peer, "kind"), waits)) {
			fprintf(stderr, "baseserver: nothing was changed\n");
			code = sits ? EXIT_FAILURE : EX_USAGE;
		}
	}
	if (code == EX_OK) {
		args_open(&args, "peer", t->name);
		put_text(&args, "fingerprint", wanted ? wanted : waits);
		code = simple_send(t, "peer-approve", &args);
	}
	if (code == EX_OK)
		fprintf(stderr, "baseserver: %s is let in with the key %s\n", t->name, waits);
	jv_free(peer);
	buf_done(&body);
	return code;
}

static int do_revoke(const struct typed *t)
{
	struct buf args;

	args_open(&args, "peer", t->name);
	put_bool(&args, "last_face", true); /* the way back is here */
	int code = simple_send(t, "peer-revoke", &args);
	if (code == EX_OK)
		fprintf(stderr, "baseserver: %s is revoked\n", t->name);
	return code;
}

/* --- people ----------------------------------------------------------------------------------- */

static bool password_read(const char *what, char ret[PASSWORD_MAX + 2])
{
	struct termios was, quiet;
	bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &was) == 0;

	if (terminal) {
		quiet = was;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		fprintf(stderr, "%s: ", what);
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	}
	ret[0] = 0;
	bool got = fgets(ret, PASSWORD_MAX + 2, stdin) != NULL;
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
		fputc('\n', stderr);
	}
	ret[strcspn(ret, "\r\n")] = 0;
	return got;
}

static int password_hash(char ret[crypto_pwhash_STRBYTES])
{
	char first[PASSWORD_MAX + 2], again[PASSWORD_MAX + 2] = "";
	size_t n = password_read("New password", first) ? strlen(first) : 0;
	int code = EX_OK;

	if (n < PASSWORD_MIN || n > PASSWORD_MAX) {
		fprintf(stderr, "baseserver: a password has %d to %d bytes\n", PASSWORD_MIN,
		        PASSWORD_MAX);
		code = EX_USAGE;
	} else if (isatty(STDIN_FILENO) &&
	           (!password_read("Again", again) || strcmp(first, again) != 0)) {
		fprintf(stderr, "baseserver: the two are not the same\n");
		code = EX_USAGE;
	} else if (crypto_pwhash_str(ret, first, n, HASH_PASSES, HASH_MEMORY) != 0) {
		fprintf(stderr, "baseserver: no memory to hash a password\n");
		code = EX_OSERR;
	}
	sodium_memzero(first, sizeof first);
	sodium_memzero(again, sizeof again);
	return code;
}

/* What a cgi kept of its own `admin`: the password goes on, and nobody types it. */
static int password_from(const char *path, char ret[crypto_pwhash_STRBYTES])
{
	struct err err = { 0 };
	struct buf text;

	buf_init(&text);
	int r = fs_read(path, SECRET_FILE_MAX, &text, &err);
	size_t n = strcspn(buf_str(&text), "\n");
	if (r == 0 && (!pwhash_ok(buf_str(&text)) || n >= crypto_pwhash_STRBYTES))
		r = err_set(&err, E_INVALID,
		            "%.300s has no password's hash of usual cost: want the file "
		            "`password` of a sirdar-cgi's state_dir",
		            path);
	if (r == 0)
		snprintf(ret, crypto_pwhash_STRBYTES, "%.*s", (int)n, buf_str(&text));
	explicit_bzero(text.data, text.cap);
	buf_done(&text);
	return r < 0 ? admin_die(&err) : EX_OK;
}

static int do_password(const struct typed *t)
{
	char secret[crypto_pwhash_STRBYTES];
	const char *role = value_of(t, "--role"), *from = value_of(t, "--from");
	struct buf args;

	if (!role && strcmp(t->name, "admin") == 0)
		role = "admin"; /* he is made by it, or comes in again */
	int code = from ? password_from(from, secret) : password_hash(secret);
	if (code != EX_OK)
		return code;
	args_open(&args, "user", t->name);
	put_text(&args, "secret", secret);
	if (role) {
		put_text(&args, "role", role);
		put_bool(&args, "disabled", false);
	}
	code = simple_send(t, "user-set", &args);
	sodium_memzero(secret, sizeof secret);
	if (code == EX_OK)
		fprintf(stderr,
		        "baseserver: %s has a new password%s%s; sessions by a former one "
		        "are over\n",
		        t->name, role ? " and the role " : "", role ? role : "");
	if (code == EX_OK && strcmp(t->name, "admin") == 0)
		fprintf(stderr,
		        "baseserver: admin is a person of the server, at every cgi; what a cgi "
		        "has of an `admin` and tokens of its own is over: `admin token "
		        "NAME` makes others\n");
	return code;
}

/* --- tokens ----------------------------------------------------------------------------------- */

static void token_args(const struct typed *t, const char *role, int64_t days, const char *token,
                       struct buf *args)
{
	bool app = value_of(t, "--app") != NULL;
	bool strong = strcmp(role, "operator") == 0 || strcmp(role, "admin") == 0;
	int64_t now_s = clock_wall_us(&clock_machine) / US_PER_S;
	char hash[CREDENTIAL_HEX];

	credential_hash(token, hash);
	args_open(args, "token", t->name);
	put_text(args, "role", role);
	put_raw(args, "rights", strong ? "[\"backfill\",\"force-success\",\"unsafe\"]" : "[]");
	put_text(args, "hash", hash);
	put_int(args, "created", now_s);
	if (days)
		put_int(args, "expires", now_s + days * 86400);
	if (app)
		put_bool(args, "app", true);
	else if (strcmp(role, "admin") == 0)
		put_bool(args, "credentials", true);
}

static int do_token(const struct typed *t)
{
	const char *role = value_of(t, "--role"), *days = value_of(t, "--days");
	char token[TOKEN_BYTES], secret[CREDENTIAL_TEXT];
	char *end = NULL;
	int64_t n = days ? strtol(days, &end, 10) : 0;
	struct buf args;

	if (days && (end == days || *end || n < 1 || n > DAYS_MAX))
		return admin_usage(days, "--days wants 1 to 3650, not");
	credential_new(secret);
	snprintf(token, sizeof token, "%s%s", value_of(t, "--app") ? "sirdar_app_" : "sirdar_",
	         secret);
	token_args(t, role ? role : "admin", n, token, &args);
	int code = simple_send(t, "token-set", &args);
	if (code == EX_OK) {
		printf("%s\n", token);
		fflush(stdout);
		fprintf(stderr,
		        "baseserver: a token of nobody, for every cgi (within a second): it "
		        "is not shown again; `admin token-remove %s` ends it\n",
		        t->name);
	}
	sodium_memzero(token, sizeof token);
	sodium_memzero(secret, sizeof secret);
	return code;
}

static int do_token_remove(const struct typed *t)
{
	struct buf args;

	args_open(&args, "token", t->name);
	int code = simple_send(t, "token-remove", &args);
	if (code == EX_OK)
		fprintf(stderr, "baseserver: the token %s lets nobody in any more\n", t->name);
	return code;
}

/* --- words ------------------------------------------------------------------------------------ */

static const struct word {
	const char *name;
	bool has_name;
	const char *options[6];
	int (*run)(const struct typed *t);
} words_known[] = {
	{ "list", false, { NULL }, do_list },
	{ "invite",
	  true,
	  { "--kind", "--group", "--type", "--project", "--expires", NULL },
	  do_invite },
	{ "approve", true, { "--fingerprint", "--yes", NULL }, do_approve },
	{ "revoke", true, { NULL }, do_revoke },
	{ "password", true, { "--role", "--from", NULL }, do_password },
	{ "token", true, { "--role", "--days", "--app", NULL }, do_token },
	{ "token-remove", true, { NULL }, do_token_remove },
};

static const struct word *word_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof words_known / sizeof words_known[0]; i++)
		if (strcmp(words_known[i].name, name) == 0)
			return &words_known[i];
	return NULL;
}

static int word_unknown(const char *said)
{
	struct nearest near = nearest_to(said);
	char hint[NEAREST_HINT_BYTES];

	for (size_t i = 0; i < sizeof words_known / sizeof words_known[0]; i++)
		nearest_try(&near, words_known[i].name);
	const char *meant = nearest_hint(&near, hint);
	if (!meant)
		return admin_usage(said, "there is no command");
	fprintf(stderr, "baseserver: there is no command '%s': %s\n", said, meant);
	return EX_USAGE;
}

static bool word_takes(const struct word *w, const char *option)
{
	for (size_t i = 0; w->options[i]; i++)
		if (strcmp(w->options[i], option) == 0)
			return true;
	return false;
}

int admin_main(const char *state_dir, char *const *words)
{
	const struct word *w = word_find(words[0]);
	struct typed t = { .state_dir = state_dir, .word = words[0] };

	if (words[0] && (strcmp(words[0], "--help") == 0 || strcmp(words[0], "help") == 0))
		return fputs(usage, stdout), EX_OK;
	if (!words[0])
		return fprintf(stderr, "baseserver: admin of what?\n%s", usage), EX_USAGE;
	if (!w)
		return word_unknown(words[0]);
	for (words++; *words; words++) {
		const char *option = *words;
		if (strncmp(option, "--", 2) != 0) {
			if (t.name || !w->has_name)
				return admin_usage(option, "one word too many,");
			t.name = option;
			continue;
		}
		if (!word_takes(w, option) || t.n == OPTIONS_MAX)
			return admin_usage(option, "what is");
		t.option[t.n] = option;
		bool is_alone = strcmp(option, "--yes") == 0 || strcmp(option, "--app") == 0;
		if (!is_alone && !(t.value[t.n] = *++words))
			return admin_usage(option, "no value behind");
		t.n++;
	}
	if (w->has_name && !t.name)
		return admin_usage(w->name, "no name behind");
	if (sodium_init() < 0)
		return fprintf(stderr, "baseserver: no random numbers\n"), EX_OSERR;
	return w->run(&t);
}
