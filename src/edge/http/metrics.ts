/** Figures in the text format of Prometheus. Each scrape costs two small reads and no more. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { isMillraceError } from '../../scheduler/core/index.ts';
import type {
  AsOf,
  NodeShape,
  QueryFigures,
  QueryService,
  Reader,
} from '../../scheduler/contract/index.ts';
import type { LeaderFigures, Standing } from './ports.ts';

export interface MetricsOptions {
  readonly reader: Pick<Reader, 'head' | 'nodes'>;
  readonly standing: () => Standing;
  readonly version: string;
  readonly queries?: Pick<QueryService, 'figures'>;
}

type Labels = Readonly<Record<string, string | number>>;
type Sample = readonly [Labels, number];

const NODE_STATUSES = ['healthy', 'stale', 'dead'] as const;
const NANO = 1e-9;

export class Metrics {
  readonly #options: MetricsOptions;
  readonly #requests: Map<string, { readonly labels: Labels; count: number; seconds: number }> =
    new Map();
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: 20 });
  #submitted = 0;
  /** Streams of events that are open. */
  sseClients = 0;

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#delay.enable();
  }

  stop(): void {
    this.#delay.disable();
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
    const page = new Page();
    const {
      nodeId,
      leads,
      epoch,
      isReady,
      storeAnswers = true,
      figures,
    } = this.#options.standing();
    page.gauge('millrace_info', 'This node.', [
      [{ node: nodeId, version: this.#options.version }, 1],
    ]);
    page.gauge('millrace_leader', 'Whether this node is the leader.', Number(leads));
    page.gauge('millrace_ready', 'Whether this node is ready.', Number(isReady && storeAnswers));
    if (epoch !== null) page.gauge('millrace_epoch', 'The epoch of the known leader.', epoch);
    if (figures !== null) writeFigures(page, figures);
    await this.#writeReads(page);
    const queries = this.#options.queries?.figures();
    if (queries !== undefined) writeQueries(page, queries);
    this.#writeRequests(page);
    this.#writeProcess(page);
    return page.text();
  }

  /** If the database is away only its own figures are missing. */
  async #writeReads(page: Page): Promise<void> {
    const { reader } = this.#options;
    const read = await Promise.all([reader.head(), reader.nodes()]).catch((error: unknown) => {
      if (isMillraceError(error)) return null;
      throw error;
    });
    page.gauge('millrace_readable', 'Whether the state can be read.', Number(read !== null));
    if (read === null) return;
    const [head, { value: nodes }]: [AsOf, { value: readonly NodeShape[] }] = read;
    page.gauge('millrace_events_seq', 'The number of the last event.', head.seq);
    page.gauge(
      'millrace_nodes',
      'Nodes by status.',
      NODE_STATUSES.map((status) => [
        { status },
        nodes.filter((node) => node.status === status).length,
      ]),
    );
    const sum = (of: (node: NodeShape) => number): number =>
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

  #writeRequests(page: Page): void {
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

  #writeProcess(page: Page): void {
    const { rss, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    page.gauge('process_resident_memory_bytes', 'Resident memory.', rss);
    page.gauge('nodejs_heap_used_bytes', 'Heap in use.', heapUsed);
    page.gauge('nodejs_external_memory_bytes', 'Memory outside the heap.', external);
    page.counter('process_cpu_seconds_total', 'CPU time.', (user + system) / 1e6);
    page.gauge('process_uptime_seconds', 'Since the start.', process.uptime());
    page.gauge(
      'nodejs_eventloop_delay_seconds',
      'How late the event loop was.',
      [0.5, 0.99, 1].map((quantile) => [
        { quantile },
        this.#delay.percentile(quantile * 100) * NANO,
      ]),
    );
  }
}

function writeFigures(page: Page, figures: LeaderFigures): void {
  const { backlog, reloads, jobs, tasks, queries, unfitMs } = figures;
  page.gauge('millrace_backlog', 'Events waiting to be committed.', backlog);
  if (reloads !== undefined) {
    const what = 'Times that the leader reloaded its state after an internal error, in this term.';
    page.gauge('millrace_leader_reloads', what, reloads);
  }
  const byState = (counts: Readonly<Record<string, number>>): Sample[] =>
    Object.entries(counts).map(([state, count]) => [{ state }, count]);
  if (jobs !== undefined) page.gauge('millrace_jobs', 'Live jobs by state.', byState(jobs));
  if (tasks !== undefined) page.gauge('millrace_tasks', 'Live tasks by state.', byState(tasks));
  if (queries !== undefined) {
    page.gauge('millrace_queries', 'Live queries by state.', byState(queries));
  }
  if (unfitMs === undefined) return;
  page.gauge(
    'millrace_unfit_task_seconds',
    'Longest current wait of a task that no node can run.',
    (unfitMs ?? 0) / 1_000,
  );
}

function writeQueries(page: Page, figures: QueryFigures): void {
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

class Page {
  #lines: string[] = [];

  gauge(name: string, what: string, value: number | readonly Sample[]): void {
    this.#write('gauge', name, what, value);
  }

  counter(name: string, what: string, value: number | readonly Sample[]): void {
    this.#write('counter', name, what, value);
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  #write(type: string, name: string, what: string, value: number | readonly Sample[]): void {
    const samples: readonly Sample[] = typeof value === 'number' ? [[{}, value]] : value;
    this.#lines.push(`# HELP ${name} ${what}`, `# TYPE ${name} ${type}`);
    for (const [labels, number] of samples)
      this.#lines.push(`${name}${labelText(labels)} ${number}`);
  }
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const text = String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"');
    return `${name}="${text.replaceAll('\n', '\\n')}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
