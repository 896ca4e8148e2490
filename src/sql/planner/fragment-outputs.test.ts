import { expect, test } from 'vitest';
import { samplePlan } from '../../../test/rig/query-job.ts';
import { temporaryFolder } from '../../../test/rig/shuffle-node.ts';
import type { JobId, NodeId, SessionId } from '../../scheduler/core/index.ts';
import type { PartitionChunk, PartitionRange } from '../../scheduler/contract/index.ts';
import { FragmentOutputs } from './fragment-outputs.ts';
import { ResultSpool } from './result-spool.ts';

const QUERY = 'q' as JobId;
const BY = { nodeId: 'w' as NodeId, sessionId: 's' as SessionId };
const KEY = { query: QUERY, stage: 1, task: 0, fence: 3, attempt: 1 };
const RANGE: PartitionRange = {
  ...{ query: QUERY, stage: 1, mapTask: 0, fence: 3, attempt: 0, partition: 0 },
  ...{ startOffset: 0, maxBytes: 0, layoutVersion: 0, minEpoch: 0 },
};

async function scene() {
  const over = new Set<JobId>();
  const outputs = new FragmentOutputs({
    plan: () => Promise.resolve(samplePlan),
    held: (_session, key) => ({
      ...{ ...key, taskId: `s${key.stage}.${key.task}`, fence: 3, attempt: 1 },
      ...{ nodeId: BY.nodeId, address: null },
    }),
    committed: () => Promise.resolve(null),
    isOver: (query) => Promise.resolve(over.has(query)),
    spool: new ResultSpool({ folder: await temporaryFolder() }),
    channel: { fetch: () => expect.fail('nobody else is asked') },
    address: () => '127.0.0.1:1',
    settings: { earlyFetchPercent: 50, earlyFetchMinBytes: 0 },
  });
  const fetched = async (more: Partial<PartitionRange> = {}): Promise<PartitionChunk[]> => {
    const all: PartitionChunk[] = [];
    const { signal } = new AbortController();
    for await (const chunk of outputs.fetch({ ...RANGE, ...more }, signal)) all.push(chunk);
    return all;
  };
  return { outputs, over, fetched };
}

test('rows can be fetched as they come, and expire with their query', async () => {
  const { outputs, over, fetched } = await scene();
  const put = (chunk: number, text: string, rows: number | null): Promise<number> =>
    outputs.rows.register({ ...KEY, chunk, payload: Buffer.from(text), rows }, BY);
  await put(0, 'abc', null);
  expect(await fetched()).toMatchObject([{ endOffset: 3, isFinalized: false, epoch: 3 }]);
  await put(1, 'def', 2);
  const [rest] = await fetched({ startOffset: 2, maxBytes: 3 });
  expect(String(rest?.payload)).toBe('cde');
  expect(rest).toMatchObject({ endOffset: 5, watermarkOffset: 6, isFinalized: true });
  await expect(fetched({ fence: 2 })).rejects.toMatchObject({ code: 'conflict' });
  await outputs.tidy();
  expect(await fetched()).toHaveLength(1);
  over.add(QUERY);
  await outputs.tidy();
  await expect(fetched()).rejects.toThrow('map output not registered for requested attempt');
});

test('a completion needs a registered output or a result of its own', async () => {
  const { outputs, fetched } = await scene();
  const at = { task: 's1.0', fence: 3, node: 'w', address: '127.0.0.1:1', folder: '', index: '' };
  const result = {
    ...{ at: { ...at, epoch: 3, layout: 1 }, inline: null },
    parts: [{ rows: 1, bytes: 9, segments: [[9, 1] as const] }],
    metrics: {
      ...{ rowsIn: 0, rowsOut: 1, bytesOut: 9, batches: 1, fetchedBytes: 0, localBytes: 0 },
      ...{ fetchMs: 0, runMs: 0, writeMs: 0, spilledBytes: 0 },
    },
  };
  const { query, taskId, ...key } = { ...KEY, taskId: 's1.0' };
  const held = { query, taskId, ...key, nodeId: BY.nodeId, address: null };
  expect(await outputs.complete(held, JSON.stringify(result))).toHaveProperty('result');
  expect(await outputs.complete(held, null)).toBe('unregistered');
  await expect(fetched()).rejects.toMatchObject({ code: 'conflict' });
});
