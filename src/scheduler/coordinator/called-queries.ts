/**
 * Queries that tasks call. To plan one takes a while, and the report of the task that calls it must not wait
 * for that, nor those behind it: so the task waits for a job that is not there yet, and the job comes when it
 * is planned. A leader that ends meanwhile leaves it to the next one, which asks the task to call again.
 */
import { readTrace } from '../core/index.ts';
import type {
  AnswerCall,
  JobId,
  MillraceError,
  Priority,
  TaskError,
  Trace,
} from '../core/index.ts';
import { type Clock, sleep } from '../../kit/index.ts';
import type { WorkerReport } from '../contract/index.ts';
import type { Dispatcher } from './dispatcher.ts';
import { asFault } from './faults.ts';
import { noQueries } from './query-planner.ts';
import type { PlannedQuery, QueryPlanner } from './query-planner.ts';
import { cleanText } from './text.ts';

/** Takes the place of a job document. */
interface QueryDocument {
  readonly query: unknown;
  readonly name?: unknown;
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}

/** A query that a task calls. */
export interface CalledQuery {
  readonly jobId: JobId;
  readonly request: unknown;
  readonly name: string | null;
  /** Of the caller. */
  readonly priority: Priority | null;
  readonly trace: Trace | null;
}

export function isQueryDocument(document: unknown): document is QueryDocument {
  if (typeof document !== 'object' || document === null) return false;
  return Object.hasOwn(document, 'query') && !Object.hasOwn(document, 'tasks');
}

/** Why it cannot be planned; null when only the planner can say. */
export function queryDocumentFault(document: QueryDocument): string | null {
  for (const field of Object.keys(document)) {
    if (!FIELDS.has(field)) return `a called query has no field '${field}'`;
  }
  const { query, name } = document;
  const isObject = typeof query === 'object' && query !== null && !Array.isArray(query);
  if (!isObject) return 'a called query must be an object with sql and tables';
  if (name === undefined) return null;
  const isName = typeof name === 'string' && name !== '' && name.length <= NAME_LENGTH_MAX;
  return isName
    ? null
    : `the name of a called query is text of up to ${NAME_LENGTH_MAX} characters`;
}

const FIELDS: ReadonlySet<string> = new Set(['query', 'name', 'traceparent', 'tracestate']);
const NAME_LENGTH_MAX = 200;
/** The queries of tasks take turns with those of each client. */
const TASKS = 'tasks';

/** The queries that reports call, by the place of the report. */
export function queriesIn(
  reports: readonly WorkerReport[],
  priorityOf: (report: WorkerReport) => Priority | null,
): ReadonlyMap<number, readonly CalledQuery[]> {
  const called = new Map<number, readonly CalledQuery[]>();
  for (const [at, report] of reports.entries()) {
    if (report.kind === 'suspended') called.set(at, calledBy(report, priorityOf(report)));
  }
  return called;
}

function calledBy(report: WorkerReport, priority: Priority | null): CalledQuery[] {
  if (report.kind !== 'suspended' || report.until.type !== 'wait') return [];
  return report.until.jobs.flatMap(({ jobId, document }) => {
    if (!isQueryDocument(document)) return [];
    const name = typeof document.name === 'string' ? cleanText(document.name) : null;
    const trace = readTrace(document.traceparent, document.tracestate);
    return [{ jobId, request: document.query, name, priority, trace }];
  });
}

export interface CalledQueriesOptions {
  readonly dispatcher: Pick<Dispatcher, 'ask' | 'peek'>;
  readonly clock: Clock;
  readonly planner: QueryPlanner | null;
}

export class CalledQueries {
  readonly #options: CalledQueriesOptions;
  readonly #life: AbortController = new AbortController();
  /** Being planned now: a task that is run again meanwhile calls them again. */
  readonly #planning: Set<JobId> = new Set();

  constructor(options: CalledQueriesOptions) {
    this.#options = options;
  }

  /** The task waits for it from now on, as far as is committed. */
  begin(query: CalledQuery): void {
    const { dispatcher } = this.#options;
    const { jobId } = query;
    if (this.#life.signal.aborted || this.#planning.has(jobId)) return;
    if (dispatcher.peek((state) => state.jobsById.has(jobId))) return;
    this.#planning.add(jobId);
    // Not awaited here. If it fails the term has ended, and the next leader asks the task again.
    void this.#bring(query)
      .catch(() => {})
      .finally(() => this.#planning.delete(jobId));
  }

  /** Until it is submitted: otherwise the task would wait for ever. */
  async #bring(query: CalledQuery): Promise<void> {
    const { dispatcher } = this.#options;
    let event = await this.#plan(query);
    for (;;) {
      try {
        await dispatcher.ask((ask) => ({ ...event, ask }));
        return;
      } catch (thrown) {
        this.#life.signal.throwIfAborted();
        const fault = asFault(thrown);
        // What the store cannot keep will not be better the next time.
        if (fault.code === 'bad_input') event = failed(query, fault);
        // The leader has too much to do, or is still loading its state.
        await sleep(this.#options.clock, AGAIN_MS);
      }
    }
  }

  /** The term has ended. */
  stop(): void {
    this.#life.abort();
  }

  async #plan(query: CalledQuery): Promise<Answer> {
    const { jobId, request } = query;
    const { planner } = this.#options;
    const { signal } = this.#life;
    try {
      if (planner === null) throw noQueries();
      const { document, seeds } = inherit(await planner.plan(request, signal, TASKS), query);
      return { type: 'answerCall', jobId, seeds, made: { document, error: null } };
    } catch (thrown) {
      signal.throwIfAborted();
      return failed(query, asFault(thrown));
    }
  }
}

type Answer = Omit<AnswerCall, 'ask'>;

const AGAIN_MS = 200;

function failed({ jobId, name }: CalledQuery, { code, message }: MillraceError): Answer {
  const error: TaskError = { code, message: cleanText(message) };
  return { type: 'answerCall', jobId, made: { name: name ?? 'query', error } };
}

/** The caller should not wait longer than for a task of its own. */
function inherit(
  { document, seeds }: PlannedQuery,
  { name, priority, trace }: CalledQuery,
): PlannedQuery {
  const tasks =
    priority === null ? document.tasks : document.tasks.map((task) => ({ ...task, priority }));
  return {
    seeds,
    document: {
      ...document,
      tasks,
      name: name ?? document.name,
      priority: priority ?? document.priority,
      options: { ...document.options, trace },
    },
  };
}
