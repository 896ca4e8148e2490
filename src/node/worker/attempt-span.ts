/**
 * The span of one assignment, from the start of its handler until it ends or is suspended. A task that goes on after a
 * wait begins a new trace, with links to its job and to what it did before: no span is open while nothing runs.
 */
import { TRACE_STEP, readTrace } from '../../scheduler/core/index.ts';
import type { Trace } from '../../scheduler/core/index.ts';
import { type OpenSpan, type SpanAttributes, isTracing, startSpan } from '../../kit/index.ts';
import type { ReadyAssignment, StepRecord, WorkerReport } from '../../scheduler/contract/index.ts';

export class AttemptSpan {
  readonly #assignment: ReadyAssignment;
  readonly #span: OpenSpan;
  /** Steps under way: a handler that is abandoned never ends them. */
  readonly #steps: Set<OpenSpan> = new Set();

  /** Null where nothing is traced. */
  static start(assignment: ReadyAssignment): AttemptSpan | null {
    if (!isTracing()) return null;
    const { executor, resumed, steps, trace } = assignment;
    // Who is not sampled begins no trace of its own either.
    const isNew = resumed && (trace === null || trace.parent.endsWith('01'));
    const before = isNew ? lastPlace(steps) : null;
    const links = [trace, before].filter((place) => place !== null);
    const span = startSpan(`run ${executor}`, {
      kind: 'consumer',
      parent: isNew ? null : trace,
      ...(isNew ? { links } : {}),
      attributes: attributesOf(assignment),
    });
    return span === null ? null : new AttemptSpan(assignment, span);
  }

  private constructor(assignment: ReadyAssignment, span: OpenSpan) {
    this.#assignment = assignment;
    this.#span = span;
  }

  get place(): Trace | null {
    return readTrace(this.#span.place.parent, this.#span.place.state);
  }

  within<T>(fn: () => T): T {
    return this.#span.within(fn);
  }

  set(attributes: SpanAttributes): void {
    this.#span.set(attributes);
  }

  /** Only a step that runs: one that was recorded before has its span there. */
  async step<T>(name: string, fn: () => T | Promise<T>): Promise<T> {
    const span = this.#span.child(`step ${foldedName(name)}`, { 'millrace.step.name': name });
    this.#steps.add(span);
    try {
      return await span.within(fn);
    } catch (error) {
      span.fail(codeOf(error));
      throw error;
    } finally {
      this.#steps.delete(span);
      span.end();
    }
  }

  /** What the assignment after a wait needs to link to this one. */
  get record(): WorkerReport | null {
    if (!this.#span.isRecording) return null;
    const { lease } = this.#assignment;
    const body = JSON.stringify(this.#span.place);
    return { kind: 'step', lease, name: `${TRACE_STEP}${lease.fence}`, body };
  }

  end(item: WorkerReport | null): void {
    for (const step of this.#steps) step.end();
    this.#steps.clear();
    const span = this.#span;
    span.set({ 'millrace.task.outcome': item?.kind ?? 'lost' });
    if (item?.kind === 'suspended') span.set({ 'millrace.task.wait': waitOf(item) });
    if (item?.kind === 'failed' || item?.kind === 'inputLost') span.fail(item.error.code);
    span.end();
  }
}

/** What carries the trace of the attempt onwards. Where nothing is traced, what the job brought goes on as it is. */
export function traceFields({
  span,
  assignment,
}: {
  readonly span: AttemptSpan | null;
  readonly assignment: ReadyAssignment;
}): Readonly<Record<string, string>> {
  const place = span?.place ?? assignment.trace;
  if (place === null) return {};
  const { parent, state } = place;
  return { traceparent: parent, ...(state === null ? {} : { tracestate: state }) };
}

function attributesOf(assignment: ReadyAssignment): SpanAttributes {
  const { jobId, taskId, executor, run, attempt, lease, scheduledAt } = assignment;
  return {
    'messaging.system': 'millrace',
    'messaging.operation.name': 'run',
    'messaging.operation.type': 'process',
    'messaging.destination.name': executor,
    'millrace.job.id': jobId,
    'millrace.job.run': run,
    'millrace.task.id': taskId,
    'millrace.task.attempt': attempt,
    'millrace.task.fence': lease.fence,
    ...(scheduledAt === null ? {} : { 'millrace.job.scheduled_at': scheduledAt }),
  };
}

/** The place that the last assignment before the wait has left. */
function lastPlace(steps: readonly StepRecord[]): Trace | null {
  let last = 0;
  let found: string | null = null;
  for (const { name, body } of steps) {
    if (!name.startsWith(TRACE_STEP)) continue;
    const fence = Number(name.slice(TRACE_STEP.length));
    if (fence > last) [last, found] = [fence, body];
  }
  if (found === null) return null;
  const { parent, state } = JSON.parse(found) as Partial<Trace>;
  return readTrace(parent, state);
}

function waitOf({ until }: Extract<WorkerReport, { kind: 'suspended' }>): string {
  if (until.type === 'children') return 'children';
  const kinds = [
    ...(until.sleeps.length > 0 ? ['sleep'] : []),
    ...(until.signals.length > 0 ? ['signal'] : []),
    ...(until.jobs.length > 0 ? ['job'] : []),
  ];
  return kinds.join('+');
}

const NAME_LENGTH_MAX = 60;

/** Names of spans are for grouping: numbers and ids in the name of a step are folded. */
function foldedName(name: string): string {
  return name.replaceAll(/[0-9a-f]{8}[0-9a-f-]{8,}|\d+/gi, '#').slice(0, NAME_LENGTH_MAX);
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'unknown';
}
