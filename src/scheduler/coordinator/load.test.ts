/** Load in bytes: what waits is bounded, a batch is bounded, and little is never held up by much. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Batch } from '../core/index.ts';
import { gated } from '../../../test/rig/gated-store.ts';
import type { Gate } from '../../../test/rig/gated-store.ts';
import { jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';

let clock: VirtualClock;
let gate: Gate;
let led: Led;

beforeEach(async () => {
  clock = new VirtualClock();
  gate = gated(memoryStore(clock));
  led = await lead(gate.store, clock);
  await led.leader.loaded;
  gate.commits.length = 0;
});

const MIB = 1024 * 1024;

/** A job whose inputs have so many bytes in all. */
function submit(name: string, bytes = 10): Promise<unknown> {
  const count = Math.ceil(bytes / MIB);
  const input = 'x'.repeat(Math.floor(bytes / count) - 2);
  const tasks = Array.from({ length: count }, (_, at) => ({
    id: `t${at}`,
    executor: 'echo',
    input,
  }));
  return led.leader.jobs.submit({ name, tasks }, { jobId: jobId(name), isFresh: true });
}

const names = (batch: Batch): string[] => batch.jobInserts.map(({ name }) => name);

describe('submissions of many bytes', () => {
  test('are written one by one, in turn with those who bring little', async () => {
    gate.hold();
    const first = submit('first');
    await settled();
    const large = ['large1', 'large2', 'large3'].map((name) => submit(name, 1.5 * MIB));
    const small = ['small1', 'small2'].map((name) => submit(name));
    await settled();
    gate.release();
    await Promise.all([first, ...large, ...small]);
    const order = gate.commits.map(names).filter((batch) => batch.length > 0);
    expect(order).toEqual([['first'], ['large1'], ['small1', 'small2'], ['large2'], ['large3']]);
  });
});

describe('many small events', () => {
  test('are split into batches by their bytes, in order', async () => {
    gate.hold();
    const first = submit('first');
    await settled();
    const all = Array.from({ length: 12 }, (_, at) => submit(`s${at}`, 900_000));
    await settled();
    gate.release();
    await Promise.all([first, ...all]);
    const sizes = gate.commits.map(({ specInserts }) =>
      specInserts.reduce((sum, { input }) => sum + (input?.length ?? 0), 0),
    );
    expect(Math.max(...sizes)).toBeLessThan(5 * MIB);
    expect(gate.commits.flatMap(names).slice(1)).toEqual(all.map((_, at) => `s${at}`));
  });
});
