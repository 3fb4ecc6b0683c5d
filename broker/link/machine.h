/* machine.h — which machine this is, among those that may call themselves by one name.
 *
 * A broker's name and key can be copied with its files, and a second machine that greets under them
 * would run what the first one runs. So a taskbroker draws 128 bits for its machine and keeps them
 * in its state directory; its loaders read them there. They hold for this boot of the machine and
 * for this very file, not for a copy of it: a loader that outlives its broker, and the broker that
 * follows, are the same machine; a copied directory is another.
 *
 * The next boot draws anew, as a clone of the whole disk must. It keeps what was drawn before where
 * it is the same file on a machine with the same network card: only then may it speak of what its
 * jobkeeper held before that boot. A machine without a card of its own cannot tell.
 */
#ifndef BROKER_LINK_MACHINE_H
#define BROKER_LINK_MACHINE_H

#define MACHINE_HEX 33 /* with the NUL */

struct err;

struct machine {
	char drawn[MACHINE_HEX];  /* "": nothing is */
	char former[MACHINE_HEX]; /* before this boot; "": nothing, or that was another machine */
};

/* What is drawn for this machine, else draws it. The taskbroker's, under its lock. errors  E_IO */
int machine_draw(const char *state_dir, struct machine *ret, struct err *err);
void machine_read(const char *state_dir, struct machine *ret);

#endif
