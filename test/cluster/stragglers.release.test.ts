/** One of four workers does not get on, and queries end all the same, with the right rows. */
import { describe, expect, test } from 'vitest';
import { scratch } from '../sql/scratch.ts';
import { QueryCluster, SLOW, isLinux, isOf, letGo } from '../rig/cluster/query-cluster.ts';
import type { TaskEvent } from '../rig/cluster/query-cluster.ts';
import type { AttemptShape } from '../../src/scheduler/contract/index.ts';
import { eventsOf } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';

const here = scratch();

/** Long enough that no query could wait for the end of a session. */
const LONG_TTL = { sessionTtlMs: 120_000, nodeDeadMs: 130_000 };
const STRAGGLERS = { stragglerFactor: 2 };

async function attempts(fixture: QueryCluster, id: string, task: string): Promise<AttemptShape[]> {
  const path = `/api/v1/jobs/${id}/tasks/${task}`;
  const detail = await fixture.cluster.client.call({ method: 'GET', path });
  return (detail as { readonly attempts: AttemptShape[] }).attempts;
}

async function duplicatedTask(fixture: QueryCluster, id: string): Promise<TaskEvent> {
  return fixture.event(id, (event) => isOf(event, 's1') && event.kind === 'duplicated');
}

describe.runIf(isLinux)('a query on four workers, one of which makes no progress', () => {
  test('ends without it if its engines are paused, and the rows are those of DuckDB', async () => {
    const fixture = await QueryCluster.start(here, { workers: 4, settings: LONG_TTL });
    const one = fixture.worker(1);
    const id = await fixture.submit(SLOW, STRAGGLERS);
    await fixture.held(id, [one]);
    const { task, node, fence } = await duplicatedTask(fixture, id);
    expect(node).not.toBe(one.id);
    await fixture.expectRight(id, SLOW);
    const both = await attempts(fixture, id, task ?? '');
    expect(both).toMatchObject([
      { node: one.id, attempt: 1, outcome: 'discarded', speculative: false },
      { node, attempt: 1, fence, outcome: 'succeeded', error: null, speculative: true },
    ]);
    // It counts neither as a retry nor as a failure.
    const kinds = (await eventsOf(fixture.cluster, id)).map(({ kind }) => kind);
    for (const kind of ['retried', 'failed', 'reassigned', 'recomputed'])
      expect(kinds).not.toContain(kind);
    letGo(one);
    const loser = `${id}.${task}.${both[0]?.fence}`;
    const isTidy = async (): Promise<boolean> =>
      (await fixture.outputs(one, id)).every((folder) => !folder.endsWith(loser));
    await until(isTidy, 'the output of the attempt that lost is still there');
    await fixture.end();
  });

  test('ends without it if its process is paused, long before its session ends', async () => {
    // The others read what it has made from its disk: over the network it would not answer.
    const options = { workers: 4, settings: LONG_TTL, args: [] };
    const fixture = await QueryCluster.start(here, options);
    const one = fixture.worker(1);
    const id = await fixture.submit(SLOW, STRAGGLERS);
    await fixture.held(id, [one]);
    one.process.pause();
    await fixture.expectRight(id, SLOW);
    expect((await eventsOf(fixture.cluster, id)).map(({ kind }) => kind)).toContain('duplicated');
    one.process.resume();
    letGo(one);
    // What it says of its own attempt is lost, and it goes on working.
    const next = await fixture.submit(SLOW);
    await fixture.expectRight(next, SLOW);
    await fixture.end();
  });

  test('waits for it if the query says so', async () => {
    const fixture = await QueryCluster.start(here, { workers: 4, settings: LONG_TTL });
    const one = fixture.worker(1);
    const id = await fixture.submit(SLOW, { stragglerFactor: 0 });
    await fixture.held(id, [one]);
    const isAlone = async (): Promise<boolean> => {
      const tasks = [...(await fixture.tasks(id)).values()].filter(({ id: own }) =>
        own.startsWith('s1.'),
      );
      return tasks.filter(({ state }) => state === 'succeeded').length === tasks.length - 1;
    };
    await until(isAlone, 'the other workers do not get on');
    letGo(one);
    await fixture.expectRight(id, SLOW);
    expect((await eventsOf(fixture.cluster, id)).map(({ kind }) => kind)).not.toContain(
      'duplicated',
    );
    await fixture.end();
  });
});
