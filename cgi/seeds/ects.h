/* ects.h — what the files of ECTS's interface share. */
#ifndef CGI_SEEDS_ECTS_H
#define CGI_SEEDS_ECTS_H

#include <stddef.h>
#include <stdint.h>

#include "cgi/seeds/def.h"
#include "cgi/server/names.h"

struct call;
struct err;
struct reader;

/* Documents of the project by name. */
struct ects_names {
	const char *project;
	size_t n, cap;
	struct {
		uint32_t id;
		char name[NAMES_MAX];
	} * items;
};

/* All of them; items are the caller's, free(). Thread: disk. */
int ects_names(struct reader *r, struct ects_names *l, struct err *err);
/* The library of the project; d->workflow NULL: there is none. Thread: disk. */
int ects_library(struct call *c, struct reader *r, struct def *d);
/* GET: a list, or the one of the path, into c->details. Thread: disk. */
int ects_list_work(struct call *c, struct reader *r);
/* POST, PUT and DELETE. Thread: disk, then HTTP. */
int ects_change_work(struct call *c, struct reader *r);
int ects_change(struct call *c);
/* What is in c->details. */
int ects_answer(struct call *c);

#endif
