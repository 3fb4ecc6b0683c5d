/* `PROGRAM enrol CODE` and `PROGRAM rotate-key`: what a person types where a peer runs. Standard
 * output has the public key, to be compared; all else is for people and goes to standard error. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "util/err.h"
#include "util/trust.h"
#include "wire/enrol.h"

static int enrol_usage(const char *program)
{
	fprintf(stderr, "usage: %s [options] " ENROL_USES "\n", program);
	return EX_USAGE;
}

static void enrol_told(const struct enrol_settings *set, const char *program, bool is_first,
                       const uint8_t key[PAIR_BYTES])
{
	char text[PAIR_TEXT];

	pair_text(key, text);
	printf("%s\n", text);
	fflush(stdout);
	if (is_first)
		fprintf(stderr,
		        "%s: the key of '%s' is in %s, and waits for somebody who approves of it:\n"
		        "  sirdar peer approve %s --fingerprint %s\n"
		        "or, where no face is let in yet, on the server's machine:\n"
		        "  baseserver -c FILE admin approve %s --fingerprint %s\n",
		        program, set->name, set->key_file, set->name, text, set->name, text);
	else
		fprintf(stderr,
		        "%s: '%s' has a new key%s; the former one counts until then, 24 hours at "
		        "most\n",
		        program, set->name,
		        set->reloads ? ". Reload it (SIGHUP) to use it"
		                     : ", used from its next connection on: restart it to use it "
		                       "now");
}

int enrol_main(const struct enrol_settings *set, const char *program, char *const *words)
{
	bool is_first = strcmp(words[0], "enrol") == 0;
	const char *code = is_first ? words[1] : NULL;
	char *const *more = words + (is_first && code ? 2 : 1);
	struct enrol_settings at = *set;
	uint8_t key[PAIR_BYTES];
	struct err err = { 0 };
	struct stat st;

	if ((is_first && !code) || (!is_first && strcmp(words[0], "rotate-key") != 0))
		return enrol_usage(program);
	if (more[0]) {
		if (strcmp(more[0], "--server") != 0 || !more[1] || more[2])
			return enrol_usage(program);
		at.servers = more + 1;
		at.n_servers = 1;
	}
	/* By root's hand for a daemon that is another user: the file stays his, or becomes its
	 * directory's owner's. */
	if (geteuid() == 0 && stat(set->state_dir, &st) == 0)
		trust_user(st.st_uid);
	int r = is_first ? enrol_first(&at, code, key, &err) : enrol_next(&at, key, &err);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", program, err.text);
		return r == E_INVALID ? EX_CONFIG : EX_UNAVAILABLE;
	}
	enrol_told(&at, program, is_first, key);
	return EX_OK;
}
