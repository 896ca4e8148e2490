import fc from 'fast-check';
import { expect, test } from 'vitest';
import { instant, jobNo, taskNo } from '../../../scheduler/core/index.ts';
import type { JobId, LeaseName, NodeId, SessionId, TaskId } from '../../../scheduler/core/index.ts';
import type {
  PollReply,
  ReadyAssignment,
  WorkerReport,
} from '../../../scheduler/contract/index.ts';
import { WorkRequest, WorkResponse } from '../gen/millrace/v1/work.ts';
import type { PackedReports } from '../gen/millrace/v1/work.ts';
import { HELD_MAX, HeldLeases, SentLeases, packLeases } from './packed-leases.ts';
import { fromPackedReports, toPackedReports } from './packed-reports.ts';
import { fromPackedTasks, toPackedTasks } from './packed-tasks.ts';

const whole = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 });
const lease: fc.Arbitrary<LeaseName> = fc.record({
  jobNo: whole.map(jobNo),
  taskNo: fc.nat({ max: 99_999 }).map(taskNo),
  fence: whole,
  term: fc.constantFrom('term-1', 'term-2') as fc.Arbitrary<LeaseName['term']>,
  jobId: text as fc.Arbitrary<JobId>,
});
const orders = { abort: [], drain: false, slowDownMs: 0 };
const session = { nodeId: 'w' as NodeId, sessionId: 's' as SessionId };

function task(of: LeaseName, more: Partial<ReadyAssignment> = {}): ReadyAssignment {
  return {
    lease: of,
    jobId: of.jobId,
    taskId: 't' as TaskId,
    executor: 'echo',
    run: 1,
    attempt: 1,
    runMs: null,
    resumed: false,
    input: 'null',
    idempotencyKey: null,
    steps: [],
    assignedAt: instant(5),
    children: [],
    hasChildren: false,
    scheduledAt: null,
    trace: null,
    ...more,
  };
}

const more: fc.Arbitrary<Partial<ReadyAssignment>> = fc.record(
  {
    taskId: text as fc.Arbitrary<TaskId>,
    executor: fc.constantFrom('echo', 'other', 'ünï'),
    run: fc.nat(),
    attempt: fc.nat(),
    runMs: fc.option(fc.integer({ min: 1, max: 2 ** 40 })),
    input: fc.json(),
    assignedAt: whole.map(instant),
    idempotencyKey: text,
    resumed: fc.boolean(),
    steps: fc.constant([{ name: 'a', body: '1' }]),
    about: fc.constantFrom<NonNullable<ReadyAssignment['about']>>(
      { startedBy: { event: 'e', id: '1' }, labels: {} },
      { startedBy: { job: 'j' as JobId, task: 't' as TaskId }, labels: { team: 'ünï', of: '' } },
      { startedBy: null, labels: { team: 'billing' } },
    ),
  },
  { requiredKeys: [] },
);

/** Over the wire, as bytes. */
function carried(reply: PollReply): PollReply {
  const outcome = { $case: 'packedTasks', value: toPackedTasks(reply) } as const;
  const bytes = WorkResponse.encode({ callNo: 1, outcome }).finish();
  const read = WorkResponse.decode(bytes).outcome;
  if (read?.$case !== 'packedTasks') throw new Error('another answer');
  return fromPackedTasks(read.value);
}

function reported(items: readonly WorkerReport[]): readonly WorkerReport[] {
  const call = { $case: 'packedReports', value: toPackedReports(session, items) } as const;
  const read = WorkRequest.decode(
    WorkRequest.encode({ callNo: 1, timeoutMs: 0, call }).finish(),
  ).call;
  if (read?.$case !== 'packedReports') throw new Error('another call');
  const { session: who, items: received } = fromPackedReports(read.value);
  expect(who).toEqual(session);
  return received;
}

test('assignments arrive as they were sent, whatever they carry', () => {
  const one = fc.tuple(lease, more).map(([of, what]) => task(of, what));
  fc.assert(
    fc.property(fc.array(one, { maxLength: 20 }), (assignments) => {
      expect(carried({ assignments, orders })).toEqual({ assignments, orders });
    }),
  );
});

test('an input that is larger than estimated arrives complete', () => {
  const [of] = fc.sample(lease, 1) as [LeaseName];
  const inputs = ['"é"', JSON.stringify('ä'.repeat(100_000)), JSON.stringify('x'.repeat(300_000))];
  const assignments = inputs.map((input) => task(of, { input }));
  expect(carried({ assignments, orders }).assignments).toEqual(assignments);
});

test('assignments beyond the limit of an answer are left out, but never the first', () => {
  const [of] = fc.sample(lease, 1) as [LeaseName];
  const large = task(of, { input: JSON.stringify('x'.repeat(10 * 1024 * 1024)) });
  const reply = { assignments: [large, large, large], orders };
  expect(carried(reply).assignments).toHaveLength(1);
});

test('reports of every kind arrive in their order', () => {
  const item: fc.Arbitrary<WorkerReport> = fc.oneof(
    fc.record({ kind: fc.constant('started' as const), lease }),
    fc.record({ kind: fc.constant('completed' as const), lease, result: fc.option(fc.json()) }),
    fc.record({ kind: fc.constant('released' as const), lease }),
    fc.record({ kind: fc.constant('step' as const), lease, name: text, body: fc.json() }),
    fc.record({
      kind: fc.constant('failed' as const),
      lease,
      error: fc.record({ code: text, message: text }),
      failure: fc.constantFrom('retryable' as const, 'fatal' as const),
    }),
  );
  fc.assert(
    fc.property(fc.array(item, { maxLength: 20 }), (items) => {
      expect(reported(items)).toEqual(items);
    }),
  );
});

test('changes of the held leases add up to the list', () => {
  fc.assert(
    fc.property(
      fc.array(lease, { maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 40 }),
      (all, picks) => {
        const [sent, known] = [new SentLeases(), new HeldLeases()];
        for (const pick of picks) {
          const held = all.filter((_, at) => ((pick >> at) & 1) === 1);
          const change = sent.change(held);
          // A message that was not sent after all changes nothing.
          sent.change(all);
          change.sent();
          expect(new Set(known.after(change))).toEqual(new Set(held));
        }
      },
    ),
  );
});

test('invalid held leases are refused', () => {
  const known = new HeldLeases();
  const [of] = fc.sample(lease, 1) as [LeaseName];
  const none = Buffer.alloc(0);
  expect(() => known.after({ added: none, removed: [1] })).toThrow(/no lease with the number 1/);
  known.after({ added: packLeases([of]), removed: [] });
  expect(() => known.after({ added: none, removed: [1, 1] })).toThrow(/no lease with the number 1/);
  const many = packLeases(Array.from({ length: HELD_MAX }, () => of));
  known.after({ added: many, removed: [] });
  expect(() => known.after({ added: packLeases([of]), removed: [] })).toThrow(/too many/);
});

test('a lease with longer names than any has is refused: a stream keeps what is held', () => {
  const [of] = fc.sample(lease, 1) as [LeaseName];
  const long = 'j'.repeat(201);
  for (const bad of [
    { ...of, jobId: long as JobId },
    { ...of, term: long as LeaseName['term'] },
  ]) {
    const added = packLeases([bad]);
    expect(() => new HeldLeases().after({ added, removed: [] })).toThrow(/201 characters/);
    const report: WorkerReport = { kind: 'started', lease: bad };
    expect(() => fromPackedReports(toPackedReports(session, [report]))).toThrow(/201 characters/);
  }
});

test('all streams of a server together hold so many leases, until they end', () => {
  const [of] = fc.sample(lease, 1) as [LeaseName];
  const room = { leases: 3 };
  const [one, other] = [new HeldLeases(room), new HeldLeases(room)];
  one.after({ added: packLeases([of, of]), removed: [] });
  one.after({ added: packLeases([of]), removed: [1] });
  const two = { added: packLeases([of, of]), removed: [] };
  expect(() => other.after(two)).toThrow(expect.objectContaining({ code: 'overloaded' }));
  one.end();
  other.after({ added: packLeases([of]), removed: [] });
  other.end();
  expect(room).toEqual({ leases: 3 });
});

test('rows that are cut, changed or made up are refused with a reason, and never read beyond their end', () => {
  const [first, second] = fc.sample(lease, 2) as [LeaseName, LeaseName];
  const good = toPackedReports(session, [
    { kind: 'completed', lease: first, result: '{"ok":true}' },
    { kind: 'released', lease: second },
  ]);
  const tried = (reports: Buffer): void => {
    const request: PackedReports = { ...good, reports };
    try {
      fromPackedReports(request);
    } catch (error) {
      expect(error).toMatchObject({ code: 'bad_input' });
    }
  };
  for (let length = 0; length < good.reports.length; length += 1) {
    const cut = { ...good, reports: good.reports.subarray(0, length) };
    expect(() => fromPackedReports(cut)).toThrow(/too short|cut off|more/);
    tried(cut.reports);
  }
  fc.assert(
    fc.property(fc.nat({ max: good.reports.length - 1 }), fc.nat({ max: 255 }), (at, byte) => {
      const changed = Buffer.from(good.reports);
      changed[at] = byte;
      tried(changed);
    }),
    { numRuns: 2_000 },
  );
  fc.assert(fc.property(fc.uint8Array(), (bytes) => tried(Buffer.from(bytes))));
});

test('columns that a row does not use are zero, not what the memory held before', () => {
  const [of] = fc.sample(lease, 1) as [LeaseName];
  const { reports } = toPackedReports(session, [{ kind: 'released', lease: of }]);
  const columns = reports.subarray(12, 12 + 28);
  expect(columns.every((byte) => byte === 0)).toBe(true);
});

test('numbers that are not whole, and texts that are not text, are refused', () => {
  const [of] = fc.sample(lease, 1) as [LeaseName];
  const { reports } = toPackedReports(session, [{ kind: 'completed', lease: of, result: '"é"' }]);
  const changed = (change: (bytes: Buffer) => void): (() => unknown) => {
    const bytes = Buffer.from(reports);
    change(bytes);
    return () => fromPackedReports({ ...session, workerId: 'w', reports: bytes });
  };
  for (const value of [Number.NaN, Infinity, 0.5, -1, 2 ** 53]) {
    expect(changed((bytes) => bytes.writeDoubleLE(value, 12))).toThrow(/not a whole number/);
  }
  const at = reports.indexOf('é');
  expect(changed((bytes) => bytes.writeUInt8(0xff, at))).toThrow(/not valid UTF-8/);
  expect(changed((bytes) => bytes.writeUInt32LE(7, 12 + 28))).toThrow(/not a kind of report/);
});
