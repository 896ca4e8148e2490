/** The HTTP API on a real socket, before a leader with a memory store. Every answer is held to the description. */
import { type Api, type ApiOptions, startApi } from '../../src/edge/http/index.ts';
import { describeApi } from '../../src/edge/http/openapi.ts';
import { Router } from '../../src/edge/http/router.ts';
import { ROUTES } from '../../src/edge/http/routes/index.ts';
import { SCHEMAS } from '../../src/edge/http/schemas/index.ts';
import { ref } from '../../src/edge/http/schemas/schema.ts';
import type { JobId } from '../../src/scheduler/core/index.ts';
import { cronCalendar } from '../../src/scheduler/coordinator/index.ts';
import type { AsOf, JobSummary, TaskShape } from '../../src/scheduler/contract/index.ts';
import { openAccess } from '../../src/edge/security/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';
import { type LeadOptions, type Led, ScriptedWorker, lead, memoryStore } from './lead.ts';
import { VirtualClock } from './virtual-clock.ts';
import { EventFeed, StoreReader } from '../../src/edge/read/index.ts';
import { schemaFaults } from './json-schema.ts';

/** What a body may have: a test looks at the fields that it is about, the description holds the rest. */
export interface HeardBody {
  readonly id: string;
  readonly state: string;
  readonly run: number;
  readonly jobs: readonly JobSummary[];
  readonly tasks: readonly TaskShape[];
  readonly schedules: readonly object[];
  readonly queries: readonly { readonly id: string }[];
  readonly cursor: string | null;
  readonly asOf: AsOf;
  readonly paused: boolean;
  readonly nextAt: string;
  readonly lastJob: string;
  readonly upcoming: readonly string[];
  readonly code: string;
  readonly path: string;
  readonly detail: string;
  readonly todo: string;
  readonly leader: object | null;
}

export interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON in the text; the text if it is none. */
  readonly body: HeardBody;
}

export interface ApiBench {
  readonly api: Api;
  /** Of the server; the leader has its own. */
  readonly clock: VirtualClock;
  readonly leaderClock: VirtualClock;
  readonly store: Store;
  readonly led: Led;
  readonly feed: EventFeed;
  /** What the server could not blame on a caller. */
  readonly faults: unknown[];
  call(method: string, path: string, body?: unknown, headers?: object): Promise<Heard>;
  worker(name?: string): Promise<ScriptedWorker>;
  close(): Promise<void>;
}

export async function openApi(
  given: Partial<ApiOptions> = {},
  leading: LeadOptions = {},
  wrapped: (store: Store) => Store = (store) => store,
): Promise<ApiBench> {
  const [clock, leaderClock] = [new VirtualClock(), new VirtualClock()];
  const store = wrapped(memoryStore(leaderClock));
  const led = await lead(store, leaderClock, leading);
  await led.leader.loaded;
  const feed = new EventFeed({ store, clock, restMs: 0, pageMax: 50 });
  const { jobs } = led.leader;
  const reader = new StoreReader({
    store,
    feed,
    explain: (job, tasks) => jobs.explainAll(job, tasks),
    lease: (job, task) => led.leader.workers.leaseOf(job, task),
  });
  const faults: unknown[] = [];
  let made = 0;
  const api = await startApi({
    host: '127.0.0.1',
    port: 0,
    access: openAccess,
    reader,
    leader: () => led.leader,
    standing: () => ({
      nodeId: 'n-1',
      leads: true,
      epoch: led.leader.term.epoch,
      isReady: true,
      figures: { backlog: led.leader.backlog },
    }),
    newJobId: () => `made-${(made += 1)}` as JobId,
    version: '0.1.0',
    calendar: cronCalendar,
    clock,
    onFault: (error) => faults.push(error),
    ...given,
  });
  return {
    ...{ api, clock, leaderClock, store, led, feed, faults },
    call: (method, path, body, headers = {}) => call(api.url, method, path, body, headers),
    worker: (name = 'w') => ScriptedWorker.join(led.leader, name, ['echo']),
    close: () => passing(clock, api.stop()),
  };
}

/** Lets time pass, second by second, until the promise settles. */
export async function passing<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const over = new AbortController();
  const whatever = (): void => over.abort();
  promise.then(whatever, whatever);
  while (!over.signal.aborted) await clock.advance(1_000);
  return promise;
}

const description = describeApi(ROUTES, '0');
const router = new Router(ROUTES);

async function call(
  url: string,
  method: string,
  path: string,
  body: unknown,
  headers: object,
): Promise<Heard> {
  const response = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  const heard: Heard = {
    status: response.status,
    headers: response.headers,
    text,
    body: (/json/.test(type) && text !== '' ? JSON.parse(text) : text) as HeardBody,
  };
  if (method !== 'HEAD') checkDescribed(method, path, type, heard);
  return heard;
}

/** Answers that are not as described are a fault, whatever the test is about. */
function checkDescribed(method: string, path: string, type: string, { status, body }: Heard): void {
  const isProblem = type === 'application/problem+json';
  const schema = isProblem ? ref('Problem') : schemaFor(method, path, status, type);
  const faults = schema === undefined ? [] : schemaFaults(schema, body, SCHEMAS);
  if (isProblem !== status >= 400) faults.push(`status ${status} with ${type}`);
  if (faults.length > 0) throw new Error(`${method} ${path} ${status}: ${faults.join('\n')}`);
}

function schemaFor(method: string, path: string, status: number, type: string): object | undefined {
  const { route } = router.find(method, path.split('?')[0] ?? '');
  const template = route.path.replaceAll(/:(\w+)/g, '{$1}');
  const answer = description.paths[template]?.[method.toLowerCase()]?.responses[status];
  if (answer === undefined) throw new Error(`${method} ${path}: ${status} is not described`);
  if (status === 204) return undefined;
  const [described] = Object.entries(answer.content ?? {}).filter(([each]) =>
    type.startsWith(each),
  );
  if (described === undefined) throw new Error(`${method} ${path}: ${type} is not described`);
  return type.startsWith('application/json') ? described[1].schema : undefined;
}

export const echo = (id: string, more: object = {}): object => ({ id, executor: 'echo', ...more });
