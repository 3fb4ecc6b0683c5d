/* Task types as the reader sees them: a picture (one path in a box of 24, for pages and canvas), and where they stand in the palette. */
const pictures: Record<string, string> = {
	terminal: 'M4 17l6-5.5L4 6M12 19h8',
	database: 'M3 5a9 3 0 1 0 18 0a9 3 0 1 0-18 0M3 5v14a9 3 0 0 0 18 0V5M3 12a9 3 0 0 0 18 0',
	globe: 'M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20M12 2a14.5 14.5 0 0 0 0 20 14.5 14.5 0 0 0 0-20M2 12h20',
	spark:
		'M22 12h-2.5a2 2 0 0 0-1.9 1.5l-2.4 8.3a.25.25 0 0 1-.5 0L9.2 2.2a.25.25 0 0 0-.5 0l-2.4 8.4A2 2 0 0 1 4.5 12H2',
	braces:
		'M8 3H7a2 2 0 0 0-2 2v5a2 2 0 0 1-2 2 2 2 0 0 1 2 2v5a2 2 0 0 0 2 2h1M16 21h1a2 2 0 0 0 2-2v-5a2 2 0 0 1 2-2 2 2 0 0 1-2-2V5a2 2 0 0 0-2-2h-1',
	box: 'M21 8a2 2 0 0 0-1-1.7l-7-4a2 2 0 0 0-2 0l-7 4A2 2 0 0 0 3 8v8a2 2 0 0 0 1 1.7l7 4a2 2 0 0 0 2 0l7-4a2 2 0 0 0 1-1.7zM3.3 7l8.7 5 8.7-5M12 22V12',
	fork: 'M6 3v12M18 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6M6 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6M18 9a9 9 0 0 1-9 9',
	link: 'M9 17H7A5 5 0 0 1 7 7h2M15 7h2a5 5 0 1 1 0 10h-2M8 12h8',
	shield:
		'M20 13c0 5-3.5 7.5-7.66 8.95a1 1 0 0 1-.67-.01C7.5 20.5 4 18 4 13V6a1 1 0 0 1 1-1c2 0 4.5-1.2 6.24-2.72a1.17 1.17 0 0 1 1.52 0C14.51 3.81 17 5 19 5a1 1 0 0 1 1 1z',
	bell: 'M10.3 21a2 2 0 0 0 3.4 0M3.3 15.3A1 1 0 0 0 4 17h16a1 1 0 0 0 .7-1.7C19.4 14 18 12.5 18 8A6 6 0 0 0 6 8c0 4.5-1.4 6-2.7 7.3',
	move: 'M12 15V3M7 10l5 5 5-5M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4',
	nothing: 'M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20M8.5 12l2.5 2.5 4.5-5',
	cog: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v3M12 19v3M4.9 4.9l2.1 2.1M17 17l2.1 2.1M2 12h3M19 12h3M4.9 19.1L7 17M17 7l2.1-2.1',
}

export type Group = 'compute' | 'move' | 'control'
const table: [RegExp, string, Group][] = [
	[/^(shell|ssh|bash)/, 'terminal', 'compute'],
	[/^(sql|hive|presto|mysql|postgres|sqlite|doris|click|impala)/, 'database', 'compute'],
	[/spark|flink/, 'spark', 'compute'],
	[/python|java|jar|node|script/, 'braces', 'compute'],
	[/docker|k8s|kube|container|image/, 'box', 'compute'],
	[/http|rest|webhook/, 'globe', 'move'],
	[/sync|copy|datax|sqoop|transfer|ftp|export|import|move/, 'move', 'move'],
	[/branch|switch|condition/, 'fork', 'control'],
	[/wait|depend|sensor|sub/, 'link', 'control'],
	[/check|quality|probe/, 'shield', 'control'],
	[/mail|notify|alert|message/, 'bell', 'control'],
	[/noop|nothing|start/, 'nothing', 'control'],
]

const row = (type: string) => table.find(([r]) => r.test(type.toLowerCase()))
export const picture = (type: string) => pictures[row(type)?.[1] ?? 'cog']!
export const groupOf = (type: string): Group => row(type)?.[2] ?? 'compute'
export const groups: Group[] = ['compute', 'move', 'control']
