import { expect, test } from 'vitest';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { MapOutput, ShuffleSource } from '../../scheduler/contract/index.ts';
import { mapRegistry } from './map-registry.ts';

const never = new AbortController().signal;

function output(query: string): MapOutput {
  return {
    query: query as JobId,
    stage: 0,
    mapTask: 0,
    attempt: 1,
    layoutVersion: 1,
    layoutFingerprint: 0n,
    partitions: [
      {
        ...{ partition: 0, bytes: 0, rows: 0, batches: 0, epoch: 1 },
        ...{ committedOffset: 0, isFinalized: true },
      },
    ],
  };
}

async function isRegistered(registry: ShuffleSource, query: string): Promise<boolean> {
  const range = { ...output(query), partition: 0, startOffset: 0, maxBytes: 0, minEpoch: 0 };
  try {
    for await (const { isFinalized } of registry.fetch(range, never)) return isFinalized;
  } catch (error) {
    expect(error).toMatchObject({ what: 'map output not registered for requested attempt' });
  }
  return false;
}

test('outputs of live queries are known, those of others are not and nobody minds', async () => {
  const live = new Set<JobId>(['a' as JobId]);
  const registry = mapRegistry({ isLive: (query) => live.has(query) });
  registry.register(output('a'));
  registry.register(output('b'));
  expect(await isRegistered(registry, 'a')).toBe(true);
  expect(await isRegistered(registry, 'b')).toBe(false);
});

test('queries that are over are forgotten', async () => {
  const live = new Set<JobId>();
  const registry = mapRegistry({ isLive: (query) => live.has(query) });
  for (let no = 0; no < 64; no += 1) {
    live.add(`q${no}` as JobId);
    registry.register(output(`q${no}`));
  }
  live.delete('q0' as JobId);
  live.add('last' as JobId);
  registry.register(output('last'));
  expect(await isRegistered(registry, 'q0')).toBe(false);
  expect(await isRegistered(registry, 'q1')).toBe(true);
});

test('where somebody else leads, that is said', () => {
  const registry = mapRegistry({
    isLive: () => {
      throw new MillraceError({ code: 'not_leader', what: 'Node n does not lead.' });
    },
  });
  expect(() => registry.register(output('a'))).toThrow('does not lead');
});
