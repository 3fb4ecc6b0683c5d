/* This server's part in etcd: its entry in the registry, and with etcd_lead its candidature.
 *
 * Both are lib/etcd's, with threads of their own; this file gives them the settings, says what
 * they tell to the log, and shows whether the server leads. Without `etcd` among the settings
 * there is none, and every call takes NULL. Which etcd answers whether we lead is the election's
 * business. */
#include "baseserver/lead/cluster.h"

#include <stdlib.h>

#include "baseserver/lead/site.h"
#include "etcd/election.h"
#include "etcd/member.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"
#include "util/param.h"

struct cluster {
	struct member *member;
	struct election *election;
};

struct etcd_settings cluster_settings(const struct param_baseserver *p)
{
	return (struct etcd_settings){ p->etcd.items, p->etcd.n, p->etcd_user_file, p->etcd_ca_file,
		                       p->etcd_timeout_ms };
}

static void on_election(void *ctx, enum election_news news, const char *text)
{
	(void)ctx;
	switch (news) {
	case ELECTION_WON:
		log_info("election.won", "by=etcd");
		break;
	case ELECTION_LOST:
		log_warn("election.lost", "text=\"%s\"", text);
		break;
	case ELECTION_GIVEN:
		log_info("election.given", "by=etcd");
		break;
	case ELECTION_AWAY:
		log_warn("election.away", "text=\"%s\"", text);
		break;
	case ELECTION_BACK:
		log_info("election.back", "text=\"etcd answers again\"");
		break;
	}
}

static void print_self(const struct site *s, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "name", s->who);
	put_text(out, "address", s->address);
	put_close(out, '}');
}

static int open_election(struct cluster *c, const struct site *s, struct err *err)
{
	struct buf self;

	buf_init(&self);
	print_self(s, &self);
	struct election_settings set = { .etcd = cluster_settings(s->p),
		                         .prefix = s->p->etcd_prefix,
		                         .ttl_ms = s->p->lead_ms,
		                         .value = buf_str(&self),
		                         .told = on_election };
	int r = election_open(&set, &c->election, err);
	buf_done(&self);
	return r;
}

int cluster_open(const struct site *s, struct cluster **ret, struct err *err)
{
	const struct param_baseserver *p = s->p;
	struct member_settings set = { .etcd = cluster_settings(p),
		                       .prefix = p->etcd_prefix,
		                       .ttl_ms = p->etcd_ttl_ms,
		                       .state_dir = p->state_dir,
		                       .name = s->who,
		                       .address = s->address,
		                       .mode = "baseserver",
		                       .status = "standby",
		                       .description = p->etcd_description,
		                       .told = member_log };
	struct cluster *c;
	int r;

	*ret = NULL;
	if (p->etcd.n == 0)
		return 0;
	c = mem_new(sizeof *c);
	r = member_open(&set, &c->member, err);
	if (r == 0 && p->etcd_lead)
		r = open_election(c, s, err);
	if (r < 0) {
		cluster_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

void cluster_close(struct cluster *c)
{
	if (!c)
		return;
	election_close(c->election);
	member_close(c->member);
	free(c);
}

void cluster_show(struct cluster *c, bool leads)
{
	if (c)
		member_set_status(c->member, leads ? "active" : "standby");
}

struct election *cluster_election(const struct cluster *c)
{
	return c ? c->election : NULL;
}
