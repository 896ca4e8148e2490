/** The fields of a dumped row and their kinds. An export may have been truncated, edited or written by hand, so its
 * lines are `unknown` until they have been compared with this. */
import type { Dumped } from './store.ts';

/** A `?` allows null. */
type Kind = 'text' | 'text?' | 'number' | 'number?' | 'boolean' | 'numbers' | 'texts' | 'error?';
type Shape = Readonly<Record<string, Kind>>;
type RowOf<T extends Dumped['table']> = Extract<Dumped, { readonly table: T }>['row'];

const TASK: Readonly<Record<keyof RowOf<'task'>, Kind>> = {
  jobNo: 'number',
  taskNo: 'number',
  state: 'text',
  run: 'number',
  attempt: 'number',
  failures: 'number',
  losses: 'number',
  fence: 'number',
  term: 'text?',
  nodeId: 'text?',
  sessionId: 'text?',
  stopping: 'text?',
  suspended: 'text?',
  waits: 'text?',
  notBefore: 'number?',
  progress: 'number',
  error: 'error?',
  queuedAt: 'number?',
  startedAt: 'number?',
  finishedAt: 'number?',
};

/** Complete by its type: a new column of a row does not compile until it is here. */
const SHAPES: { readonly [T in Dumped['table']]: Readonly<Record<keyof RowOf<T>, Kind>> } = {
  counters: { shard: 'number', lastSeq: 'number', nextJobNo: 'number' },
  job: {
    no: 'number',
    id: 'text',
    name: 'text',
    priority: 'number',
    idempotencyKey: 'text?',
    maxParallel: 'number?',
    onFailure: 'text',
    totalMs: 'number?',
    scheduleId: 'text?',
    output: 'text?',
    labels: 'texts',
    runAt: 'number?',
    options: 'text?',
    createdAt: 'number',
    state: 'text',
    run: 'number',
    taskCount: 'number',
    stopping: 'text?',
    error: 'error?',
    startedAt: 'number?',
    finishedAt: 'number?',
  },
  spec: {
    jobNo: 'number',
    taskNo: 'number',
    id: 'text',
    executor: 'text',
    priority: 'number',
    parentNo: 'number?',
    dependsOn: 'numbers',
    idempotencyKey: 'text?',
    options: 'text?',
    input: 'text?',
  },
  task: TASK,
  history: TASK,
  result: { jobNo: 'number', taskNo: 'number', run: 'number', body: 'text' },
  step: { jobNo: 'number', taskNo: 'number', run: 'number', name: 'text', body: 'text' },
  signal: {
    jobNo: 'number',
    no: 'number',
    id: 'text',
    name: 'text',
    body: 'text',
    sentAt: 'number',
    taken: 'boolean',
  },
  key: {
    scope: 'text',
    state: 'text',
    jobNo: 'number',
    taskNo: 'number',
    result: 'text?',
    updatedAt: 'number',
  },
  node: {
    id: 'text',
    sessionId: 'text',
    status: 'text',
    draining: 'boolean',
    slots: 'number',
    prefetch: 'number',
    executors: 'texts',
    capabilities: 'text',
    address: 'text?',
    version: 'text',
    quarantinedUntil: 'number?',
    registeredAt: 'number',
    seenAt: 'number',
  },
  schedule: {
    id: 'text',
    spec: 'text',
    paused: 'boolean',
    nextAt: 'number?',
    lastAt: 'number?',
    lastJobId: 'text?',
  },
  limit: { id: 'text', state: 'text' },
  operator: { id: 'text', declaration: 'text' },
  flow: { id: 'text', declaration: 'text' },
  inbox: { no: 'number', jobId: 'text', document: 'text' },
  event: {
    seq: 'number',
    at: 'number',
    kind: 'text',
    jobNo: 'number?',
    taskNo: 'number?',
    nodeId: 'text?',
    run: 'number?',
    attempt: 'number?',
    fence: 'number?',
    detail: 'text?',
  },
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is wrong with `value` as a dumped row, in words; null when nothing is. */
export function misshapen(value: unknown): string | null {
  if (!isObject(value)) return 'it is not an object';
  const { table, row, ...rest } = value;
  if (typeof table !== 'string' || !Object.hasOwn(SHAPES, table)) return 'its table is unknown';
  if (!isObject(row)) return 'it has no row';
  const extra = Object.keys(rest)[0];
  if (extra !== undefined) return `${extra} does not belong there`;
  return misshapenRow(SHAPES[table as Dumped['table']], row);
}

function misshapenRow(shape: Shape, row: Readonly<Record<string, unknown>>): string | null {
  for (const [field, kind] of Object.entries(shape)) {
    if (!Object.hasOwn(row, field)) return `${field} is missing`;
    if (!isOf(kind, row[field])) return `${field} is not ${NAMES[kind]}`;
  }
  const unknown = Object.keys(row).find((field) => !Object.hasOwn(shape, field));
  return unknown === undefined ? null : `${unknown} is not a field of it`;
}

const NAMES: Readonly<Record<Kind, string>> = {
  text: 'a text',
  'text?': 'a text or null',
  number: 'a number',
  'number?': 'a number or null',
  boolean: 'true or false',
  numbers: 'a list of numbers',
  texts: 'a list of texts',
  'error?': 'an error with code and message, or null',
};

function isOf(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case 'text':
      return typeof value === 'string';
    case 'text?':
      return value === null || typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'number?':
      return value === null || typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'numbers':
      return Array.isArray(value) && value.every((item) => typeof item === 'number');
    case 'texts':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'error?':
      return value === null || isError(value);
  }
}

function isError(value: unknown): boolean {
  if (!isObject(value) || Object.keys(value).length !== 2) return false;
  return typeof value['code'] === 'string' && typeof value['message'] === 'string';
}
