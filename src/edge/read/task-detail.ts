/** One task with all that is stored of it, and its lease. */
import {
  dependencyNumbers,
  endOf,
  inputReferences,
  isTerminal,
  resolveInput,
} from '../../scheduler/core/index.ts';
import type { Instant, Json, StepRow, TaskRow, TaskSpecRow } from '../../scheduler/core/index.ts';
import { JsonText } from '../../scheduler/contract/index.ts';
import type {
  AttemptShape,
  LeaseShape,
  ReadResult,
  TaskDetail,
  TaskShape,
} from '../../scheduler/contract/index.ts';
import type { JobView, TaskView } from '../../scheduler/store/index.ts';
import { dateOf } from './row-shapes.ts';

/** What only the leader's memory has. */
export interface KnownLease {
  readonly fence: number;
  readonly since: Instant;
  readonly expiresAt: Instant;
}

export interface TaskParts {
  readonly view: JobView;
  readonly found: TaskView;
  readonly steps: readonly StepRow[];
  readonly known: KnownLease | null;
  readonly attempts: readonly AttemptShape<Date>[];
  /** Of an input with results in it. */
  readonly charsMax: number;
}

export function taskDetail(
  shown: TaskShape<ReadResult, Date>,
  { view, found: { spec, task }, steps, known, attempts, charsMax }: TaskParts,
): TaskDetail<ReadResult, Date> {
  const ids = new Map(view.tasks.map((each) => [each.spec.taskNo as number, each.spec.id]));
  return {
    ...shown,
    dependsOn: dependencyNumbers(spec.dependsOn).flatMap((no) => ids.get(no) ?? []),
    parent: spec.parentNo === null ? null : (ids.get(spec.parentNo) ?? null),
    input: spec.input === null ? null : new JsonText(spec.input),
    resolvedInput: resolvedInput(view, spec, charsMax),
    placement: placementOf(spec.options),
    steps: steps.map(({ name, body }) => ({ name, result: new JsonText(body) })),
    attempts,
    lease: leaseOf(task, known),
  };
}

/** Null if it cannot be made now, or takes too much. */
function resolvedInput({ tasks }: JobView, { input }: TaskSpecRow, charsMax: number): Json {
  const byId = new Map(tasks.map((each) => [each.spec.id, each]));
  const named = inputReferences(input).map((id) => byId.get(id));
  const chars = named.reduce((sum, each) => sum + (each?.result?.length ?? 0), input?.length ?? 0);
  if (chars > charsMax) return null;
  if (named.some((each) => each === undefined || !isTerminal(each.task.state))) return null;
  const resolved = resolveInput(
    input,
    (id) => {
      const each = byId.get(id);
      if (each?.task.state !== 'succeeded') return undefined;
      return JSON.parse(each.result ?? 'null') as Json;
    },
    (id) => {
      const each = byId.get(id);
      return each === undefined ? 'failed' : endOf(each.task.state, each.task.error);
    },
  );
  return resolved.ok ? resolved.input : null;
}

function placementOf(options: string | null): Json {
  if (options === null) return null;
  const { placement = null } = JSON.parse(options) as { readonly placement?: Json };
  return placement;
}

/** The memory may be ahead of the row, or behind it: they are put together only if they mean the same lease. */
function leaseOf(task: TaskRow, known: KnownLease | null): LeaseShape<Date> | null {
  const { state, nodeId: node, attempt, fence } = task;
  if (state !== 'running' || node === null) return null;
  const own = known?.fence === fence ? known : null;
  return {
    node,
    attempt,
    fence,
    since: own === null ? null : dateOf(own.since),
    expiresAt: own === null ? null : dateOf(own.expiresAt),
  };
}
