import { describe, expect, test } from 'vitest';
import { QueryScene, SLOW, isLinux, letGo, recomputed } from './query-scene.ts';
import { until } from './scene.ts';
import { scratch } from '../sql/scratch.ts';

const here = scratch();

describe.runIf(isLinux)('queries', () => {
  test('go on under the next leader, and what was done is not done again', async () => {
    const scene = await QueryScene.start(here, {
      leaders: 2,
      settings: { sessionTtlMs: 30_000, nodeDeadMs: 40_000 },
    });
    const { cluster } = scene;
    const id = await scene.submit(SLOW);
    await scene.held(id);
    const leader = await cluster.leading();
    await leader.process.crash();
    await until(async () => (await cluster.leading()).id !== leader.id, 'nobody else leads');
    letGo(...cluster.workers);
    expect(recomputed(await scene.expectRight(id, SLOW))).toBe(0);
    for (const task of (await scene.tasks(id)).values())
      expect(task).toMatchObject({ run: 1, attempt: 1 });
    await scene.end();
  });
});
