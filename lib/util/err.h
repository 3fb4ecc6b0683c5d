/* err.h — failures as values.
 *
 * A function that can fail returns int: 0, or a negative code from
 * schema/tbl/err.def. One that can say more takes `struct err *err` last; NULL
 * there means the caller does not care. Results leave through ret_* parameters,
 * which are written on success only.
 */
#ifndef UTIL_ERR_H
#define UTIL_ERR_H

#include <stdbool.h>

enum err_code {
#define ERR(name, num, http, retry, text) E_##name = -(num),
#include "tbl/err.def"
#undef ERR
};

struct err {
	int code;
	char text[400];
};

/* Record a failure. Returns `code`, so that `return err_set(...)` is one step. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* Put "where: " in front of the text on the way up. Returns `code`. */
int err_wrap(struct err *err, int code, const char *where);

/* As err_set(), with the text of errno value `errnum` after the message. */
__attribute__((format(printf, 4, 5))) int err_sys(struct err *err, int code, int errnum,
                                                  const char *fmt, ...);

/* The code for what a system call said: NOT_FOUND, FORBIDDEN, LIMIT, NOMEM, FULL, INVALID,
 * else IO. */
int err_of_errno(int errnum);

/* clang's analyzer does not look into other files: let it see that the code comes back. */
#ifdef __clang_analyzer__
#define err_set(err, code, ...)         (err_set((err), (code), __VA_ARGS__), (code))
#define err_sys(err, code, errnum, ...) (err_sys((err), (code), (errnum), __VA_ARGS__), (code))
#define err_wrap(err, code, where)      (err_wrap((err), (code), (where)), (code))
#endif

const char *err_text(int code); /* static string, never NULL */
const char *err_name(int code); /* "NOT_FOUND"; static, never NULL */
int err_http(int code);         /* 500 for a code not in the table */
bool err_retryable(int code);

#endif
