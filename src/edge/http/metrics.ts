/** Figures in the text format of Prometheus. Each scrape costs two small reads, and on the leader one pass over
 * the tasks in memory. */
import { isMillraceError } from '../../scheduler/core/index.ts';
import {
  type MetricLabels,
  type MetricSample,
  MetricsPage,
  ProcessMetrics,
} from '../../kit/index.ts';
import type {
  AsOf,
  NodeShape,
  QueryFigures,
  QueryService,
  Reader,
} from '../../scheduler/contract/index.ts';
import type { LeaderDurations, LeaderFigures, Standing } from './ports.ts';

export interface MetricsOptions {
  readonly reader: Pick<Reader, 'head' | 'nodes' | 'unfolded'>;
  readonly standing: () => Standing;
  readonly version: string;
  readonly queries?: Pick<QueryService, 'figures'>;
}

const NODE_STATUSES = ['healthy', 'stale', 'dead'] as const;

export class Metrics {
  readonly #options: MetricsOptions;
  readonly #requests: Map<
    string,
    { readonly labels: MetricLabels; count: number; seconds: number }
  > = new Map();
  readonly #process: ProcessMetrics = new ProcessMetrics();
  #submitted = 0;
  /** Streams of events that are open. */
  sseClients = 0;

  constructor(options: MetricsOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#process.stop();
  }

  countSubmitted(count = 1): void {
    this.#submitted += count;
  }

  /** `route` is a pattern of the table, so that the number of series is bounded. */
  countRequest(method: string, route: string, status: number, ms: number): void {
    const key = `${method} ${route} ${status}`;
    const known = this.#requests.get(key);
    const entry = known ?? { labels: { method, route, status }, count: 0, seconds: 0 };
    if (known === undefined) this.#requests.set(key, entry);
    entry.count += 1;
    entry.seconds += ms / 1_000;
  }

  async text(): Promise<string> {
    const page = new MetricsPage();
    const {
      nodeId,
      leads,
      epoch,
      isReady,
      storeAnswers = true,
      figures,
      measures = null,
    } = this.#options.standing();
    page.gauge('millrace_info', 'This node.', [
      [{ node: nodeId, version: this.#options.version }, 1],
    ]);
    page.gauge('millrace_leader', 'Whether this node is the leader.', Number(leads));
    page.gauge('millrace_ready', 'Whether this node is ready.', Number(isReady && storeAnswers));
    if (epoch !== null) page.gauge('millrace_epoch', 'The epoch of the known leader.', epoch);
    if (figures !== null) writeFigures(page, figures);
    if (measures !== null) writeDurations(page, measures);
    await this.#writeReads(page);
    const queries = this.#options.queries?.figures();
    if (queries !== undefined) writeQueries(page, queries);
    this.#writeRequests(page);
    this.#process.write(page);
    return page.text();
  }

  /** If the database is away only its own figures are missing. */
  async #writeReads(page: MetricsPage): Promise<void> {
    const { reader } = this.#options;
    const ifReadable = (error: unknown): null => {
      if (isMillraceError(error)) return null;
      throw error;
    };
    // First: the others bring the tables up to date.
    const unfolded = (await reader.unfolded?.().catch(ifReadable)) ?? null;
    if (unfolded !== null) {
      const help = 'Commits in the journal that the tables do not have yet.';
      page.gauge('millrace_journal_commits', help, unfolded);
    }
    const read = await Promise.all([reader.head(), reader.nodes()]).catch(ifReadable);
    page.gauge('millrace_readable', 'Whether the state can be read.', Number(read !== null));
    if (read === null) return;
    const [head, { value: nodes }]: [AsOf<Date>, { value: readonly NodeShape<Date>[] }] = read;
    page.gauge('millrace_events_seq', 'The number of the last event.', head.seq);
    const lagMs = Math.max(0, Date.now() - head.at.getTime());
    page.gauge('millrace_read_lag_seconds', 'Age of the state that reads see here.', lagMs / 1_000);
    page.gauge(
      'millrace_nodes',
      'Nodes by status.',
      NODE_STATUSES.map((status) => [
        { status },
        nodes.filter((node) => node.status === status).length,
      ]),
    );
    const sum = (of: (node: NodeShape<Date>) => number): number =>
      nodes.reduce((total, node) => total + (node.status === 'healthy' ? of(node) : 0), 0);
    page.gauge(
      'millrace_slots',
      'Slots of healthy nodes.',
      sum(({ slots }) => slots),
    );
    page.gauge(
      'millrace_tasks_held',
      'Tasks on healthy nodes.',
      sum(({ running }) => running),
    );
  }

  #writeRequests(page: MetricsPage): void {
    const entries = [...this.#requests.values()];
    page.gauge('millrace_sse_clients', 'Open streams of events.', this.sseClients);
    page.counter('millrace_jobs_submitted_total', 'Jobs accepted here.', this.#submitted);
    page.counter(
      'millrace_http_requests_total',
      'Requests by route and status.',
      entries.map(({ labels, count }) => [labels, count]),
    );
    page.counter(
      'millrace_http_request_seconds_total',
      'Time spent on them.',
      entries.map(({ labels, seconds }) => [labels, seconds]),
    );
  }
}

function writeFigures(page: MetricsPage, figures: LeaderFigures): void {
  const { backlog, reloads, jobs, tasks, queries, oldestReadyMs, unfitMs } = figures;
  page.gauge('millrace_backlog', 'Events waiting to be committed.', backlog);
  if (reloads !== undefined) {
    const what = 'Times that the leader reloaded its state after an internal error, in this term.';
    page.gauge('millrace_leader_reloads', what, reloads);
  }
  const byState = (counts: Readonly<Record<string, number>>): MetricSample[] =>
    Object.entries(counts).map(([state, count]) => [{ state }, count]);
  if (jobs !== undefined) page.gauge('millrace_jobs', 'Live jobs by state.', byState(jobs));
  if (tasks !== undefined) page.gauge('millrace_tasks', 'Live tasks by state.', byState(tasks));
  if (queries !== undefined) {
    page.gauge('millrace_queries', 'Live queries by state.', byState(queries));
  }
  if (oldestReadyMs !== undefined) {
    const help = 'Longest current wait of a ready task.';
    page.gauge('millrace_oldest_ready_seconds', help, (oldestReadyMs ?? 0) / 1_000);
  }
  if (unfitMs === undefined) return;
  page.gauge(
    'millrace_unfit_task_seconds',
    'Longest current wait of a task that no node can run.',
    (unfitMs ?? 0) / 1_000,
  );
}

function writeDurations(page: MetricsPage, measures: LeaderDurations): void {
  const { queueAge, run, commit, poll, stage, jobsEnded, attempts } = measures;
  page.histogram('millrace_task_queue_seconds', 'Time from ready to assigned.', queueAge);
  page.histogram('millrace_task_run_seconds', 'Duration of attempts by executor.', run);
  page.histogram('millrace_commit_seconds', 'Duration of commits to the store.', commit);
  page.histogram('millrace_poll_seconds', 'How long polls of workers were open.', poll);
  page.histogram('millrace_query_stage_seconds', 'Duration of the stages of queries.', stage);
  page.counter(
    'millrace_jobs_ended_total',
    'Jobs that have ended, by state.',
    Array.from(jobsEnded, ([state, count]) => [{ state }, count]),
  );
  page.counter(
    'millrace_task_attempts_total',
    'Attempts that have ended, by outcome.',
    Array.from(attempts, ([outcome, count]) => [{ outcome }, count]),
  );
}

function writeQueries(page: MetricsPage, figures: QueryFigures): void {
  page.gauge('millrace_queries_planning', 'Queries that are being planned.', figures.planningNow);
  page.counter('millrace_query_plans_total', 'Queries planned here.', [
    [{ outcome: 'planned' }, figures.plans],
    [{ outcome: 'refused' }, figures.plansFailed],
  ]);
  const { planHits } = figures;
  page.counter('millrace_query_plan_hits_total', 'Plan cache hits.', planHits);
  const seconds = figures.planningMs / 1_000;
  page.counter('millrace_query_planning_seconds_total', 'Time spent on planning.', seconds);
  page.gauge('millrace_query_results_open', 'Results that are being read.', figures.resultsOpen);
  page.counter('millrace_query_results_total', 'Results read here.', [
    [{ outcome: 'complete' }, figures.results],
    [{ outcome: 'broken' }, figures.resultsFailed],
  ]);
  const { resultBytes, fetchedBytes } = figures;
  page.counter('millrace_query_result_bytes_total', 'Bytes sent to readers.', resultBytes);
  page.counter('millrace_query_fetched_bytes_total', 'Bytes fetched from workers.', fetchedBytes);
}
