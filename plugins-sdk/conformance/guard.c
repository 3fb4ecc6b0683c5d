/* Memory that tells who touches it: a struct ends where its page ends, and pages of jobs that
 * are over are nobody's. */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugins-sdk/conformance/conformance.h"
#include "util/check.h"

static struct check *checked; /* the handler has no other way to know */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

uint8_t *guard_pages(size_t n)
{
	uint8_t *p = mmap(NULL, n * page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

void *guard_place(uint8_t *pages, size_t bytes)
{
	CHECK(bytes <= page_bytes());
	CHECK(mprotect(pages, page_bytes(), PROT_READ | PROT_WRITE) == 0);
	return pages + page_bytes() - bytes;
}

void guard_protect(void *in_page, bool writable)
{
	uintptr_t page = (uintptr_t)in_page & ~(page_bytes() - 1);

	CHECK(mprotect((void *)page, page_bytes(), PROT_READ | (writable ? PROT_WRITE : 0)) == 0);
}

void guard_close(uint8_t *pages, size_t n)
{
	CHECK(mprotect(pages, n * page_bytes(), PROT_NONE) == 0);
}

static bool is_in(const uint8_t *at, const uint8_t *pages, size_t n)
{
	return pages && at >= pages && at < pages + n * page_bytes();
}

static void tell_of_job(struct check *c, struct led *j, const uint8_t *at)
{
	bool is_result = at >= j->pages + 2 * page_bytes();

	if (atomic_load(&j->is_finished))
		broke(c, P_freed, "touched the %s after finish() had returned",
		      is_result ? "result" : "job");
	else if (!is_result && at < j->pages + page_bytes())
		broke(c, P_lent, "wrote to the job, which is the host's");
	else
		broke(c, P_lent, "touched what is past the end of the %s",
		      is_result ? "result" : "job");
}

static void guard_fault(int signal, siginfo_t *info, void *context)
{
	const uint8_t *at = info->si_addr;
	struct check *c = checked;
	uint32_t n = atomic_load(&c->n_jobs);
	struct sigaction plain = { .sa_handler = SIG_DFL };

	(void)context;
	if (is_in(at, c->host_pages, 2)) {
		broke(c, P_lent,
		      at < c->host_pages + page_bytes() ? "wrote to the host's struct"
		                                        : "read past the end of the host's struct");
		give_up(c);
	}
	for (uint32_t i = 0; i < n && i < JOBS_MAX; i++)
		if (is_in(at, c->jobs[i].pages, GUARD_JOB_PAGES)) {
			tell_of_job(c, &c->jobs[i], at);
			give_up(c);
		}
	sigaction(signal, &plain, NULL); /* happens again, and ends us as it would a loader */
}

void guard_install(struct check *c)
{
	struct sigaction on = { .sa_sigaction = guard_fault, .sa_flags = SA_SIGINFO };

	checked = c;
	sigaction(SIGSEGV, &on, NULL);
	sigaction(SIGBUS, &on, NULL);
}
