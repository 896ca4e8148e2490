/** The executor with engines that the test holds in hand; the real one is in `real-engine.test.ts`. */
import { access, readFile, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { fragment, fragmentNode, fragmentTask } from '../../../test/rig/fragment-node.ts';
import type { FragmentNodeRig } from '../../../test/rig/fragment-node.ts';
import { bytes, temporaryFolder } from '../../../test/rig/shuffle-node.ts';
import { attemptsOf, testContext, thrownBy } from '../../../test/rig/task-context.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode, TaskId } from '../../scheduler/core/index.ts';
import type {
  EngineSize,
  FragmentEngine,
  FragmentRequest,
  FragmentOutput,
} from '../engine/index.ts';
import { deferred } from '../../kit/index.ts';
import { SPLIT_VERSION } from '../plan/index.ts';
import type { FragmentResult, FragmentTask, PartitionRead, PinnedFile } from '../plan/index.ts';
import type { Engines } from './fragment-executor.ts';

interface TestEngines extends Engines {
  readonly lent: EngineSize[];
  readonly orders: FragmentRequest[];
  /** Lent and not given back. */
  readonly out: () => number;
}

type Run = (order: FragmentRequest, signal: AbortSignal) => Promise<FragmentOutput>;

function enginesThat(run: Run): TestEngines {
  const lent: EngineSize[] = [];
  const orders: FragmentRequest[] = [];
  let out = 0;
  const engine: FragmentEngine = {
    run: (order, signal) => {
      orders.push(order);
      return run(order, signal);
    },
    rows: () => {
      throw new Error('The rows came with the run, or were too many.');
    },
    warm: () => Promise.resolve('v1.5.6'),
    close: () => Promise.resolve(),
  };
  const acquire: Engines['acquire'] = (size) => {
    lent.push(size);
    out += 1;
    return Promise.resolve({ engine, release: () => (out -= 1) });
  };
  return { lent, orders, out: () => out, acquire };
}

/** Writes one file a partition; null for none. */
const writing =
  (contents: readonly (Buffer | null)[], rows: FragmentOutput['rows'] = null): Run =>
  async ({ folder }) => {
    const parts = [];
    for (const [at, content] of contents.entries()) {
      const files = content === null ? [] : [`${at}-0.parquet`];
      for (const file of files) await writeFile(join(folder, file), content ?? '');
      parts.push({ rows: content?.length ?? 0, files });
    }
    const rowsOut = parts.reduce((sum, part) => sum + part.rows, 0);
    return { parts, rows, sums: {}, rowsIn: 3, rowsOut, runMs: 1, spilledBytes: 0 };
  };

const failing =
  (code: ErrorCode): Run =>
  () =>
    Promise.reject(new MillraceError({ code, what: `it is ${code}.` }));

const hash = (partitions: number): FragmentTask['output'] => ({
  kind: 'hash',
  by: ['c0'],
  partitions,
});

const context = (taskId = 's0.0', fence = 1) => testContext({ taskId: taskId as TaskId, fence });

const readOf = ({ at, parts }: FragmentResult, partition: number): PartitionRead => {
  const part = parts[partition];
  if (part === undefined) throw new Error(`no partition ${partition}`);
  return { at, partition, part };
};

/** A task of stage 1 that reads `reads` under the name x0. */
const reading = (reads: readonly PartitionRead[], mode: 'partition' | 'all' = 'partition') =>
  fragmentTask({
    stage: 1,
    fragment: fragment({ inputs: [{ relation: 'x0', stage: 0, mode, columns: [] }] }),
    reads: { x0: reads },
  });

/** Nothing but committed outputs is left on the node. */
async function expectTidy({ store, budget }: FragmentNodeRig): Promise<void> {
  await store.tidied();
  const [own = ''] = await readdir(store.root).catch(() => []);
  const left = await readdir(join(store.root, own, 'tmp')).catch(() => []);
  expect(left).toEqual([]);
  expect(budget.freeBytes).toBe(budget.totalBytes);
}

test('does not start a fragment whose operator is missing, and names it', async () => {
  const engines = enginesThat(writing([bytes(1)]));
  const node = await fragmentNode({ engines });
  const task = fragmentTask({ requires: ['known', 'geo'] });
  expect(await thrownBy(() => node.run(task, testContext()))).toMatchObject({
    message: "custom physical operator 'geo' is not registered on worker",
    failure: 'missing',
    missing: 'geo',
  });
  expect(engines.orders).toEqual([]);
  await node.run(fragmentTask({ requires: ['known'] }), context('s0.0', 1));
  expect(engines.orders).toHaveLength(1);
});

test('does not start a fragment of a newer plan format, which counts as nothing', async () => {
  const engines = enginesThat(writing([bytes(1)]));
  const node = await fragmentNode({ engines });
  const run = (version: number) =>
    thrownBy(() => node.run(fragmentTask({ version }), testContext()));
  expect(await run(SPLIT_VERSION + 1)).toMatchObject({
    failure: 'missing',
    message: expect.stringMatching(/this worker runs versions up to 5. Upgrade/) as string,
  });
  expect(engines.orders).toEqual([]);
  await node.run(fragmentTask({ version: SPLIT_VERSION }), context('s0.0', 1));
  expect(engines.orders).toHaveLength(1);
});

test('a fragment keeps its partitions and says where they are', async () => {
  const engines = enginesThat(writing([bytes(100), null, bytes(50, 2)]));
  const node = await fragmentNode({ engines });
  const result = await node.run(fragmentTask({ output: hash(3) }), context('s0.4', 7));
  expect(result).toMatchObject({
    at: { task: 's0.4', fence: 7, node: 'w-1', address: node.address, epoch: 7, layout: 1 },
    inline: null,
    metrics: { rowsIn: 3, rowsOut: 150, bytesOut: 150, batches: 2, fetchedBytes: 0 },
  });
  expect(result.parts.map((part) => [part.rows, part.bytes, part.segments.length])).toEqual([
    [100, 100, 1],
    [0, 0, 0],
    [50, 50, 1],
  ]);
  await access(join(result.at.folder, '2-0.parquet'));
  expect(engines.out()).toBe(0);
  // Nobody asks for the rows of what stages hand to each other.
  expect(engines.orders[0]?.rowsMax).toBeUndefined();
  await expectTidy(node);
});

test('a reader gets its partition of every producer, from here and from elsewhere', async () => {
  const far = await fragmentNode({ engines: enginesThat(writing([bytes(10), bytes(20)])) });
  const near = await fragmentNode({ engines: enginesThat(writing([bytes(30), bytes(40)])) });
  const outputs = [
    await far.run(fragmentTask({ output: hash(2) }), context('s0.0')),
    await near.run(fragmentTask({ output: hash(2) }), context('s0.1')),
  ];
  const found: Buffer[] = [];
  const engines = enginesThat(async (order) => {
    for (const file of order.inputs['x0'] ?? []) found.push(await readFile(file));
    return writing([bytes(1)])(order, new AbortController().signal);
  });
  const reader = await fragmentNode({ engines });
  const result = await reader.run(reading(outputs.map((each) => readOf(each, 1))), context('s1.1'));
  expect(found.map((content) => content.length)).toEqual([20, 40]);
  expect(result.metrics).toMatchObject({ rowsIn: 3 + 60, fetchedBytes: 60, localBytes: 0 });
  await expectTidy(reader);
});

test('inputs that lie here are read where they lie, and no folder is made for them', async () => {
  const seen: { readonly inputs: FragmentRequest['inputs']; readonly tmp: readonly string[] }[] =
    [];
  const engines = enginesThat(async (order, signal) => {
    const tmp = await readdir(join(order.folder, '..'));
    seen.push({ inputs: order.inputs, tmp: tmp.map((name) => name.slice(0, 3)) });
    return writing([bytes(10), null])(order, signal);
  });
  const node = await fragmentNode({ engines });
  const output = await node.run(fragmentTask({ output: hash(2) }), context('s0.0'));
  for (const mode of ['partition', 'all'] as const) {
    const reads = [readOf(output, 0), readOf(output, 1)];
    await node.run(reading(reads, mode), context(mode === 'all' ? 's1.1' : 's1.0'));
    expect(seen.at(-1)).toEqual({
      inputs: { x0: [join(output.at.folder, '0-0.parquet')] },
      tmp: ['dra'],
    });
  }
  await expect(access(join(output.at.folder, '../../shared'))).rejects.toThrow('ENOENT');
});

test('fetches a broadcast once and keeps it until the query is dropped', async () => {
  const far = await fragmentNode({ engines: enginesThat(writing([bytes(1_000)])) });
  const output = await far.run(fragmentTask(), context('s0.0'));
  const engines = enginesThat(writing([bytes(1)]));
  const reader = await fragmentNode({ engines });
  const task = reading([readOf(output, 0)], 'all');
  const results = await Promise.all([0, 1, 2].map((at) => reader.run(task, context(`s1.${at}`))));
  expect(results.map(({ metrics }) => metrics.fetchedBytes)).toEqual([1_000, 0, 0]);
  const files = new Set(engines.orders.map(({ inputs }) => inputs['x0']?.join()));
  expect(files.size).toBe(1);
  // Also after the one that made it is gone.
  await far.stop();
  await reader.run(task, context('s1.3'));
  const { jobId } = context();
  expect(reader.shared.queries).toEqual([jobId]);
  await reader.shared.drop(jobId);
  await expect(access([...files][0] ?? '')).rejects.toThrow('ENOENT');
});

test('reports a lost input without failing the task', async () => {
  const far = await fragmentNode({ engines: enginesThat(writing([bytes(10)])) });
  const output = await far.run(fragmentTask(), context('s0.3', 5));
  await far.store.drop(context().jobId);
  for (const mode of ['partition', 'all'] as const) {
    const reader = await fragmentNode({ engines: enginesThat(writing([bytes(1)])) });
    const thrown = await thrownBy(() =>
      reader.run(reading([readOf(output, 0)], mode), context('s1.0')),
    );
    expect(thrown).toMatchObject({
      name: 'InputLostError',
      code: 'input_lost',
      lost: [{ taskId: 's0.3', fence: 5 }],
    });
    await expectTidy(reader);
  }
});

test('a small result travels with the answer and is kept nowhere else', async () => {
  const rows = [
    [1, 'a'],
    [2, null],
  ];
  const engines = enginesThat(writing([bytes(500)], rows));
  const node = await fragmentNode({ engines });
  const { at, inline, parts, metrics } = await node.run(
    fragmentTask({ output: { kind: 'result' }, rowsAlone: true }),
    context(),
  );
  expect(Buffer.from(inline?.parquet ?? '', 'base64').equals(bytes(500))).toBe(true);
  expect(inline?.rows).toEqual(rows);
  expect(engines.orders[0]?.rowsMax).toEqual({ values: 8_000, bytes: 65_536 });
  expect(parts).toEqual([{ rows: 500, bytes: 0, segments: [] }]);
  expect([at.folder, metrics.bytesOut, node.store.usage.outputs]).toEqual(['', 500, 0]);
  await expectTidy(node);
});

test('rows without a file travel alone, and only where the leader knows them', async () => {
  const engines = enginesThat(writing([null], [[1, 'a']]));
  const node = await fragmentNode({ engines });
  const task = fragmentTask({ output: { kind: 'result' }, rowsAlone: true });
  const { inline, metrics } = await node.run(task, context());
  expect(inline).toEqual({ parquet: null, rows: [[1, 'a']] });
  expect([metrics.bytesOut, node.store.usage.outputs]).toEqual([9, 0]);
  await node.run(fragmentTask({ output: { kind: 'result' } }), context('s0.1'));
  expect(engines.orders.map(({ rowsMax }) => rowsMax !== undefined)).toEqual([true, false]);
  await expectTidy(node);
});

test('a result whose rows are too many travels without them', async () => {
  const node = await fragmentNode({ engines: enginesThat(writing([bytes(100_000)])) });
  const task = fragmentTask({ output: { kind: 'result' } });
  const { inline } = await node.run(task, context());
  expect(inline?.parquet).toHaveLength(Math.ceil(100_000 / 3) * 4);
  expect(inline?.rows).toBeNull();
});

test('sums that the engine has made are those of the output, and the others are made here', async () => {
  const engines = enginesThat(async (order, signal) => {
    const sums = { '0-0.parquet': { bytes: 100, crc32: 12_345 } };
    return { ...(await writing([bytes(100), bytes(50)])(order, signal)), sums };
  });
  const node = await fragmentNode({ engines });
  const { parts } = await node.run(fragmentTask({ output: hash(2) }), context());
  const segmentsOf = parts.map(({ segments }) => segments[0]?.join(' '));
  expect(segmentsOf).toEqual(['100 12345', `50 ${crc32(bytes(50))}`]);
});

test('a large result is kept on the node', async () => {
  const node = await fragmentNode({ engines: enginesThat(writing([bytes(300_000)])) });
  const task = fragmentTask({ output: { kind: 'result' } });
  const { inline, parts } = await node.run(task, context());
  expect([inline, parts[0]?.bytes]).toEqual([null, 300_000]);
  expect([node.store.queries('inner'), node.store.queries('result')]).toEqual([
    [],
    [context().jobId],
  ]);
});

test('retries with twice the memory after running out, and the second time is fatal', async () => {
  const engines = enginesThat(failing('out_of_memory'));
  const node = await fragmentNode({ engines, memoryBytes: 1_000, shareBytes: 300 });
  const attempt = attemptsOf('s0.0');
  const thrown = [];
  for (const number of [1, 2]) {
    thrown.push(await thrownBy(() => node.run(fragmentTask(), attempt(number))));
  }
  expect(thrown).toMatchObject([
    { code: 'out_of_memory', failure: 'retryable' },
    { code: 'out_of_memory', failure: 'fatal' },
  ]);
  expect(engines.lent.map(({ memoryBytes }) => memoryBytes)).toEqual([300, 600]);
  await expectTidy(node);
});

test('a second attempt for another reason gets as much as the first', async () => {
  const engines = enginesThat(failing('engine_crashed'));
  const node = await fragmentNode({ engines, memoryBytes: 1_000, shareBytes: 300 });
  const attempt = attemptsOf('s0.0');
  for (const number of [1, 2]) {
    const thrown = await thrownBy(() =>
      node.run(fragmentTask({ memoryBytes: 400 }), attempt(number)),
    );
    expect(thrown).toMatchObject({ code: 'engine_crashed', failure: 'retryable' });
  }
  expect(engines.lent.map(({ memoryBytes }) => memoryBytes)).toEqual([400, 400]);
});

test.each(['query_failed', 'path_refused', 'table_changed'] as const)(
  'fails fatally on what a retry would not change: %s',
  async (code) => {
    const node = await fragmentNode({ engines: enginesThat(failing(code)) });
    const thrown = await thrownBy(() => node.run(fragmentTask(), context()));
    expect(thrown).toMatchObject({ code, failure: 'fatal', message: `it is ${code}.` });
  },
);

test('an abort in the middle leaves nothing behind', async () => {
  const begun = deferred();
  const engines = enginesThat(async ({ folder }, signal) => {
    await writeFile(join(folder, 'half'), 'half');
    begun.resolve();
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  });
  const node = await fragmentNode({ engines });
  const attempt = context();
  const running = node.run(fragmentTask(), attempt);
  await begun.promise;
  attempt.abort(new Error('not wanted any more'));
  await expect(running).rejects.toThrow('not wanted any more');
  expect([engines.out(), node.store.usage.outputs]).toEqual([0, 0]);
  await expectTidy(node);
});

async function pinned(): Promise<PinnedFile> {
  const { Pins } = await import('../catalog/index.ts');
  const path = join(await temporaryFolder(), 'table.parquet');
  await writeFile(path, bytes(100));
  const [pin] = await new Pins().pinAll([path], new AbortController().signal);
  return { ...pin!, rows: 1, groups: [1] };
}

test.each(['before', 'while'])('a file that changes %s it is read fails the task', async (when) => {
  const file = await pinned();
  const change = (): Promise<void> => utimes(file.path, 1, 1);
  const engines = enginesThat(async (order, signal) => {
    if (when === 'while') await change();
    return writing([bytes(1)])(order, signal);
  });
  const node = await fragmentNode({ engines });
  if (when === 'before') await change();
  const task = fragmentTask({
    fragment: fragment({
      scans: [
        {
          relation: 't0',
          table: 't',
          files: null,
          rows: 'own',
          reader: { format: 'parquet', options: '' },
          columns: [],
        },
      ],
    }),
    ranges: { t0: [{ ...file, from: null, to: null }] },
  });
  const thrown = await thrownBy(() => node.run(task, context()));
  expect(thrown).toMatchObject({ code: 'table_changed', failure: 'fatal' });
  expect(node.store.usage.outputs).toBe(0);
  await expectTidy(node);
});

test.each([
  ['nothing', null],
  ['no fragment', { stage: 0, task: 0 }],
  ['a read without a place', { ...reading([{} as PartitionRead]) }],
  [
    'no ranges of a scan',
    fragmentTask({ fragment: fragment({ scans: [{ relation: 't' } as never] }) }),
  ],
  ['a strange output', fragmentTask({ output: { kind: 'other' } as never })],
])('fails fatally on an input that is not a fragment: %s', async (_what, input) => {
  const node = await fragmentNode({ engines: enginesThat(writing([])) });
  const thrown = await thrownBy(() => node.run(input as FragmentTask, context()));
  expect(thrown).toMatchObject({ code: 'bad_input', failure: 'fatal' });
});
