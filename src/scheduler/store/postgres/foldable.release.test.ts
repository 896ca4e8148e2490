/** A commit that the journal has taken must be folded: rows that the tables would refuse are refused before. */
import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { TestLeader, type Changes } from '../../../../test/rig/conformance/leader.ts';
import {
  AT,
  aJob,
  aKey,
  aNode,
  aSchedule,
  aSignal,
  aSpec,
  aTask,
  nodeId,
  running,
  scheduleId,
} from '../../../../test/rig/conformance/rows.ts';
import { millraceDatabase } from '../../../../test/rig/millrace-database.ts';
import { jobId } from '../../../../test/rig/conformance/rows.ts';
import { instant, jobNo, taskNo } from '../../core/index.ts';
import { openPostgresStore } from './open.ts';

/** Compression does not make it short enough for an entry of an index. */
const LONG = randomBytes(3_000).toString('hex');
const TEXTS = ['', LONG, randomBytes(900).toString('hex'), 'NULL', '{"', "\\'", '€'.repeat(900)];
/** The ends of what PostgreSQL, JavaScript and exact numbers can hold, and one more. */
const TIMES = [
  ...[-1, -62_135_596_800_000, -62_135_596_800_001, -210_866_803_200_001, -8_640_000_000_000_000],
  ...[253_402_300_800_000, 8_640_000_000_000_000, 8_640_000_000_000_001, Number.MAX_SAFE_INTEGER],
];
const NUMBERS = [-1, -0, 0.5, 2 ** 31 - 1, 2 ** 31, Number.MAX_SAFE_INTEGER];
const LISTS = [[LONG], ['', 'NULL', '{', '"'], ['€'.repeat(900)]];

const ONE_TASK = {
  ...{ jobInserts: [aJob(1)], specInserts: [aSpec(1, 0)], taskInserts: [aTask(1, 0)] },
};
const at = instant(AT);

interface Kind {
  /** A valid row in which every field that may be tried has a value. */
  readonly row: object;
  readonly batch: (row: never) => Changes;
}

const KINDS: Readonly<Record<string, Kind>> = {
  job: {
    row: aJob(1, {
      ...{ idempotencyKey: 'k', maxParallel: 1, totalMs: 1, scheduleId: scheduleId('s') },
      ...{ output: '1', labels: ['a:b'], runAt: at, options: '{}', startedAt: at },
    }),
    batch: (row) => ({ jobInserts: [row] }),
  },
  spec: {
    row: aSpec(1, 0, { idempotencyKey: 'k', options: '{}', input: '1' }),
    batch: (row) => ({ ...ONE_TASK, specInserts: [row] }),
  },
  task: {
    row: running(1, 0, { waits: '[]', notBefore: at }),
    batch: (row) => ({ ...ONE_TASK, taskInserts: [row] }),
  },
  signal: {
    row: aSignal(1, 0),
    batch: (row) => ({ jobInserts: [aJob(1)], signalInserts: [row] }),
  },
  key: {
    row: aKey('k', { state: 'completed', result: '1' }),
    batch: (row) => ({ keyUpserts: [row] }),
  },
  node: { row: aNode('n', { quarantinedUntil: at }), batch: (row) => ({ nodeUpserts: [row] }) },
  schedule: {
    row: aSchedule('s', { lastAt: at, lastJobId: jobId('j') }),
    batch: (row) => ({ scheduleUpserts: [row] }),
  },
  limit: { row: { id: 'rate/a', state: '{}' }, batch: (row) => ({ limitUpserts: [row] }) },
  result: {
    row: { jobNo: jobNo(1), taskNo: taskNo(0), run: 1, body: '1' },
    batch: (row) => ({ ...ONE_TASK, results: [row] }),
  },
  step: {
    row: { jobNo: jobNo(1), taskNo: taskNo(0), run: 1, name: 's', body: '1' },
    batch: (row) => ({ ...ONE_TASK, steps: [row] }),
  },
  event: {
    row: { at, run: 1, attempt: 1, fence: 1, nodeId: nodeId('n'), detail: '{}' },
    batch: (row) => ({ events: [row] }),
  },
};

/** Of all that options may have, what is in an index. */
const STARTERS = [900, 3_000].map(
  (bytes) => `{"startedBy":{"event":"${randomBytes(bytes).toString('hex')}","id":"e"}}`,
);

/** Given out by the leader, and looked up before a commit. */
const NUMBERED = /^(no|jobNo|taskNo)$/;

/** Other values of the same type. */
function othersOf(field: string, value: unknown): readonly unknown[] {
  if (typeof value === 'string') return field === 'options' ? [...TEXTS, ...STARTERS] : TEXTS;
  if (Array.isArray(value)) return LISTS;
  if (typeof value !== 'number') return [];
  return /At$|^at$|notBefore|quarantinedUntil/.test(field) ? TIMES : NUMBERS;
}

test.each(Object.entries(KINDS))(
  'whatever a commit takes of a %s is folded',
  async (kind, { row, batch }) => {
    const database = await millraceDatabase();
    onTestFinished(() => database.drop());
    const store = await openPostgresStore({ url: database.url, foldAfterMs: 600_000 });
    const stuck: string[] = [];
    let [shard, taken] = [0, 0];
    for (const [field, value] of Object.entries<unknown>({ ...row })) {
      if (NUMBERED.test(field)) continue;
      for (const other of [value, ...othersOf(field, value)]) {
        shard += 1;
        const leader = await TestLeader.of(store, shard);
        const changes = batch({ ...row, [field]: other } as never);
        const refused = await leader.commit(changes).catch((error: unknown) => error);
        if (refused instanceof Error) {
          expect(refused).toMatchObject({ code: 'bad_row' });
          continue;
        }
        taken += 1;
        const why = await store.nodes(shard).catch((error: unknown) => error);
        if (why instanceof Error) stuck.push(`${kind}.${field}: ${why.message.slice(0, 300)}`);
      }
    }
    await store.close();
    expect(stuck).toEqual([]);
    expect(taken).toBeGreaterThan(0);
  },
  120_000,
);
