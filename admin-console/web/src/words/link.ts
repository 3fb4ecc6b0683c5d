import { dictionary, type Same } from './dictionary'

export const en = {
	task: 'No such task: {task}',
	date: '{task} has no date {label}',
	instance: '{task} has no instance of {label}',
	'instance.text':
		'The date was not planned, has not come due yet, or its instance was removed after it had been kept long enough.',
	attempt: 'It has no attempt {attempt}: this is its last one.',
	'attempt.run': 'It has no attempt {attempt} of run {run}: this is its last one.',
	run: 'It has no run {run}: this is its last one.',
	all: 'All instances of the task',
}
export const zh: Same<typeof en> = {
	task: '没有这个任务：{task}',
	date: '{task} 没有日期 {label}',
	instance: '{task} 没有 {label} 的实例',
	'instance.text': '该日期不在计划内、尚未到点，或者实例保留期满后已被清除。',
	attempt: '没有第 {attempt} 次尝试：这里是最后一次。',
	'attempt.run': '第 {run} 代没有第 {attempt} 次尝试：这里是最后一次。',
	run: '没有第 {run} 代：这里是最后一代。',
	all: '该任务的全部实例',
}
export const w = dictionary(en, zh)
