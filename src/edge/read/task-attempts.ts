/**
 * The attempts of a task, from the event log: each assignment to a node, and how it ended. They reach back as far as
 * the log is retained; the last attempt is in the task's own row.
 */
import { FRAGMENT_EXECUTOR, isMillraceError } from '../../scheduler/core/index.ts';
import type { EventView, JobId, LogKind, TaskError, TaskRow } from '../../scheduler/core/index.ts';
import type { AttemptOutcome, AttemptShape } from '../../scheduler/contract/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { dateOf, dateOrNull } from './row-shapes.ts';

/** How many events of a large job are looked through. */
const EVENTS_MAX = 100_000;
const PAGE = 5_000;
/** The newest ones. */
const ATTEMPTS_MAX = 100;

const OUTCOMES: ReadonlyMap<LogKind, AttemptOutcome> = new Map<LogKind, AttemptOutcome>([
  ['completed', 'succeeded'],
  ['retried', 'failed'],
  ['failed', 'failed'],
  ['dead', 'failed'],
  ['reassigned', 'lost'],
  ['released', 'returned'],
  ['suspended', 'suspended'],
  ['cancelled', 'cancelled'],
  ['skipped', 'skipped'],
  ['discarded', 'discarded'],
]);

export async function attemptsOf(
  store: Pick<Store, 'events' | 'lastSeq'>,
  shard: number,
  job: JobId,
  task: TaskRow,
  executor: string,
): Promise<readonly AttemptShape<Date>[]> {
  if (task.fence === 0) return [];
  const last = lastAttempt(task);
  // Most tasks have one attempt, and the row tells all of it. Of a second attempt at a fragment only the log knows.
  if (task.fence === 1 && last !== null && executor !== FRAGMENT_EXECUTOR) return [last];
  const byFence = new Map<number, AttemptShape<Date>>();
  for await (const event of eventsOf(store, shard, job))
    if (event.taskNo === task.taskNo) take(byFence, event);
  if (last !== null) {
    const { speculative } = byFence.get(last.fence) ?? last;
    byFence.set(last.fence, { ...last, speculative });
  }
  if (task.finishedAt !== null) forgetLeft(byFence);
  const list = [...byFence.values()].toSorted((a, b) => a.fence - b.fence);
  return list.slice(-ATTEMPTS_MAX);
}

async function* eventsOf(
  store: Pick<Store, 'events' | 'lastSeq'>,
  shard: number,
  job: JobId,
): AsyncGenerator<EventView> {
  let after = (await store.lastSeq(shard)).firstSeq - 1;
  for (let seen = 0; seen < EVENTS_MAX; seen += PAGE) {
    const page = await store.events(shard, after, PAGE, job).catch(asPruned);
    yield* page;
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) return;
    after = end.seq;
  }
}

/** They were removed while they were read. */
function asPruned(error: unknown): readonly EventView[] {
  if (isMillraceError(error, 'not_found')) return [];
  throw error;
}

/** A new leader does not know of second attempts, so nobody has said how they ended. */
function forgetLeft(byFence: Map<number, AttemptShape<Date>>): void {
  for (const [fence, each] of byFence) {
    if (each.speculative && each.finished === null)
      byFence.set(fence, { ...each, outcome: 'discarded' });
  }
}

function take(byFence: Map<number, AttemptShape<Date>>, event: EventView): void {
  const { kind, fence, run, attempt, nodeId, at } = event;
  if (fence === null || fence === 0 || run === null || attempt === null) return;
  if (kind === 'assigned' || kind === 'duplicated') {
    const began = { run, attempt, fence, node: nodeId, started: dateOf(at), finished: null };
    const speculative = kind === 'duplicated';
    byFence.set(fence, { ...began, outcome: null, error: null, speculative });
    return;
  }
  const known = byFence.get(fence);
  if (known === undefined || known.finished !== null) return;
  const outcome = OUTCOMES.get(kind);
  if (kind === 'started') byFence.set(fence, { ...known, started: dateOf(at) });
  else if (outcome !== undefined)
    byFence.set(fence, { ...known, finished: dateOf(at), outcome, error: errorIn(event, outcome) });
}

function errorIn({ detail }: EventView, outcome: AttemptOutcome): TaskError | null {
  if (outcome === 'succeeded' || outcome === 'suspended' || outcome === 'skipped') return null;
  const { code, message, why } = JSON.parse(detail ?? '{}') as Partial<TaskError & { why: string }>;
  if (code !== undefined && message !== undefined) return { code, message };
  return why === undefined ? null : { code: outcome, message: why };
}

/** Null if the row tells of no attempt that runs, or that has ended the task. */
function lastAttempt(row: TaskRow): AttemptShape<Date> | null {
  const { run, attempt, fence, nodeId: node, state, error } = row;
  const isKnown = state === 'running' || state === 'succeeded' || state === 'failed';
  if (!isKnown || node === null || row.startedAt === null) return null;
  return {
    ...{ run, attempt, fence, node },
    started: dateOrNull(row.startedAt),
    finished: dateOrNull(row.finishedAt),
    outcome: state === 'running' ? null : state,
    error: state === 'failed' ? error : null,
    speculative: false,
  };
}
