import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { JOB_STATES, TASK_MOVES, TASK_STATES } from '../../src/scheduler/core/index.ts';

const page = readFileSync(new URL('../../docs/states.md', import.meta.url), 'utf8');

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly cause: string;
}

/** The edges of the chart under a heading, as mermaid writes them: `from --> to : cause`. */
function chart(heading: string): Edge[] {
  const section = page.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  const diagram = /```mermaid\nstateDiagram-v2\n(.*?)```/s.exec(section)?.[1] ?? '';
  const lines = diagram.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const parts = /^\s+(\S+) --> (\S+)(?: : (.+))?$/.exec(line);
    if (parts === null) throw new Error(`not an edge: ${line}`);
    return { from: parts[1]!, to: parts[2]!, cause: parts[3] ?? '' };
  });
}

const named = ({ from, to }: Edge): string => `${from} -> ${to}`;

test('the chart of a task has exactly the moves that the code allows, each with its cause', () => {
  const drawn = chart('A task').filter(({ from }) => from !== '[*]');
  const allowed = TASK_STATES.flatMap((from) => TASK_MOVES[from].map((to) => `${from} -> ${to}`));
  expect(drawn.map(named).toSorted()).toEqual(allowed.toSorted());
  expect(drawn.filter(({ cause }) => cause === '')).toEqual([]);
});

test('a task begins blocked, or ended when it is taken over by a fork', () => {
  const first = chart('A task').filter(({ from }) => from === '[*]');
  expect(first.map(({ to }) => to)).toEqual([
    'blocked',
    'succeeded',
    'failed',
    'cancelled',
    'skipped',
  ]);
});

test('every state of a task and of a job is drawn, and no other', () => {
  const states = (heading: string): Set<string> =>
    new Set(chart(heading).flatMap(({ from, to }) => [from, to]));
  expect(states('A task')).toEqual(new Set(['[*]', ...TASK_STATES]));
  expect(states('A job')).toEqual(new Set(['[*]', ...JOB_STATES]));
  expect(states('A node')).toEqual(new Set(['[*]', 'healthy', 'stale', 'dead']));
});

test('every state of a task is mapped to the words of both other systems', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` +\| `(\w+)` +\| `(\w+)` +\|$/gm)];
  expect(rows.map((row) => row[1])).toEqual([...TASK_STATES]);
  for (const [, , ffq, apflow] of rows) {
    expect(['Queued', 'Running', 'Succeeded', 'Failed']).toContain(ffq);
    expect(['pending', 'in_progress', 'completed', 'failed', 'cancelled']).toContain(apflow);
  }
});
