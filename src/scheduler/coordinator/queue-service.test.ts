import { expect, test } from 'vitest';
import { lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import type { JobId } from '../core/index.ts';

test('counts many tasks in several turns of the event loop, once for all who ask meanwhile', async () => {
  const clock = new VirtualClock();
  const { leader } = await lead(memoryStore(clock), clock);
  const tasks = Array.from({ length: 25_000 }, (_, at) => ({ id: `t${at}`, executor: 'echo' }));
  await leader.jobs.submit({ tasks }, { jobId: 'many' as JobId });
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const first = leader.queues.list();
  expect(leader.queues.list()).toBe(first);
  const [queue] = await first;
  isOver = true;
  expect(queue).toMatchObject({ executor: 'echo', ready: 25_000, running: 0 });
  expect(turns).toBeGreaterThanOrEqual(2);
  expect(leader.queues.list()).not.toBe(first);
});
