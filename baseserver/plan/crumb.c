/* A page with one piece of work in hand, and a clock that the watchdog moves on.
 *
 * The age of the work is the clock's, so a process that stood still (a debugger, a suspended
 * machine) does not look like one that worked: crumb_tick() is told no more than what it waited
 * for. Only work of some age is held against its workflow: a kill -9 of a busy server finds
 * work of some milliseconds. What an earlier process left is copied aside before the page is used
 * again, and stays until somebody has dealt with it: a second crash at the start loses nothing. */
#include "baseserver/plan/crumb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { PAGE_BYTES = 4096 };
#define GOOD_US (3600 * US_PER_S)

/* On disk in this order, of this machine's bytes. */
struct crumb_page {
	char magic[8];
	_Atomic uint32_t workflow, kind;
	_Atomic int64_t since_us, now_us; /* of the clock that is told */
	_Atomic int64_t wall_us;          /* when it was told the last time */
	uint32_t left_workflow, left_kind;
	int64_t left_for_us, left_wall_us;
};
_Static_assert(sizeof(struct crumb_page) == 64, "no holes in what is on disk");

static const char magic[8] = "SIRDCRB1";

struct crumb {
	struct crumb_page *page;
};

const char *crumb_kind_text(enum crumb_kind kind)
{
	static const char *const texts[] = { "its work", "following what happened to its instances",
		                             "counting the dates of its windows" };

	return texts[kind <= CRUMB_DATES ? kind : CRUMB_NONE];
}

/* What the process before left in hand goes aside, if it is older than that. */
static void take_left(struct crumb_page *p, int64_t after_us, int64_t now_us)
{
	int64_t for_us = p->now_us - p->since_us, age_us = now_us - p->wall_us;

	if (p->workflow && for_us >= after_us && age_us >= 0 && age_us < GOOD_US) {
		p->left_workflow = p->workflow;
		p->left_kind = p->kind;
		p->left_for_us = for_us;
		p->left_wall_us = p->wall_us;
	}
	p->workflow = p->kind = 0;
	p->since_us = p->now_us = 0;
}

int crumb_open(const char *dir, int64_t after_us, int64_t now_us, struct crumb **ret_crumb,
               struct crumb_left *ret_left, struct err *err)
{
	char *path = mem_fmt("%s/crumb", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), errnum = errno;
	int r = fd < 0 ? err_sys(err, E_IO, errnum, "%s", path) : 0;

	*ret_left = (struct crumb_left){ 0 };
	/* All of it is there before it is mapped: a disk that fills up later ends nobody. */
	if (r == 0 && (errnum = posix_fallocate(fd, 0, PAGE_BYTES)) != 0)
		r = err_sys(err, errnum == ENOSPC ? E_FULL : E_IO, errnum, "%s", path);
	void *page = r == 0 ? mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
	                    : MAP_FAILED;
	if (r == 0 && page == MAP_FAILED)
		r = err_sys(err, E_IO, errno, "%s", path);
	if (fd >= 0)
		close(fd);
	free(path);
	if (r < 0)
		return r;
	struct crumb_page *p = page;
	if (memcmp(p->magic, magic, sizeof magic) != 0) {
		memset(p, 0, sizeof *p);
		memcpy(p->magic, magic, sizeof magic);
	}
	take_left(p, after_us, now_us);
	int64_t age_us = now_us - p->left_wall_us;
	if (p->left_workflow && age_us >= 0 && age_us < GOOD_US)
		*ret_left = (struct crumb_left){ p->left_workflow, (enum crumb_kind)p->left_kind,
			                         p->left_for_us };
	*ret_crumb = mem_new(sizeof **ret_crumb);
	(*ret_crumb)->page = p;
	return 0;
}

void crumb_free(struct crumb *c)
{
	if (c)
		munmap(c->page, PAGE_BYTES);
	free(c);
}

void crumb_tick(struct crumb *c, int64_t us, int64_t wall_us)
{
	CHECK(us >= 0);
	if (!c)
		return;
	atomic_fetch_add_explicit(&c->page->now_us, us, memory_order_relaxed);
	atomic_store_explicit(&c->page->wall_us, wall_us, memory_order_relaxed);
}

void crumb_work(struct crumb *c, uint32_t workflow, enum crumb_kind kind)
{
	if (!c)
		return;
	int64_t now = atomic_load_explicit(&c->page->now_us, memory_order_relaxed);
	atomic_store_explicit(&c->page->since_us, now, memory_order_relaxed);
	atomic_store_explicit(&c->page->kind, kind, memory_order_relaxed);
	atomic_store_explicit(&c->page->workflow, workflow, memory_order_relaxed);
}

void crumb_settle(struct crumb *c)
{
	if (c)
		c->page->left_workflow = 0;
}
