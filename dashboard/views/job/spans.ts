/**
 * The history of each task as spans of time, from the job's events, or from the task itself if they are gone.
 */
import type { EventShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import type { Json } from '../../../src/scheduler/core/index.ts';

export type SpanKind = 'queued' | 'running' | 'sleeping' | 'waiting' | 'backoff';

export interface Span {
  readonly kind: SpanKind;
  readonly fromMs: number;
  /** Null while it lasts. */
  readonly toMs: number | null;
  readonly attempt: number;
  readonly node: string | null;
  /** How a run ended: well, badly, because the task began to wait, or because its node gave it back. */
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | 'lost' | 'returned' | 'suspended' | null;
  /** Why it waits, or what went wrong. */
  readonly note: string | null;
}

type Draft = { -readonly [Key in keyof Span]: Span[Key] };

const NOT_RUNNING = { outcome: null, node: null } as const;

export class SpanBook {
  readonly #spans = new Map<string, Draft[]>();
  /** The events that were seen, oldest first. */
  readonly events: EventShape[] = [];

  add(events: readonly EventShape[]): void {
    for (const event of events) {
      this.events.push(event);
      if (event.task !== null) this.#note(event, event.task);
    }
  }

  of(task: TaskShape): readonly Span[] {
    const known = this.#spans.get(task.id) ?? [];
    const last = known.at(-1);
    // The events of a long job come little by little; what the task says is newer.
    const isBehind = task.finishedAt !== null && last?.toMs === null;
    return last === undefined || isBehind ? spansOf(task) : known;
  }

  #note(event: EventShape, task: string): void {
    const spans = this.#spans.get(task) ?? [];
    if (spans.length === 0) this.#spans.set(task, spans);
    const at = Date.parse(event.at);
    const attempt = event.attempt ?? 0;
    const open = (kind: SpanKind, note: string | null, node: string | null = null): void => {
      close(spans, at, null, null);
      spans.push({ ...NOT_RUNNING, kind, fromMs: at, toMs: null, attempt, note, node });
    };
    const kind: string = event.kind;
    switch (kind) {
      case 'queued':
        return open('queued', null);
      case 'assigned':
        return open('running', null, event.node);
      case 'started':
        return begin(spans, at);
      case 'completed':
        return close(spans, at, 'succeeded', null);
      case 'failed':
      case 'dead':
        return close(spans, at, 'failed', textIn(event.detail, 'message'));
      case 'cancelled':
        return close(spans, at, 'cancelled', textIn(event.detail, 'message'));
      case 'skipped':
        return close(spans, at, null, null);
      case 'retried': {
        const why = textIn(event.detail, 'message');
        close(spans, at, 'failed', why);
        return open('backoff', why);
      }
      case 'reassigned':
        close(spans, at, 'lost', textIn(event.detail, 'why') ?? 'its node was lost');
        return open('queued', null);
      case 'released':
        close(spans, at, 'returned', textIn(event.detail, 'message') ?? 'given back by its node');
        return open('queued', null);
      case 'suspended': {
        const until = textIn(event.detail, 'until');
        close(spans, at, 'suspended', null);
        return until === 'time'
          ? open('sleeping', 'sleeps')
          : open('waiting', `waits for ${until ?? 'something'}`);
      }
      default:
    }
  }
}

/** On its way to a node it still waits. */
function begin(spans: Draft[], at: number): void {
  const [before, last] = [spans.at(-2), spans.at(-1)];
  if (last?.kind !== 'running' || last.toMs !== null) return;
  last.fromMs = at;
  if (before?.kind === 'queued') before.toMs = at;
}

/** The last stretch ends; only a run has an outcome. */
function close(spans: Draft[], at: number, outcome: Span['outcome'], note: string | null): void {
  const last = spans.at(-1);
  if (last === undefined || last.toMs !== null) return;
  last.toMs = at;
  if (last.kind !== 'running') return;
  last.outcome = outcome;
  last.note = note;
}

function textIn(detail: Json, field: string): string | null {
  if (detail === null || typeof detail !== 'object' || Array.isArray(detail)) return null;
  const value = (detail as Readonly<Record<string, Json>>)[field];
  return typeof value === 'string' ? value : null;
}

function spansOf(task: TaskShape): readonly Span[] {
  const { attempt, node, error, state } = task;
  const at = (text: string | null): number | null => (text === null ? null : Date.parse(text));
  const [queued, started, ended] = [at(task.queuedAt), at(task.startedAt), at(task.finishedAt)];
  const spans: Span[] = [];
  if (queued !== null && (started === null || started > queued)) {
    spans.push({
      ...NOT_RUNNING,
      kind: 'queued',
      fromMs: queued,
      toMs: started ?? ended,
      attempt,
      note: task.waiting,
    });
  }
  if (started !== null) {
    const outcome =
      state === 'succeeded' || state === 'failed' || state === 'cancelled' ? state : null;
    spans.push({
      kind: 'running',
      fromMs: started,
      toMs: ended,
      attempt,
      node,
      outcome,
      note: error?.message ?? null,
    });
  }
  return spans;
}

/** How often a task was tried, and what became of each. What a node gives back counts as nothing. */
export const attemptsIn = (spans: readonly Span[]): readonly Span[] =>
  spans.filter(
    ({ kind, outcome }) => kind === 'running' && outcome !== 'suspended' && outcome !== 'returned',
  );
