/**
 * Broken on purpose: each variant takes one promise away, from outside, through the ports that the
 * production code is given. A checker that lets one of these pass is not a checker.
 */
import { instant } from '../../src/scheduler/core/index.ts';
import type {
  Batch,
  JobId,
  JobImage,
  JobRow,
  LeaseName,
  TaskRow,
} from '../../src/scheduler/core/index.ts';
import type { Leader } from '../../src/scheduler/coordinator/index.ts';
import type {
  PollRequest,
  ReadyAssignment,
  ReportReply,
  Session,
  WorkerReport,
} from '../../src/scheduler/contract/index.ts';
import type { Term } from '../../src/scheduler/store/index.ts';
import type { Draft } from './documents.ts';
import { intercepted } from './journal.ts';
import { NO_FAULTS } from './options.ts';
import { PIPELINE_VARIANTS } from './pipeline-variants.ts';
import type { RunOptions } from './run.ts';
import { onCommit, patch } from './sabotage.ts';
import type { Variant } from './sabotage.ts';
import type { Sabotage } from './simulation.ts';
import { STRAGGLER_VARIANTS } from './straggler-variants.ts';

/** A report is taken for the lease that is current, whatever lease it names. */
const fenceIgnored: Sabotage = {
  leader: (leader, { journal }) => {
    const { workers } = leader;
    const report = workers.report.bind(workers);
    patch(workers, 'report', async (session: Session, items: readonly WorkerReport[]) => {
      const verdicts: ReportReply['verdicts'][number][] = [];
      for (const item of items) {
        const row = journal.row(item.lease.jobNo, item.lease.taskNo);
        const [asSession, asItem] = renamed(session, item, row);
        const reply = await report(asSession, [asItem]);
        verdicts.push(reply.verdicts[0] ?? 'lost');
      }
      return { verdicts, orders: { abort: [], drain: false, slowDownMs: 0 } };
    });
  },
};

function renamed(
  session: Session,
  item: WorkerReport,
  row: TaskRow | null,
): [Session, WorkerReport] {
  if (row === null) return [session, item];
  const { nodeId, sessionId, fence, term } = row;
  if (nodeId === null || sessionId === null || term === null) return [session, item];
  const lease: LeaseName = { ...item.lease, fence, term };
  return [
    { nodeId, sessionId },
    { ...item, lease },
  ];
}

/** The store says yes before it has done anything. */
const replyBeforeCommit: Sabotage = {
  store: (store, { world }) =>
    intercepted(store, {
      commit: async (term: Term, ttlMs: number, batch: Batch) => {
        store.commit(term, ttlMs, batch).catch(() => {});
        return world.databaseNow();
      },
    }),
};

/** Whoever writes is taken for the leader of the day. */
const epochUnchecked: Sabotage = {
  store: (store, simulation) => {
    const current = (term: Term): Term => simulation.journal.terms.at(-1)?.term ?? term;
    return intercepted(store, {
      commit: async (term: Term, ttlMs: number, batch: Batch) => {
        const { commitNo } = await store.loadCluster(term.shard);
        return store.commit(current(term), ttlMs, { ...batch, commitNo: commitNo + 1 });
      },
      renew: (term: Term, ttlMs: number) => store.renew(current(term), ttlMs, 0),
    });
  },
};

/** Nobody notices that the store was taken back. */
const rewindUnnoticed: Sabotage = {
  store: (store) =>
    intercepted(store, {
      commit: async (term: Term, ttlMs: number, batch: Batch) => {
        const { commitNo } = await store.loadCluster(term.shard);
        return store.commit(term, ttlMs, { ...batch, commitNo: commitNo + 1 });
      },
      renew: (term: Term, ttlMs: number) => store.renew(term, ttlMs, 0),
    }),
};

/** What one worker is given, the next one that asks is given as well. */
const doubleLease: Sabotage = {
  leader: ({ workers }: Leader) => {
    const poll = workers.poll.bind(workers);
    let last: ReadyAssignment | null = null;
    patch(workers, 'poll', async (request: PollRequest, signal?: AbortSignal) => {
      const reply = await poll(request, signal);
      const extra = last;
      last = reply.assignments[0] ?? null;
      const assignments = extra === null ? reply.assignments : [...reply.assignments, extra];
      return { ...reply, assignments };
    });
  },
};

/** The documents lose their edges on the way in. */
const dependenciesSkipped: Sabotage = {
  leader: ({ jobs }: Leader) => {
    const submit = jobs.submit.bind(jobs);
    patch(jobs, 'submit', (document: unknown, options: Parameters<typeof submit>[1]) => {
      const { tasks, ...rest } = document as Draft;
      const loose = tasks.map(({ dependsOn: _dependsOn, input: _input, ...task }) => task);
      return submit({ ...rest, tasks: loose }, options);
    });
  },
};

/** One task update in a few commits never arrives. */
const lostUpdate: Sabotage = onCommit((batch) =>
  batch.lastSeq % 5 === 0 ? { ...batch, taskUpdates: batch.taskUpdates.slice(1) } : batch,
);

/** An event is numbered like the one before it. */
const sequenceRepeated: Sabotage = onCommit((batch) => ({
  ...batch,
  events: batch.events.map((event, at) => (at > 0 ? { ...event, seq: event.seq - 1 } : event)),
}));

/** The last event of a batch is there twice. */
const eventTwice: Sabotage = onCommit((batch) => {
  const last = batch.events.at(-1);
  if (last === undefined || last.taskNo === null) return batch;
  const events = [...batch.events, { ...last, seq: last.seq + 1 }];
  return { ...batch, events, lastSeq: batch.lastSeq + 1 };
});

/** Results get into the wrong hands. */
const resultChanged: Sabotage = onCommit((batch) => ({
  ...batch,
  results: batch.results.map((row) => ({ ...row, body: '"not this one"' })),
}));

/** A new run overwrites the old one's row without a trace. */
const historyLost: Sabotage = onCommit((batch) => ({ ...batch, archived: [] }));

/** A firing does not move its schedule on. */
const scheduleForgotten: Sabotage = onCommit((batch) => ({
  ...batch,
  scheduleUpserts: batch.events.some(({ kind }) => kind === 'schedule.fired')
    ? []
    : batch.scheduleUpserts,
}));

/** The next leader does not know what was started in the present period. */
const startsForgotten: Sabotage = onCommit((batch) => ({ ...batch, limitUpserts: [] }));

/** A signal wakes the task that waits for it, but is not written down as taken. */
const signalNotTaken: Sabotage = onCommit((batch) => ({ ...batch, takenSignals: [] }));

/** A call that is repeated is taken for a new one. */
const signalTwice: Sabotage = {
  leader: ({ jobs }: Leader) => {
    const signal = jobs.signal.bind(jobs);
    let calls = 0;
    patch(jobs, 'signal', (jobId: JobId, name: string, body: string, id: string) => {
      calls += 1;
      return signal(jobId, name, body, calls % 3 === 0 ? `${id}-${calls}` : id);
    });
  },
};

/** The next leader does not know what a task waits for. */
const waitForgotten: Sabotage = onCommit((batch) => ({
  ...batch,
  taskUpdates: batch.taskUpdates.map((row) => ({ ...row, waits: null })),
}));

/** The next leader ends a sleep too early. */
const sleepCutShort: Sabotage = onCommit((batch) => ({
  ...batch,
  taskUpdates: batch.taskUpdates.map((row) =>
    row.notBefore === null ? row : { ...row, notBefore: instant(row.notBefore - 2_000) },
  ),
}));

/** A non-deterministic output is recomputed as if it were deterministic. */
const versionsMixed: Sabotage = {
  leader: ({ jobs }: Leader) => {
    const submit = jobs.submitParsed.bind(jobs);
    patch(jobs, 'submitParsed', (document, options) => {
      const tasks = document.tasks.map((task) => {
        const { output } = task.options;
        if (output === undefined) return task;
        return { ...task, options: { ...task.options, output: 'deterministic' as const } };
      });
      return submit({ ...document, tasks }, options);
    });
  },
};

/** Workers throw away what is still needed. */
const outputsDropped: Sabotage = {
  leader: ({ workers }: Leader) =>
    patch(workers, 'unneeded', (_session, queries) => Promise.resolve(queries)),
};

/** The next leader does not know who was admitted. */
const admissionForgotten: Sabotage = {
  store: (store) => {
    const forgetful = (image: JobImage): JobImage => ({
      ...image,
      specs: image.specs.map((spec) => {
        const isIn = image.tasks[spec.taskNo]?.state === 'succeeded';
        return isIn && spec.options?.includes('"admission"') === true
          ? { ...spec, options: null }
          : spec;
      }),
    });
    return intercepted(store, {
      loadBusyJobs: async (shard) => (await store.loadBusyJobs(shard)).map(forgetful),
      loadJobs: async (...given) => {
        const { jobs, next } = await store.loadJobs(...given);
        return { jobs: jobs.map(forgetful), next };
      },
    });
  },
};

/** The next leader does not know which jobs replace each other. What is stored of them stays, for the checker. */
const replacementForgotten: Sabotage = {
  store: (store) => {
    const stored = new Map<number, string | null>();
    const forgetful = (image: JobImage): JobImage => {
      stored.set(image.job.no, image.job.options);
      return { ...image, job: { ...image.job, options: null } };
    };
    const remembered = (job: JobRow): JobRow => {
      return { ...job, options: job.options ?? stored.get(job.no) ?? null };
    };
    return intercepted(store, {
      loadJobs: async (...given) => {
        const { jobs, next } = await store.loadJobs(...given);
        return { jobs: jobs.map(forgetful), next };
      },
      commit: (term, ttlMs, batch) =>
        store.commit(term, ttlMs, { ...batch, jobUpdates: batch.jobUpdates.map(remembered) }),
    });
  },
};

/** The others show as soon without queries, which take longer. */
export const withoutQueries: NonNullable<RunOptions['change']> = (drawn) => ({
  ...drawn,
  words: { ...drawn.words, queryRate: 0 },
  handlers: { ...drawn.handlers, callQueryRate: 0 },
});

/** As the seed draws it. */
const asDrawn: NonNullable<RunOptions['change']> = (drawn) => drawn;

/** Queries on workers that come and go. */
const manyQueries: NonNullable<RunOptions['change']> = (drawn) => ({
  ...drawn,
  workers: 5,
  words: { ...drawn.words, queryRate: 1 },
  handlers: { ...drawn.handlers, usualMs: 1_000, failRate: 0, fatalRate: 0, badResultRate: 0 },
  faults: { ...drawn.faults, crashWorkerMs: 3_000 },
});

/** Commits that arrive when another one leads. */
const lateCommits: NonNullable<RunOptions['change']> = (drawn) => ({
  ...withoutQueries(drawn),
  coordinators: 3,
  storeUsualMs: 50,
  storeWorstMs: drawn.settings.leaderTtlMs * 2,
  faults: { ...NO_FAULTS, slowStoreMs: 5_000, pauseCoordinatorMs: 5_000 },
});

/** Rates, and leaders that come and go within their periods. */
const manyLeaders: NonNullable<RunOptions['change']> = (drawn) => ({
  ...withoutQueries(drawn),
  coordinators: 3,
  words: { ...withoutQueries(drawn).words, optionRate: 0.9 },
  faults: { ...NO_FAULTS, crashCoordinatorMs: 4_000 },
});

/** The same with jobs that replace each other. */
const manyReplacements: NonNullable<RunOptions['change']> = (drawn) => {
  const changed = manyLeaders(drawn);
  return { ...changed, words: { ...changed.words, debounceRate: 0.9 } };
};

/** A store that is taken back again and again, and no other faults. */
export const manyRewinds: NonNullable<RunOptions['change']> = (drawn) => ({
  ...withoutQueries(drawn),
  faults: { ...NO_FAULTS, rewindMs: 5_000 },
});

/** The same, with clients that often have to ask again. */
const repeatedSubmits: NonNullable<RunOptions['change']> = (drawn) => ({
  ...manyRewinds(drawn),
  clients: 4,
  pauseMs: 500,
  callsPerClient: 200,
  network: { ...drawn.network, lossRate: 0.2 },
  faults: { ...NO_FAULTS, rewindMs: 3_000 },
});

export const VARIANTS: readonly Variant[] = [
  { name: 'fence ignored', caughtBy: 'reports', sabotage: fenceIgnored, from: 8 },
  { name: 'reply before commit', caughtBy: 'replies', sabotage: replyBeforeCommit },
  ...PIPELINE_VARIANTS,
  {
    name: 'epoch unchecked',
    caughtBy: 'terms',
    sabotage: epochUnchecked,
    change: lateCommits,
    from: 7,
  },
  {
    name: 'rewind unnoticed',
    caughtBy: 'replies',
    sabotage: rewindUnnoticed,
    change: repeatedSubmits,
  },
  { name: 'double lease', caughtBy: 'two leases', sabotage: doubleLease },
  ...STRAGGLER_VARIANTS,
  { name: 'dependencies skipped', caughtBy: 'dependencies', sabotage: dependenciesSkipped },
  { name: 'lost update', caughtBy: 'log and rows', sabotage: lostUpdate },
  { name: 'sequence repeated', caughtBy: 'refusals', sabotage: sequenceRepeated },
  { name: 'event twice', caughtBy: 'log and rows', sabotage: eventTwice },
  { name: 'result changed', caughtBy: 'results', sabotage: resultChanged },
  { name: 'history lost', caughtBy: 'history', sabotage: historyLost, from: 4 },
  { name: 'schedule forgotten', caughtBy: 'schedules', sabotage: scheduleForgotten, from: 2 },
  {
    name: 'starts forgotten',
    caughtBy: 'limits',
    sabotage: startsForgotten,
    change: manyLeaders,
  },
  {
    name: 'replacement forgotten',
    caughtBy: 'debounce',
    sabotage: replacementForgotten,
    change: manyReplacements,
  },
  { name: 'signal not taken', caughtBy: 'signals', sabotage: signalNotTaken },
  { name: 'signal twice', caughtBy: 'signals', sabotage: signalTwice },
  { name: 'wait forgotten', caughtBy: 'rest', sabotage: waitForgotten },
  { name: 'sleep cut short', caughtBy: 'wake-ups', sabotage: sleepCutShort },
  {
    name: 'versions mixed',
    caughtBy: 'outputs',
    sabotage: versionsMixed,
    change: manyQueries,
    from: 4,
  },
  { name: 'outputs dropped', caughtBy: 'outputs', sabotage: outputsDropped, change: asDrawn },
  {
    name: 'admission forgotten',
    caughtBy: 'admission',
    sabotage: admissionForgotten,
    change: asDrawn,
  },
];
