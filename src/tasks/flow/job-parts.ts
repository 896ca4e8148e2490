/** What a flow, and a task that is started by itself, says of each of its jobs. */
import { isObject } from '../../scheduler/core/index.ts';
import type { JobOutcome, JsonObject, Keep } from '../../scheduler/core/index.ts';
import type { JobShape } from './document.ts';
import { refuse, shown } from './fault.ts';
import type { Graph } from './graph.ts';
import { jsonCopy } from './json-copy.ts';
import type { InputRef } from './ref.ts';
import { type Part, partOf } from './template.ts';

/** Functions are called once, when the flow or the task is defined, with a reference to the input. */
export interface JobParts<Input> {
  /** What remains of a job once it has ended: `all` for as long as the settings say (usual), `failed` nothing if it
   * succeeded, `none` nothing at all. */
  readonly keep?: Keep;
  /** Servers that are notified of the end of each job, by a signed request; `on` names the ends, all of them without it. */
  readonly webhooks?: readonly { readonly url: string; readonly on?: readonly JobOutcome[] }[];
  /**
   * Jobs with the same key, say of one tenant, take turns with all others as if they were one job: text, or a
   * function that picks a part of the input and is called once like `build`.
   */
  readonly fairnessKey?: string | ((input: InputRef<Input>) => unknown);
  /**
   * A job starts when no other one with its key has come for `ms`. One that comes meanwhile replaces it, so the last
   * input wins; the first of them waits no longer than `maxMs`. The key is text or a function, as `fairnessKey`; the
   * name of the flow or task if it is not given.
   */
  readonly debounce?: {
    readonly key?: string | ((input: InputRef<Input>) => unknown);
    readonly ms: number;
    readonly maxMs?: number;
  };
  /**
   * Of the jobs with one key only one is live at a time. While it lives, another submission is answered with it (`skip`,
   * usual), or cancels it and takes its place (`replace`). The key is text or a function, as `fairnessKey`; the
   * name of the flow or task if it is not given.
   */
  readonly singleton?: {
    readonly key?: string | ((input: InputRef<Input>) => unknown);
    readonly whenBusy?: 'skip' | 'replace';
  };
  /**
   * Fields to find jobs by: an object of references to the input, called once like `build`. Their values become labels
   * of each job, so they are indexed, and have the limits of labels. A field that is absent or null gives no label.
   */
  readonly search?: (input: InputRef<Input>) => Readonly<Record<string, unknown>>;
}

export const JOB_FIELDS = [
  'keep',
  'webhooks',
  'fairnessKey',
  'debounce',
  'singleton',
  'search',
] as const;

/** For a task alone: a job of a batch has one task. */
export interface BatchPart<Input> {
  /**
   * Jobs with one key that come shortly after each other are executed together: the handler runs once, with the items of
   * all their lists, when there are `max` of them or the first has waited for `ms`. Without a key all jobs of the task
   * share batches. The data of an event is one item.
   */
  readonly batch?: {
    readonly key?: string | ((input: InputRef<Input>) => unknown);
    readonly max: number;
    readonly ms: number;
  };
}

/** The same for any input, unchecked. */
export type AnyJobParts = {
  readonly [Field in (typeof JOB_FIELDS)[number]]?: unknown;
} & {
  readonly [Field in 'debounce' | 'singleton' | 'batch']?: { readonly key?: unknown };
};

/** With `own`, the other fields of the job. */
export function jobShape(graph: Graph, parts: AnyJobParts, own: JsonObject): JobShape {
  const { about } = graph;
  const { keep, webhooks } = parts;
  // A key that comes with the input is not there yet: one that could be it holds its place.
  const debounce = keyed(graph, parts.debounce);
  const singleton = keyed(graph, parts.singleton);
  const batch = keyed(graph, parts.batch);
  const head = jsonCopy({ ...own, keep, webhooks, debounce, singleton, batch }, about);
  return {
    about,
    head: head as JsonObject,
    search: searchFields(graph, parts.search),
    fairnessKey: pickedKey(graph, 'fairnessKey', parts.fairnessKey),
    debounceKey: pickedKey(graph, 'debounce.key', parts.debounce?.key),
    singletonKey: pickedKey(graph, 'singleton.key', parts.singleton?.key),
    batchKey: pickedKey(graph, 'batch.key', parts.batch?.key),
  };
}

function keyed<Parts extends object>(graph: Graph, parts: Parts | undefined): object | undefined {
  return parts === undefined ? undefined : { ...parts, key: graph.name };
}

/** Text, or a part of the input that is text in every job. */
function pickedKey(graph: Graph, field: string, key: unknown): Part | undefined {
  if (key === undefined) return undefined;
  const about = `${graph.about}, '${field}'`;
  const picked: unknown =
    typeof key === 'function' ? (key as (input: unknown) => unknown)(graph.input()) : key;
  const part = partOf(picked, { about, use: (pointed) => graph.refuseForeign(pointed, about) });
  const isText =
    part?.kind === 'pointed' || (part?.kind === 'plain' && typeof part.value === 'string');
  if (part !== undefined && isText) return part;
  return refuse(about, `it must be text or a part of the input, not ${shown(picked)}.`);
}

function searchFields(graph: Graph, search: unknown): Part | undefined {
  if (search === undefined) return undefined;
  const about = `${graph.about}, 'search'`;
  if (typeof search !== 'function') refuse(about, `it must be a function, not ${shown(search)}.`);
  const fields: unknown = (search as (input: unknown) => unknown)(graph.input());
  if (!isObject(fields)) {
    refuse(about, `it must return an object, not ${shown(fields)}.`);
  }
  return partOf(fields, { about, use: (pointed) => graph.refuseForeign(pointed, about) });
}
