/* roster.h — who has been there since the start: what documents may name without a warning. */
#ifndef BASESERVER_ROSTER_H
#define BASESERVER_ROSTER_H

enum roster {
	ROSTER_TYPE,    /* a task type that some broker runs */
	ROSTER_MACHINE, /* a broker */
	ROSTER_GROUP,   /* of brokers */
};

struct roster_name {
	enum roster is;
	char name[64];
};

#endif
