/* sim.h — the BaseServer's actors on one thread, under a virtual clock and bad luck.
 *
 * Same actors, same store contract; clock, network, brokers and the disk's faults are
 * ours and come from one seed. What leaves the server (durable records only) is fed to
 * the checker, record by record; what jobs do is witnessed by the world, not by the server.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sched/instance.h"

struct answers;
struct ledger;
struct store;
struct task;

#define MS 1000LL
#define SEC 1000000LL
#define MINUTE (60 * SEC)

enum { BROKERS = 3, TASKS = 8, JOBS_MAX = 512 };

struct options {
	uint64_t seed;
	int64_t steps;
	bool verbose;
};

/* sim_world.c: time, luck, things that happen later. */
extern struct options opt;
extern int64_t now_us; /* since the world began */
uint32_t rnd(uint32_t n);           /* 0 .. n-1 */
bool chance(uint32_t per_mille);
void later(int64_t after_us, void (*what)(void *a, uint64_t b), void *a, uint64_t b);
bool world_step(void);              /* the next thing happens; false: nothing is left */
void world_reset(uint64_t seed);
extern const struct clock sim_clock;
int64_t wall_of(int64_t us);
__attribute__((format(printf, 1, 2))) void note(const char *fmt, ...);

/* sim_check.c: the invariants. */
extern const char *broken; /* the first one that broke, with its words */
__attribute__((format(printf, 2, 3))) void break_invariant(const char *which, const char *fmt, ...);
void check_reset(struct task *const *tasks, size_t n);
void check_record(const struct transition *tr);
void check_restart(struct store *s);
void check_start(uint64_t token, struct inst_key key); /* a process begins */
void check_end(uint64_t token, struct inst_key key, int exit_code); /* it is gone */
void check_acked(uint64_t token);                      /* its end was acknowledged */
void check_store(struct store *s);                     /* replay(log) == tables */
void check_quiet(bool faults_off);                     /* at the very end */
size_t check_unfinished(bool print);
void check_coverage(uint64_t counts[ST_COUNT][EV_COUNT]);

/* sim_tasks.c */
size_t tasks_make(struct task *ret[TASKS]);

/* sim_server.c: the server's process. */
void server_start(void);
void server_crash(void);
void server_end(void);         /* of one seed: everything goes */
bool server_up(void);
void server_run(void);
int64_t server_next_us(void);  /* its next alarm on the clock, INT64_MAX none */
struct store *server_store(void);
void server_operator(void);    /* somebody gives a random command */
void server_operators_done(void); /* unfreeze what operators froze */
/* A broker's connection: it says hello; what it sends. */
void server_hello(int broker, uint64_t conn, bool fresh, const uint64_t *held, size_t n);
void server_gone(int broker, uint64_t conn);
void server_credit(int broker, uint64_t conn, uint64_t limit);
void server_beat(int broker, uint64_t conn, int64_t sent_us, const uint64_t *held, size_t n);
struct report {
	uint64_t token;
	uint32_t seq;
	int end;            /* enum attempt_end, or -1 started, -2 kill acknowledged, -3 hanged */
	int exit_code, reason;
};
void server_report(int broker, uint64_t conn, const struct report *r);

/* sim_broker.c: machines with a loader and a keeper. */
void brokers_reset(void);
void broker_job(int broker, uint64_t conn, uint64_t token, struct inst_key key, int64_t grace_us);
void broker_kill(int broker, uint64_t conn, uint64_t token);
void broker_ack(int broker, uint64_t conn, uint64_t token, uint32_t seq, int code);
void broker_beat_ack(int broker, uint64_t conn, int64_t sent_us, const uint64_t *unknown, size_t n);
void broker_cut(int broker);        /* the connection breaks */
void broker_loader_crash(int broker);
void broker_machine_crash(int broker);
void brokers_heal(void);
void broker_server_lost(void);      /* the server's end died: all connections break */
extern bool healing;

/* The lease rule, in small: T_fence + T_kill < T_lose. */
enum { BEAT_US = 200 * 1000, FENCE_US = 1500 * 1000, KILL_US = 300 * 1000, LOSE_US = 2000 * 1000 };

#endif
