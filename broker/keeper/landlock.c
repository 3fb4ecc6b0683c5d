/* Landlock by its system calls: glibc has no functions for it, and the kernel headers of Debian 12
 * no scopes. Numbers and the layout are of include/uapi/linux/landlock.h; what a scope stops
 * is in Documentation/userspace-api/landlock.rst, "IPC scoping" and "Ptrace restrictions". */
#include "broker/keeper/landlock.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/err.h"

enum { ABI_VERSION = 1, ABI_OF_SCOPES = 6 };
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

struct ruleset {
	uint64_t files, network, scoped;
};

int landlock_check(struct err *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ABI_VERSION);

	if (abi >= ABI_OF_SCOPES)
		return 0;
	if (abi < 0)
		return err_sys(err, E_MACHINE, errno,
		               "isolation: landlock: this kernel has no Landlock, or it is off "
		               "(`lsm=` of its command line); take isolation out");
	return err_set(err, E_MACHINE,
	               "isolation: landlock: this kernel's Landlock is of version %ld, want %d "
	               "(Linux 6.12); take isolation out",
	               abi, ABI_OF_SCOPES);
}

__attribute__((no_sanitize("address", "undefined", "thread"))) bool landlock_bind(void)
{
	const struct ruleset rules = { .scoped = SCOPE_SIGNAL };
	long fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);

	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return false;
	syscall(SYS_close, fd);
	return true;
}
