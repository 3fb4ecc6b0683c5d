/* browser.h — what a browser calls itself, in words.
 *
 * A guess for people to tell their sessions apart by: whoever signs in may say what he likes.
 */
#ifndef CGI_BROWSER_H
#define CGI_BROWSER_H

struct browser {
	const char *name, *system; /* static; NULL: not known */
};

struct browser browser_of(const char *agent);

#endif
