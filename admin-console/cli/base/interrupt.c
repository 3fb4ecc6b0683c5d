#include "admin-console/cli/base/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;
static struct sigaction before;

static void on_interrupt(int sig)
{
	(void)sig;
	came = 1;
}

void interrupt_begin(void)
{
	const struct sigaction act = { .sa_handler = on_interrupt, .sa_flags = SA_RESETHAND };

	came = 0;
	sigaction(SIGINT, &act, &before);
}

bool interrupt_came(void)
{
	return came != 0;
}

void interrupt_end(void)
{
	sigaction(SIGINT, &before, NULL);
}
