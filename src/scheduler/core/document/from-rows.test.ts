import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { JobId, TaskId } from '../ids.ts';
import { documentFromRows, forkDocument } from './from-rows.ts';
import type { Fork } from './from-rows.ts';

const on = (...ids: string[]): object => ({ dependsOn: ids });

/** Runs a job in which `map`, and the first element of it, add tasks of their own. */
function mapped(): Harness {
  const world = new Harness();
  const node = world.node('w1');
  const tasks = [
    echo('fetch'),
    echo('map', on('fetch')),
    echo('under', { parent: 'map' }),
    echo('sum', on('map')),
  ];
  world.submit({ name: 'job', tasks });
  complete(world, node, { map: ['e1', 'e2'], e1: ['deep'] });
  expect(world.job('job').state).toBe('succeeded');
  return world;
}

/** Completes whatever comes; these add children first. */
function complete(
  world: Harness,
  node: ScriptedNode,
  adding: Readonly<Record<string, readonly string[]>>,
): void {
  while (world.rows.live.size > 0) {
    for (const task of node.poll(9)) {
      const children = task.resumed ? undefined : adding[task.taskId];
      if (children === undefined) node.complete(task, task.taskId);
      else
        node.spawn(
          task,
          children.map((id) => echo(id)),
        );
    }
  }
}

function forked(
  world: Harness,
  from: string,
  hasSucceeded?: (id: string) => boolean,
): { readonly fork: Fork; readonly ids: string[]; readonly taken: string[] } {
  const job = world.rows.jobsById.get('job' as JobId)!;
  const specs = job.tasks.map(({ spec }) => spec);
  const fork = forkDocument(job.row, specs, world.settings, from as TaskId, (no) =>
    hasSucceeded === undefined ? true : hasSucceeded(specs[no]?.id ?? ''),
  );
  if (fork === null) throw new Error(`there is no task ${from}`);
  const ids = fork.document.tasks.map(({ id }) => id as string);
  for (const { no, of } of fork.taken) expect(specs[of]?.id).toBe(ids[no]);
  return { fork, ids, taken: fork.taken.map(({ no }) => ids[no] as string) };
}

describe('a fork', () => {
  test('leaves out children that were added by a task that runs again, at any depth', () => {
    const { ids, taken } = forked(mapped(), 'map');
    expect(ids).toEqual(['fetch', 'map', 'under', 'sum']);
    expect(taken).toEqual(['fetch']);
  });

  test('runs what depends on a task again, and what the document places under it', () => {
    const { taken } = forked(mapped(), 'fetch');
    expect(taken).toEqual([]);
  });

  test('keeps what was added by a task that does not run again', () => {
    const { ids, taken, fork } = forked(mapped(), 'sum');
    expect(ids).toEqual(['fetch', 'map', 'under', 'sum', 'e1', 'e2', 'deep']);
    expect(taken).toEqual(ids.filter((id) => id !== 'sum'));
    expect(fork.document.tasks.map(({ isAdded }) => isAdded === true)).toEqual([
      false,
      false,
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  test('renumbers tasks after one that is left out', () => {
    const { fork, ids, taken } = forked(mapped(), 'e1');
    expect(ids).toEqual(['fetch', 'map', 'under', 'sum', 'e1', 'e2']);
    expect(taken).toEqual(['fetch', 'map', 'under', 'sum', 'e2']);
    expect(fork.document.tasks[5]).toMatchObject({ id: 'e2', parent: 1 });
  });

  test('leaves out what was added by a task that runs again because it did not succeed', () => {
    const { ids } = forked(mapped(), 'sum', (id) => id !== 'e1');
    expect(ids).toEqual(['fetch', 'map', 'under', 'sum', 'e1', 'e2']);
  });

  test('of an unknown task is refused', () => {
    const world = mapped();
    const { row, tasks } = world.rows.jobsById.get('job' as JobId)!;
    const specs = tasks.map(({ spec }) => spec);
    expect(forkDocument(row, specs, world.settings, 'ghost' as TaskId)).toBe(null);
  });

  test('runs like any other job, and can be forked again', () => {
    const world = mapped();
    const { fork } = forked(world, 'sum');
    const seeds = new Map(
      fork.taken.map(({ no }) => [no, { state: 'succeeded', result: '1' } as const]),
    );
    world.ask({ type: 'submit', jobId: 'two' as JobId, document: fork.document, seeds });
    const node = world.node('w2');
    expect(node.poll(9).map(({ taskId }) => taskId)).toEqual(['sum']);
    const two = world.rows.jobsById.get('two' as JobId)!;
    const again = forkDocument(
      two.row,
      two.tasks.map(({ spec }) => spec),
      world.settings,
      'map' as TaskId,
    );
    expect(again?.document.tasks.map(({ id }) => id)).toEqual(['fetch', 'map', 'under', 'sum']);
  });
});

test('a document survives a round trip through rows, with conditions and output', () => {
  const world = new Harness();
  const retry = { maxAttempts: 7 };
  world.submit({
    name: 'job',
    output: { $from: 'b' },
    tasks: [
      echo('a', { retry }),
      echo('b', { ...on('a'), when: { $from: 'a', '>': 1 }, input: 2 }),
    ],
  });
  const { row, tasks } = world.rows.jobsById.get('job' as JobId)!;
  const back = documentFromRows(
    row,
    tasks.map(({ spec }) => spec),
    world.settings,
  );
  expect(back).toMatchObject({
    output: '{"$from":"b"}',
    tasks: [
      { id: 'a', options: { retry } },
      { id: 'b', input: '{"$when":[{"$from":"a",">":1}],"input":2}' },
    ],
  });
  expect(back.tasks.some(({ isAdded }) => isAdded === true)).toBe(false);
});
