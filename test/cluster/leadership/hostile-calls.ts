/** Calls to a leader by somebody who means harm, or has a very bad bug: any text, number and shape anywhere. */
import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import type {
  JobId,
  LeaseName,
  NodeId,
  NodeOffer,
  ScheduleId,
  SessionId,
  TaskId,
} from '../../../src/scheduler/core/index.ts';
import type { Leader } from '../../../src/scheduler/coordinator/index.ts';
import { ownHandshake } from '../../../src/scheduler/contract/index.ts';
import type { WorkerReport } from '../../../src/scheduler/contract/index.ts';
import type { ScriptedWorker } from '../../rig/lead.ts';

export interface Target {
  readonly leader: Leader;
  readonly worker: ScriptedWorker;
  /** Leases that the worker holds now. */
  readonly leases: readonly LeaseName[];
}

/** A call, and its name for messages. */
export interface HostileCall {
  readonly name: string;
  readonly make: (target: Target) => Promise<unknown>;
}

/** What parsers, databases and objects used as maps stumble over. */
const TRAPS: readonly string[] = [
  '\ud800',
  'a\udc00b',
  '\0',
  'x\0y',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  'NULL',
  '{a,"b"}',
  '\\',
  '"',
  "'; drop table job; --",
  '\u202e',
  '\n',
  '\u{10ffff}',
  `${'x'.repeat(76)}\u{1f600}`,
  `${'y'.repeat(199)}\u{1f600}`,
  `${'z'.repeat(9_999)}\u{1f600}`,
  '\u{1f600}'.repeat(120),
  'é'.repeat(3_000),
];

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TRAPS) },
  fc.string({ unit: 'binary', maxLength: 20 }),
);
/** Few, so that the same comes again: while it lives, and when it is over. */
const id = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c', 'd.1', 'd.1.2', 'constructor') },
  text,
);
const number = fc.oneof(
  fc.constantFrom(0, -0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, NaN, Infinity, -Infinity),
  fc.integer(),
  fc.double(),
);
const json: Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    number,
    fc.constantFrom(null, true, undefined),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;
/** So deep that a walk which calls itself would overflow the stack. */
const deep = fc.constantFrom(300, 5_000, 100_000).map((levels) => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
});
const any = fc.oneof({ weight: 20, arbitrary: json }, deep);

function task(name: Arbitrary<string>): Arbitrary<object> {
  const fields = {
    id: name,
    executor: fc.oneof(fc.constant('echo'), text),
    input: any,
    idempotencyKey: fc.oneof(fc.constantFrom('k', 'l'), text),
    priority: fc.oneof(fc.integer({ min: 0, max: 3 }), number),
    dependsOn: fc.array(name, { maxLength: 2 }),
    timeouts: fc.oneof(fc.record({ runMs: number, totalMs: number }), any),
    retry: any,
    placement: fc.oneof(fc.record({ capabilities: any, executors: any }), any),
    concurrency: fc.oneof(fc.record({ key: text, limit: number }), any),
    when: any,
  };
  return fc.record(fields, { requiredKeys: ['id', 'executor'] });
}

const document = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record(
      {
        name: text,
        idempotencyKey: fc.oneof(fc.constantFrom('k', 'l'), text),
        maxParallel: number,
        timeouts: fc.record({ totalMs: number }),
        output: any,
        tasks: fc.array(task(fc.oneof(fc.constantFrom('t', 'u'), text)), { maxLength: 3 }),
      },
      { requiredKeys: ['tasks'] },
    ),
  },
  any,
);
/** Well-formed but for one text, so that it goes as far as it can. */
const nearlyGood = fc.record({ id, key: fc.option(text), name: text, input: any }).map((made) => ({
  name: made.name,
  ...(made.key === null ? {} : { idempotencyKey: made.key }),
  tasks: [{ id: 't', executor: 'echo', input: made.input }],
}));
const job = fc.oneof(document, nearlyGood);

const submits = fc.record({ job, id }).map((made): HostileCall => ({
  name: 'submit',
  make: ({ leader }) => leader.jobs.submit(made.job, { jobId: made.id as JobId }),
}));

const queries = fc
  .record({ sql: text, params: any, tables: any, idempotencyKey: fc.option(text), id })
  .map(({ id: jobId, ...request }): HostileCall => ({
    name: 'query',
    make: ({ leader }) =>
      leader.jobs.submitQuery(request, { jobId: jobId as JobId }, new AbortController().signal),
  }));

const changes = fc.record({ id, other: id, words: text, count: number, body: any }).chain((made) =>
  fc.constantFrom<HostileCall>(
    {
      name: 'cancel',
      make: ({ leader }) => leader.jobs.cancel(made.id as JobId, made.words),
    },
    {
      name: 'rerun',
      make: ({ leader }) => leader.jobs.rerun(made.id as JobId, made.count),
    },
    {
      name: 'redrive',
      make: ({ leader }) => leader.jobs.redrive(made.id as JobId, made.other as TaskId),
    },
    {
      name: 'fork',
      make: ({ leader }) => leader.jobs.fork(made.id as JobId, 't' as TaskId, made.other as JobId),
    },
    {
      name: 'signal',
      make: ({ leader }) =>
        leader.jobs.signal(made.id as JobId, made.other, asText(made.body), made.words),
    },
    {
      name: 'signal in raw text',
      make: ({ leader }) => leader.jobs.signal(made.id as JobId, 's', made.words, 'id'),
    },
    {
      name: 'explain',
      make: ({ leader }) => leader.jobs.explain(made.id as JobId, made.other as TaskId),
    },
    {
      name: 'drain',
      make: ({ leader }) => leader.workers.drain(made.words as NodeId),
    },
    {
      name: 'release',
      make: ({ leader }) => leader.workers.release(made.words as NodeId),
    },
  ),
);

const schedules = fc
  .record({
    id: fc.oneof(fc.constantFrom('d', 'n'), text),
    timing: fc.oneof(
      fc.constantFrom({ everyMs: 100 }, { at: 1 }, { cron: '* * * * *' }),
      fc.record({ cron: text, zone: text }),
      fc.record({ everyMs: number, anchorAt: any }),
      fc.record({ at: any }),
      any,
    ),
    document: job,
    change: fc.constantFrom(
      'delete' as const,
      'pause' as const,
      'resume' as const,
      'trigger' as const,
    ),
  })
  .chain((made) =>
    fc.constantFrom<HostileCall>(
      {
        name: 'put schedule',
        make: ({ leader }) => {
          const { timing, document: of } = made;
          return leader.schedules.put(made.id as ScheduleId, { timing, document: of });
        },
      },
      {
        name: 'change schedule',
        make: ({ leader }) => leader.schedules.change(made.id as ScheduleId, made.change),
      },
    ),
  );

const offers = fc
  .record({
    id: fc.oneof(fc.constantFrom('n1', 'n2'), text),
    sessionId: fc.oneof(fc.constantFrom('s1', 's2'), text),
    slots: number,
    prefetch: number,
    executors: fc.array(fc.oneof(fc.constant('other'), text), { maxLength: 3 }),
    capabilities: fc.dictionary(text, any, { maxKeys: 3, noNullPrototype: true }),
    address: fc.option(text),
    version: text,
  })
  .map((offer): HostileCall => ({
    name: 'register',
    make: ({ leader }) => leader.workers.register(offer as unknown as NodeOffer, ownHandshake()),
  }));

const error = fc.record({ code: text, message: text });
const waits = fc.record({
  type: fc.constant('wait' as const),
  sleeps: fc.array(fc.record({ step: stepName(), forMs: number }), { maxLength: 2 }),
  signals: fc.array(fc.record({ step: stepName(), name: id }), { maxLength: 2 }),
  jobs: fc.array(fc.record({ step: stepName(), jobId: id, document: job }), { maxLength: 2 }),
});
const children = fc.record({
  type: fc.constant('children' as const),
  tasks: fc.array(task(fc.oneof(fc.constantFrom('v', 'w'), text)), { maxLength: 3 }),
});
const said = fc.oneof(
  fc.record({ kind: fc.constant('started') }),
  fc.record({ kind: fc.constant('progress'), fraction: number, note: fc.option(text) }),
  fc.record({ kind: fc.constant('step'), name: text, body: fc.oneof(text, any.map(asText)) }),
  fc.record({ kind: fc.constant('completed'), result: fc.oneof(text, any.map(asText)) }),
  fc.record({
    kind: fc.constant('failed'),
    error,
    failure: fc.constantFrom('retryable', 'fatal', 'missing'),
    missing: text,
  }),
  fc.record({
    kind: fc.constant('inputLost'),
    lost: fc.array(fc.record({ taskId: text, fence: number }), { maxLength: 2 }),
    error,
  }),
  fc.record({ kind: fc.constantFrom('aborted', 'released') }),
  fc.record({ kind: fc.constant('suspended'), until: fc.oneof(waits, children) }),
);
const reports = fc
  .record({
    items: fc.array(fc.record({ said, at: fc.nat({ max: 7 }), lease: fc.option(badLease()) }), {
      minLength: 1,
      maxLength: 3,
    }),
    session: fc.option(fc.record({ nodeId: text, sessionId: text }), { freq: 5 }),
  })
  .map(({ items, session }): HostileCall => ({
    name: 'report',
    make: ({ leader, worker, leases }) => {
      const known = items.flatMap(({ said: what, at, lease }) => {
        const meant = lease ?? leases[at % Math.max(1, leases.length)];
        return meant === undefined ? [] : [{ ...what, lease: meant } as WorkerReport];
      });
      const from = session as { nodeId: NodeId; sessionId: SessionId } | null;
      return leader.workers.report(from ?? worker.session, known);
    },
  }));

const polls = fc
  .record({ capacity: number, pollNo: number, seenPoll: number, name: text })
  .chain((made) =>
    fc.constantFrom<HostileCall>(
      {
        name: 'poll',
        make: ({ leader, worker }) => {
          const { capacity, pollNo } = made;
          const request = { ...worker.session, capacity, pollNo, held: [], waits: false };
          return leader.workers.poll(request, AbortSignal.abort());
        },
      },
      {
        name: 'heartbeat',
        make: ({ leader, worker, leases }) =>
          leader.workers.heartbeat({
            ...worker.session,
            held: leases,
            seenPoll: made.seenPoll,
            executors: [made.name],
          }),
      },
    ),
  );

export const hostileCalls: Arbitrary<HostileCall[]> = fc.array(
  fc.oneof(submits, submits, queries, changes, schedules, offers, reports, reports, polls),
  { minLength: 10, maxLength: 30 },
);

function stepName(): Arbitrary<string> {
  return fc.oneof(
    text.map((each) => `$${each}`),
    fc.constantFrom('$s/1', '$job/a', '$__proto__'),
    text,
  );
}

function badLease(): Arbitrary<LeaseName> {
  return fc.record({
    jobNo: number,
    taskNo: number,
    fence: number,
    term: text,
  }) as Arbitrary<unknown> as Arbitrary<LeaseName>;
}

/** As a client would write it; what is too deep for that is written by hand. */
function asText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  }
}
