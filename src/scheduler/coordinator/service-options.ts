/** What the services of the leader share. */
import type { Settings } from '../core/index.ts';
import type { Handshake } from '../contract/index.ts';
import type { Store, Term } from '../store/index.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { KnownFlows } from './known-flows.ts';
import type { KnownOperators } from './known-operators.ts';
import type { LeaderMeasures } from './leader-measures.ts';
import type { Payloads } from './payloads.ts';
import type { QueryPlanner } from './query-planner.ts';
import type { StoredIds } from './stored-ids.ts';
import type { TaskLogWriter } from './task-log-writer.ts';

export interface ServiceOptions {
  readonly store: Store;
  readonly shard: number;
  readonly term: Term;
  readonly settings: Settings;
  readonly dispatcher: Dispatcher;
  readonly measures: LeaderMeasures;
  readonly taskLogs: TaskLogWriter;
  readonly payloads: Payloads;
  readonly storedIds: StoredIds;
  /** The custom operators that workers have declared. */
  readonly operators: KnownOperators;
  /** The flows that workers have published. */
  readonly flows: KnownFlows;
  /** The version of this leader, for joining workers. */
  readonly handshake: Handshake;
  /** Whether it has a secret to sign webhooks with. */
  readonly signsWebhooks: boolean;
  /** Null where no SQL is understood. */
  readonly planner: QueryPlanner | null;
  /** True is proof that the process of this name has ended. */
  readonly isProcessGone: (process: string) => boolean;
}
