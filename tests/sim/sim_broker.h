/* sim_broker.h — the inside of a machine, shared by sim_broker.c and sim_gray.c. */
#ifndef SIM_BROKER_H
#define SIM_BROKER_H

#include "sim.h"

enum { JOBS_MAX = 64 };
enum job_state { J_FREE, J_RUNNING, J_ENDED };

struct job {
	enum job_state state;
	uint64_t token;
	struct inst_key key;
	bool in_process;    /* dies with the loader, no marker on the machine */
	bool killing, deaf; /* deaf: dies of a kill only after a long while */
	int64_t entered_us;
	int64_t deadline_us; /* the fence */
	struct report end;
	uint32_t seq;
	uint64_t life; /* distinguishes users of one place */
};

struct machine {
	bool lies; /* a twin whose journal has what the first one runs: a clone of its disk */
	bool loader_up;
	bool leaving;      /* its loader was told to end: takes nothing more */
	bool exists;       /* this place has a loader, or what one left */
	bool retired;      /* of a former version: ends when it has nothing left */
	bool closed;       /* told to the server in this connection ... */
	int64_t closed_us; /* ... then */
	uint32_t lane;
	uint64_t conn;        /* 0: none */
	uint32_t incarnation; /* of the loader's process */
	uint64_t done, limit;
	int64_t proof_us;  /* send time of the last beat (or hello) the server has answered */
	struct report old; /* one that was acknowledged: a replay */

	/* sim_gray.c */
	uint64_t kept_conn;    /* the taskbroker's own session, 0: none */
	int64_t kept_proof_us; /* as proof_us, of that one */
	int64_t thaws_us;      /* its loader does nothing before */
	int64_t away_us;       /* cut off from the server until then */
	int64_t down_us;       /* since when it has no loader */
	bool heir;             /* its loader has no plugin: it reports what is left, and ends */
	bool quarantined;      /* no loader with a plugin is begun */
	bool sick;             /* no start goes well here */
	struct job jobs[JOBS_MAX];
};

struct up {
	int broker;
	uint64_t conn;
	int kind; /* 0 hello 1 credit 2 beat 3 report 4 nothing more 5, 6 taskbroker: hello, beat */
	struct greeter greeter;
	uint64_t limit;
	int64_t sent_us;
	struct report report;
	size_t n;
	uint64_t held[2 * JOBS_MAX];
};

extern struct machine machines[MACHINES];
uint64_t machine_conn_new(void);
void machine_connect_soon(int place);
struct up *up_new(int place, int kind);
void up_send(struct up *u);
struct job *machine_find(int place, uint64_t token);
void machine_kill(struct job *j);
void machine_loader_back(int place, bool heir);
bool machine_holds(const struct machine *m, bool kept); /* jobs; kept: of the keeper's */

/* sim_gray.c */
void gray_connect_soon(int place);
bool gray_loader_down(int place); /* true: it is seen to here */
void gray_heir_looks(int place);  /* it may be over */
void gray_lies(const struct machine *m, struct up *u);
void gray_lies_of_ends(const struct machine *m);

/* sim_liar.c */
void liar_lists(int place, struct up *u);
void liar_reports(int place);

#endif
