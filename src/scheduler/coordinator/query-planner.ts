import type { FragmentResults } from '../contract/index.ts';
import { MillraceError } from '../core/index.ts';
import type { Decide, JobDocument, JobId, Json, Seed, TaskNo } from '../core/index.ts';

/** A query as a job: what to submit, and the results that are known beforehand. */
export interface PlannedQuery {
  readonly document: JobDocument;
  readonly seeds: ReadonlyMap<TaskNo, Seed>;
}

export type Decision = Exclude<Decide['decision'], { readonly error: unknown }>;

/** Makes a job of a query. Lives where SQL is understood. */
export interface QueryPlanner {
  /** Takes what a client sends, unchecked: `{ sql, tables, params, settings, idempotencyKey }`. Callers take turns. */
  plan(request: unknown, signal: AbortSignal, caller?: string): Promise<PlannedQuery>;
  /** A query that was planned here is now a job, with these seeds. */
  submitted?(id: JobId, seeds: PlannedQuery['seeds']): void;
  /**
   * Decides what a task answers that no node runs, from its input. `slots` is how many fragments can run at the same
   * time. Called between two events, so it must be quick.
   */
  decide?(input: Json, slots: number): Decision;
  /** Absent where results of fragments are not looked at. */
  readonly fragments?: FragmentResults;
}

export function noQueries(): MillraceError {
  return new MillraceError({
    code: 'unimplemented',
    what: 'This leader does not plan queries.',
    todo: 'Send queries to a server that has SQL enabled.',
  });
}
