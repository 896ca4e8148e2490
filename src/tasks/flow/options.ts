/** How a task is tried, timed, placed and limited: given with its definition, and where it is used. */
import {
  TASKS_PER_JOB_LIMIT,
  checkedSettings,
  isMillraceError,
  parseJobDocument,
} from '../../scheduler/core/index.ts';
import type {
  CapabilityTest,
  Concurrency,
  Json,
  JsonObject,
  Priority,
  RetryPolicy,
  Settings,
} from '../../scheduler/core/index.ts';
import { type About, refuse } from './fault.ts';

/** How a task is run, unless the place where it is used says otherwise. */
export interface TaskDefaults {
  /** How often it is tried, and how long it waits before it is tried again. */
  readonly retry?: Partial<RetryPolicy>;
  readonly timeouts?: TimeoutOptions;
  /** Which nodes may run it. */
  readonly placement?: PlacementOptions;
  /** At most `limit` tasks with the same `key` run at the same time, over the whole cluster. */
  readonly concurrency?: Concurrency;
  /** Limits that tasks share by key over the whole cluster; all of them must have a place for the task. Those of its
   * definition and those of the place where it is used hold together. */
  readonly limits?: readonly LimitOption[];
  /** 0 is urgent, 3 is low. That of the job, if not given. */
  readonly priority?: Priority;
}

export interface LimitOption {
  readonly key: string;
  /** With `perMs`, so many are started in any period of that length; without it, so many run at the same time. */
  readonly max: number;
  readonly perMs?: number;
}

export interface TimeoutOptions {
  /** From ready to assigned. */
  readonly queueMs?: number;
  /** From started to ended, each attempt. */
  readonly runMs?: number;
  /** From created to ended, over all attempts. */
  readonly totalMs?: number;
}

export interface PlacementOptions {
  /** The node must have all of these executors besides the task's own ... */
  readonly executors?: readonly string[];
  /** ... and at least one of these. */
  readonly executorsAny?: readonly string[];
  /** A number means at least, a list means all of it, anything else means equal. */
  readonly capabilities?: Readonly<Record<string, CapabilityTest>>;
  readonly allowedNodes?: readonly string[];
  /** Wins over `allowedNodes`. */
  readonly forbiddenNodes?: readonly string[];
  readonly maxParallelPerNode?: number;
}

export const DEFAULT_FIELDS = [
  'retry',
  'timeouts',
  'placement',
  'concurrency',
  'limits',
  'priority',
] as const;

/** What is given later wins, field by field; a concurrency key is one thing and is replaced as a whole. Limits hold
 * together. */
export function merged(defaults: TaskDefaults, given: TaskDefaults): TaskDefaults {
  return withoutGaps({
    retry: both(defaults.retry, given.retry),
    timeouts: both(defaults.timeouts, given.timeouts),
    placement: both(defaults.placement, given.placement),
    concurrency: given.concurrency ?? defaults.concurrency,
    limits: joined(defaults.limits, given.limits),
    priority: given.priority ?? defaults.priority,
  });
}

function joined<Item>(first?: readonly Item[], second?: readonly Item[]): Item[] | undefined {
  if (first === undefined && second === undefined) return undefined;
  return [...(first ?? []), ...(second ?? [])];
}

function both<Part extends object>(first?: Part, second?: Part): Part | undefined {
  if (first === undefined || second === undefined) return second ?? first;
  return { ...first, ...second };
}

/** The same without the fields that are undefined: those mean nothing, and JSON cannot express them. */
export function withoutGaps<Fields extends object>(fields: {
  readonly [Key in keyof Fields]: Fields[Key] | undefined;
}): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Fields;
}

/** As in a document: an immutable copy. */
export function plainOptions(options: TaskDefaults, about: About): JsonObject {
  try {
    return JSON.parse(JSON.stringify(pickDefaults(options))) as JsonObject;
  } catch (cause) {
    return refuse(about, 'the options are not plain data.', 'Pass plain data.', cause);
  }
}

function pickDefaults(options: TaskDefaults): TaskDefaults {
  return withoutGaps<TaskDefaults>(
    Object.fromEntries(DEFAULT_FIELDS.map((field) => [field, options[field]])),
  );
}

/** The limits of a server are its own: only what no server would take is refused here. */
export const CHECK_SETTINGS: Settings = checkedSettings({
  tasksPerJobMax: TASKS_PER_JOB_LIMIT,
  documentBytesMax: 2 ** 40,
  inputBytesMax: 2 ** 40,
});

/** Lets the reader of documents look at what was given, so that nothing is refused only when a job is
 * submitted. `about` says whose fault it is, by the place of the task in the document. */
export function checkDocument(document: Json, about: (task: number | null) => About): void {
  try {
    parseJobDocument(document, CHECK_SETTINGS);
  } catch (cause) {
    if (!isMillraceError(cause)) throw cause;
    const [, place, inner] = /^\/tasks\/(\d+)(.*)$/.exec(cause.path ?? '') ?? [];
    const path = inner ?? cause.path ?? '';
    const where = path === '' ? '' : `${path}: `;
    refuse(
      about(place === undefined ? null : Number(place)),
      where + cause.what,
      cause.todo,
      cause,
    );
  }
}

export function checkDefaults(about: About, name: string, options: JsonObject): void {
  const task = { id: name, executor: name, ...options };
  checkDocument({ tasks: [task] }, () => about);
}
