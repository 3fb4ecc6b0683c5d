/* Two filters of system calls, each a short program of the kernel's, and the end of capabilities.
 *
 * A filter sees numbers, not what a pointer leads to: of setgroups() it sees how many, and its
 * caller judges which. A process of another machine's calls is killed, for their numbers mean
 * other things; so is nothing else: who asks for what it may not is answered EPERM and may go on.
 */
#include "broker/keeper/rights.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/param.h"

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MACHINE AUDIT_ARCH_PPC64LE
#else
#error "name this machine's AUDIT_ARCH, little-endian: filters read the low half of an argument"
#endif

enum { X32_BIT = 0x40000000, GROUPS_MAX = 256 };

#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define NO           ANSWER(SECCOMP_RET_ERRNO | EPERM)
#define YES          ANSWER(SECCOMP_RET_ALLOW)
/* Over `n` steps if the number is another. */
#define ELSE_SKIP(number, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, (n))
#define REFUSE(number)       ELSE_SKIP(number, 1), NO

#define OF_THIS_MACHINE \
	LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0), \
		ANSWER(SECCOMP_RET_KILL_PROCESS), LOAD(nr), \
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1), \
		ANSWER(SECCOMP_RET_ERRNO | ENOSYS)

/* An argument is JOB_UID_MIN..2^31-1, else no. Four steps. The kernel takes the low half alone. */
#define IN_RANGE(i) \
	LOAD(args[i]), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, JOB_UID_MIN, 0, 1), \
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0x7fffffff, 0, 1), NO

#define ONE_IN_RANGE(number)   ELSE_SKIP(number, 5), IN_RANGE(0), YES
#define THREE_IN_RANGE(number) ELSE_SKIP(number, 13), IN_RANGE(0), IN_RANGE(1), IN_RANGE(2), YES

static struct sock_filter users[] = {
	OF_THIS_MACHINE,
	THREE_IN_RANGE(SYS_setresuid),
	THREE_IN_RANGE(SYS_setresgid),
	/* Of programs that say once more who they are. */
	ONE_IN_RANGE(SYS_setuid),
	ONE_IN_RANGE(SYS_setgid),
	REFUSE(SYS_setreuid),
	REFUSE(SYS_setregid),
	REFUSE(SYS_setfsuid),
	REFUSE(SYS_setfsgid),
	ELSE_SKIP(SYS_setgroups, 4),
	LOAD(args[0]),
	BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, GROUPS_MAX, 0, 1),
	NO,
	YES,
	YES,
};

static struct sock_filter job[] = {
	OF_THIS_MACHINE,           REFUSE(SYS_mount),
	REFUSE(SYS_umount2),       REFUSE(SYS_pivot_root),
	REFUSE(SYS_open_tree),     REFUSE(SYS_move_mount),
	REFUSE(SYS_fsopen),        REFUSE(SYS_fsconfig),
	REFUSE(SYS_fsmount),       REFUSE(SYS_fspick),
	REFUSE(SYS_mount_setattr), REFUSE(SYS_bpf),
	REFUSE(SYS_keyctl),        REFUSE(SYS_add_key),
	REFUSE(SYS_request_key),   REFUSE(SYS_perf_event_open),
	REFUSE(SYS_userfaultfd),   YES,
};

static bool filter_set(struct sock_filter *steps, size_t n)
{
	struct sock_fprog program = { .len = (unsigned short)n, .filter = steps };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool rights_bind_users(void)
{
	return filter_set(users, sizeof users / sizeof users[0]);
}

bool rights_bind_job(void)
{
	return filter_set(job, sizeof job / sizeof job[0]);
}

bool rights_drop(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	/* Before Linux 4.3 there are no ambient ones. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return false;
	return syscall(SYS_capset, &head, none) == 0;
}
