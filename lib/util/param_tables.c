/* The tables as data, their defaults proved to be within their bounds by the compiler,
 * and what must hold between settings. */
#include "util/param.h"

#include "util/err.h"
#include "util/log.h"
#include "util/near.h"
#include "util/pair_text.h"
#include "util/url.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each type has its own way to say the default; the macro picks by the type's name. */
#define DEF_INT(d)         .number = (d)
#define DEF_BOOL(d)        .number = (d)
#define DEF_DURATION_MS(d) .number = (d)
#define DEF_SIZE(d)        .number = (d)
#define DEF_TEXT(d)        .text = (d)
#define DEF_PATH(d)        .text = (d)
#define DEF_SECRET_FILE(d) .text = (d)
#define DEF_LIST(d)        .text = (d)

#define GROUP(title) { .help = title },
#define PARAM(field, kind, u, def, lo, hi, effect, what) \
	{ .name = #field, \
	  .type = PARAM_##kind, \
	  .unit = u, \
	  DEF_##kind(def), \
	  .min = (lo), \
	  .max = (hi), \
	  .when = PARAM_##effect, \
	  .help = what, \
	  .at = offsetof(struct PARAM_STRUCT, field) },

#define PARAM_STRUCT param_baseserver
static const struct param_row baseserver_rows[] = {
#include "tbl/param_baseserver.def"
};
#undef PARAM_STRUCT
#define PARAM_STRUCT param_taskbroker
static const struct param_row taskbroker_rows[] = {
#include "tbl/param_taskbroker.def"
};
#undef PARAM_STRUCT
#define PARAM_STRUCT param_cgi
static const struct param_row cgi_rows[] = {
#include "tbl/param_cgi.def"
};
#undef PARAM_STRUCT
#define PARAM_STRUCT param_notifier
static const struct param_row notifier_rows[] = {
#include "tbl/param_notifier.def"
};
#undef PARAM_STRUCT
#undef PARAM
#undef GROUP

/* Defaults out of bounds do not compile. A LIST counts items, which only a test can. */
#define IN_INT(d, lo, hi)         ((lo) <= (d) && (d) <= (hi))
#define IN_BOOL(d, lo, hi)        ((d) == 0 || (d) == 1)
#define IN_DURATION_MS(d, lo, hi) IN_INT(d, lo, hi)
#define IN_SIZE(d, lo, hi)        IN_INT(d, lo, hi)
#define IN_TEXT(d, lo, hi)        ((lo) + 1 <= sizeof(d) && sizeof(d) <= (hi) + 1)
#define IN_PATH(d, lo, hi)        IN_TEXT(d, lo, hi)
#define IN_SECRET_FILE(d, lo, hi) IN_TEXT(d, lo, hi)
#define IN_LIST(d, lo, hi)        ((lo) <= (hi))
#define GROUP(title)
#define PARAM(field, kind, u, def, lo, hi, effect, what) \
	_Static_assert(IN_##kind(def, lo, hi), #field ": default out of bounds");
#include "tbl/param_baseserver.def"
#include "tbl/param_cgi.def"
#include "tbl/param_notifier.def"
#include "tbl/param_taskbroker.def"
#undef PARAM
#undef GROUP

static int level_check(const char *text, struct err *err)
{
	enum log_level level;

	if (log_level_parse(text, &level) < 0)
		return err_set(err, E_INVALID, "log_level is '%s', want error, warn, info or debug",
		               text);
	return 0;
}

/* host:port with a port that there is; 0 is any free one. The listener judges the host. */
static int port_check(const char *address, struct err *err)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? strlen(colon + 1) : 0;

	if (n == 0 || n > 5 || colon == address || strspn(colon + 1, "0123456789") != n ||
	    strtoul(colon + 1, NULL, 10) > UINT16_MAX)
		return err_set(err, E_INVALID,
		               "listen has '%.100s', want ADDRESS:PORT with a port of 0 to 65535",
		               address);
	return 0;
}

/* Only what is a loopback address by its spelling: a name could change its meaning. */
static bool is_loopback(const char *address)
{
	size_t n = strspn(address, "0123456789.");

	if (strncmp(address, "[::1]:", 6) == 0 || strncmp(address, "localhost:", 10) == 0)
		return true;
	return strncmp(address, "127.", 4) == 0 && address[n] == ':';
}

enum { ETCD_LEAD_MS_MIN = 3000 };

/* What all daemons have of etcd's settings. A password does not leave the machine in the clear. */
static int etcd_check(const struct param_list *endpoints, const char *prefix, const char *user_file,
                      struct err *err)
{
	for (size_t i = 0; i < endpoints->n; i++) {
		const char *url = endpoints->items[i];
		bool is_http = strncmp(url, "http://", 7) == 0;
		if (strpbrk(url, "@?# ") || (!is_http && strncmp(url, "https://", 8) != 0))
			return err_set(err, E_INVALID,
			               "etcd has '%.100s', want http[s]://HOST:PORT without user",
			               strchr(url, '@') ? "an address with '@'" : url);
		if (is_http && user_file[0] && !is_loopback(url + 7))
			return err_set(err, E_INVALID,
			               "etcd has '%.100s' and etcd_user_file is set: a password "
			               "leaves this machine over https only",
			               url);
	}
	if (prefix[0] != '/' || prefix[strlen(prefix) - 1] == '/')
		return err_set(err, E_INVALID,
		               "etcd_prefix is '%.100s', want one that begins with / and does not "
		               "end with it",
		               prefix);
	return 0;
}

static bool is_header(const char *text)
{
	for (const char *p = text; *p; p++)
		if (*p <= 0x20 || *p >= 0x7f)
			return false;
	return true;
}

/* What is asked there are secrets, with a token: in the clear on this machine at most. */
static int vault_check(const struct param_baseserver *p, struct err *err)
{
	const char *url = p->vault_url, *auth = p->vault_auth;
	bool is_http = strncmp(url, "http://", 7) == 0, is_token = strcmp(auth, "token") == 0;

	if (!url[0])
		return 0;
	if (strpbrk(url, "@?#") || !is_header(url) || url[strlen(url) - 1] == '/' ||
	    (!is_http && strncmp(url, "https://", 8) != 0))
		return err_set(err, E_INVALID,
		               "vault_url is '%.100s', want https://HOST[:PORT] without user and "
		               "without a / at its end",
		               strchr(url, '@') ? "an address with '@'" : url);
	if (is_http && !is_loopback(url + 7))
		return err_set(err, E_INVALID,
		               "vault_url is '%.100s', which is not loopback: that needs https://",
		               url);
	if (!is_header(p->vault_namespace) || !is_header(p->vault_mount) ||
	    strpbrk(p->vault_mount, "?#%") || strstr(p->vault_mount, ".."))
		return err_set(err, E_INVALID,
		               "vault_namespace and vault_mount are one word of plain letters");
	if (!is_token && !p->vault_role[0])
		return err_set(err, E_INVALID, "vault_url with vault_auth %s needs vault_role",
		               auth);
	if (strcmp(auth, "kubernetes") != 0 && !p->vault_credential_file[0])
		return err_set(err, E_INVALID,
		               "vault_url with vault_auth %s needs vault_credential_file", auth);
	return 0;
}

/* What goes there are logs, with a signature: in the clear on this machine at most. */
static int log_home_check(const struct param_baseserver *p, struct err *err)
{
	const char *home = p->log_home, *secret = p->log_home_secret;

	if (!home[0])
		return secret[0] ? err_set(err, E_INVALID,
		                           "log_home_secret is set and log_home is not")
		                 : 0;
	if (strncmp(home, "s3:", 3) != 0)
		return err_set(err, E_INVALID,
		               "log_home is '%.100s', want s3:https://HOST[:PORT]/BUCKET[/PREFIX]",
		               home);
	if (!strchr(secret, ':'))
		return err_set(err, E_INVALID,
		               "log_home wants log_home_secret, FROM:PATH[#KEY] of file, env, exec "
		               "or vault");
	return url_check("log_home", home + 3, err);
}

static int listen_check(const struct param_baseserver *p, struct err *err)
{
	for (size_t i = 0; i < p->listen.n; i++)
		if (port_check(p->listen.items[i], err) < 0)
			return E_INVALID;
	return 0;
}

static int server_keys_check(const struct param_baseserver *p, struct err *err)
{
	uint8_t key[PAIR_BYTES];

	for (size_t i = 0; i < p->server_keys.n; i++)
		if (!pair_parse(p->server_keys.items[i], key))
			return err_set(err, E_INVALID,
			               "server_keys has '%.100s', want %d digits of 0-9 a-f, as "
			               "`baseserver server-key` prints them",
			               p->server_keys.items[i], PAIR_TEXT - 1);
	return 0;
}

static int provider_check(const struct param_baseserver *p, struct err *err)
{
	static const char *const roles[] = { "none", "viewer", "developer", "operator", NULL };
	int r = p->oidc_issuer[0] ? url_check("oidc_issuer", p->oidc_issuer, err) : 0;

	if (r == 0 && p->oidc_issuer[0] && !p->oidc_client_id[0])
		r = err_set(err, E_INVALID, "oidc_issuer wants oidc_client_id");
	if (r == 0 && !near_is_one(p->ldap_role, roles))
		r = err_set(err, E_INVALID,
		            "ldap_role is '%s', want none, viewer, developer or operator",
		            p->ldap_role);
	if (r == 0 && !near_is_one(p->oidc_role, roles))
		r = err_set(err, E_INVALID,
		            "oidc_role is '%s', want none, viewer, developer or operator",
		            p->oidc_role);
	return r;
}

static int baseserver_check(const void *self, struct err *err)
{
	const struct param_baseserver *p = self;

	if (server_keys_check(p, err) < 0)
		return E_INVALID;

	/* SEMANTICS 3: the machine has killed the job before the server calls it lost. */
	if (p->fence_ms + p->kill_ms >= p->lose_ms)
		return err_set(err, E_INVALID,
		               "fence_ms %" PRId64 " + kill_ms %" PRId64
		               " must be less than lose_ms %" PRId64
		               ": a job could still run when it is started again elsewhere",
		               p->fence_ms, p->kill_ms, p->lose_ms);
	if (p->beat_ms * 2 > p->fence_ms)
		return err_set(err, E_INVALID,
		               "beat_ms %" PRId64 " must be at most half of fence_ms %" PRId64
		               ": one lost heartbeat would kill jobs",
		               p->beat_ms, p->fence_ms);
	if (p->epoch_ms >= p->lose_ms)
		return err_set(err, E_INVALID,
		               "epoch_ms %" PRId64 " must be less than lose_ms %" PRId64,
		               p->epoch_ms, p->lose_ms);
	if (p->epoch_ms >= p->lead_ms)
		return err_set(err, E_INVALID,
		               "epoch_ms %" PRId64 " must be less than lead_ms %" PRId64
		               ": two servers could speak at one time",
		               p->epoch_ms, p->lead_ms);
	if (p->renew_ms * 2 > p->epoch_ms)
		return err_set(err, E_INVALID,
		               "renew_ms %" PRId64 " must be at most half of epoch_ms %" PRId64
		               ": one late answer of the store would silence the server",
		               p->renew_ms, p->epoch_ms);
	if (p->ring_slots & (p->ring_slots - 1))
		return err_set(err, E_INVALID, "ring_slots is '%" PRId64 "', want a power of two",
		               p->ring_slots);
	if (p->start_pause_ms > p->start_pause_max_ms)
		return err_set(err, E_INVALID,
		               "start_pause_ms %" PRId64
		               " must be at most start_pause_max_ms %" PRId64
		               ": it doubles up to that",
		               p->start_pause_ms, p->start_pause_max_ms);
	int r = listen_check(p, err);
	if (r == 0)
		r = log_home_check(p, err);
	if (r < 0)
		return r;
	if (strcmp(p->placement, "few") != 0 && strcmp(p->placement, "each") != 0)
		return err_set(err, E_INVALID, "placement is '%s', want few or each", p->placement);
	if ((p->etcd_lead || p->etcd_jobs) && p->etcd.n == 0)
		return err_set(err, E_INVALID, "%s is on and etcd is empty",
		               p->etcd_lead ? "etcd_lead" : "etcd_jobs");
	if (p->etcd_lead && p->lead_ms < ETCD_LEAD_MS_MIN)
		return err_set(err, E_INVALID,
		               "lead_ms is %" PRId64
		               ", want at least %d with etcd_lead: etcd counts "
		               "in seconds",
		               p->lead_ms, ETCD_LEAD_MS_MIN);
	r = vault_check(p, err);
	if (r == 0)
		r = provider_check(p, err);
	if (r == 0)
		r = etcd_check(&p->etcd, p->etcd_prefix, p->etcd_user_file, err);
	return r < 0 ? r : level_check(p->log_level, err);
}

bool param_uids_parse(const char *text, uint32_t *ret_first, uint32_t *ret_last)
{
	enum { DIGITS = 9 };
	size_t first = strspn(text, "0123456789"), dash = text[first] == '-';
	const char *second = text + first + dash;
	size_t last = strspn(second, "0123456789");

	if (first == 0 || first > DIGITS || !dash || last == 0 || last > DIGITS || second[last])
		return false;
	*ret_first = (uint32_t)strtoul(text, NULL, 10);
	*ret_last = (uint32_t)strtoul(second, NULL, 10);
	return *ret_first >= JOB_UID_MIN && *ret_first <= *ret_last;
}

/* As whom jobs run. */
static int users_check(const struct param_taskbroker *p, struct err *err)
{
	uint32_t first, last;

	for (size_t i = 0; i < p->users.n; i++)
		if (strcmp(p->users.items[i], "root") == 0)
			return err_set(err, E_INVALID,
			               "users has 'root': jobs run as users from number 1000 on");
	if (p->job_uids[0] && !param_uids_parse(p->job_uids, &first, &last))
		return err_set(err, E_INVALID,
		               "job_uids is '%s', want FIRST-LAST, from %d on, as 59000-59999",
		               p->job_uids, JOB_UID_MIN);
	if (p->keeper_dir[0] &&
	    (p->jobs_as_root || p->users.n || p->job_users_file[0] || p->job_uids[0]))
		return err_set(err, E_INVALID,
		               "keeper_dir is set beside jobs_as_root, users, job_users_file or "
		               "job_uids: as whom jobs run is said by the options of that "
		               "jobkeeper's service");
	if (strcmp(p->isolation, "uid") != 0 && strcmp(p->isolation, "landlock") != 0 &&
	    strcmp(p->isolation, "box") != 0)
		return err_set(err, E_INVALID, "isolation is '%s', want uid, landlock or box",
		               p->isolation);
	if (p->isolation[0] == 'b' && !p->keeper_dir[0] && !p->job_users_file[0] && !p->job_uids[0])
		return err_set(
			err, E_INVALID,
			"isolation is 'box' where projects are not separated: set keeper_dir, "
			"job_uids or job_users_file too");
	if (p->jobs_as_root && (p->users.n || p->job_users_file[0] || p->job_uids[0]))
		return err_set(err, E_INVALID,
		               "jobs_as_root is on beside users, job_users_file or job_uids: "
		               "whatever they separate, root could read");
	return 0;
}

static int taskbroker_check(const void *self, struct err *err)
{
	const struct param_taskbroker *p = self;

	if (strspn(p->job_umask, "01234567") != strlen(p->job_umask) || strlen(p->job_umask) > 4 ||
	    strtoul(p->job_umask, NULL, 8) > 0777)
		return err_set(err, E_INVALID, "job_umask is '%.20s', want octal 0..777",
		               p->job_umask);
	if (strcmp(p->cgroup, "auto") != 0 && strcmp(p->cgroup, "off") != 0 && p->cgroup[0] != '/')
		return err_set(err, E_INVALID,
		               "cgroup is '%.100s', want auto, off or an absolute directory",
		               p->cgroup);

	if (p->retry_min_ms > p->retry_max_ms)
		return err_set(err, E_INVALID,
		               "retry_min_ms %" PRId64 " must be at most retry_max_ms %" PRId64,
		               p->retry_min_ms, p->retry_max_ms);
	int r = users_check(p, err);
	if (r == 0)
		r = etcd_check(&p->etcd, p->etcd_prefix, p->etcd_user_file, err);
	return r < 0 ? r : level_check(p->log_level, err);
}

static int cgi_check(const void *self, struct err *err)
{
	const struct param_cgi *p = self;

	if (!p->certificate_file[0] != !p->certificate_key_file[0])
		return err_set(err, E_INVALID,
		               "certificate_file and certificate_key_file come together");
	int r = port_check(p->listen, err);
	if (r < 0)
		return r;
	if (!is_loopback(p->listen) && !p->certificate_file[0])
		return err_set(err, E_INVALID,
		               "listen is '%.100s', which is not loopback: set certificate_file",
		               p->listen);
	if (p->session_idle_ms > p->session_life_ms)
		return err_set(err, E_INVALID,
		               "session_idle_ms %" PRId64
		               " must be at most session_life_ms %" PRId64,
		               p->session_idle_ms, p->session_life_ms);
	r = etcd_check(&p->etcd, p->etcd_prefix, p->etcd_user_file, err);
	return r < 0 ? r : level_check(p->log_level, err);
}

static int notifier_check(const void *self, struct err *err)
{
	const struct param_notifier *p = self;

	if (strcmp(p->language, "en") != 0 && strcmp(p->language, "zh") != 0)
		return err_set(err, E_INVALID, "language is '%s', want en or zh", p->language);
	if (p->retry_min_ms > p->retry_max_ms)
		return err_set(err, E_INVALID,
		               "retry_min_ms %" PRId64 " must be at most retry_max_ms %" PRId64,
		               p->retry_min_ms, p->retry_max_ms);
	return level_check(p->log_level, err);
}

#define ROWS(r) .rows = r, .rows_n = sizeof r / sizeof r[0]
const struct param_table param_baseserver_table = {
	.daemon = "baseserver",
	ROWS(baseserver_rows),
	.check = baseserver_check,
};
const struct param_table param_taskbroker_table = {
	.daemon = "taskbroker",
	ROWS(taskbroker_rows),
	.check = taskbroker_check,
};
const struct param_table param_cgi_table = {
	.daemon = "sirdar-cgi",
	ROWS(cgi_rows),
	.check = cgi_check,
};
const struct param_table param_notifier_table = {
	.daemon = "sirdar-notifier",
	ROWS(notifier_rows),
	.check = notifier_check,
};
