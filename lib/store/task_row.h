/* task_row.h — what a row of lb_task takes over from the task's definition. */
#ifndef STORE_TASK_ROW_H
#define STORE_TASK_ROW_H

struct store_task;
struct task;

/* For people: names, titles, and what makes labels. The texts are borrowed and live as long as the
 * definition. */
void task_row_words(struct store_task *row, const struct task *def);

#endif
