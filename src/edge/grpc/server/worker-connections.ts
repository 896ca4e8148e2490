/**
 * Which workers poll over which connections. When one closes, its workers should be checked: at once, and whether or not
 * a poll is parked at that moment. A worker that has just been given a task has none.
 */
import type { NodeId } from '../../../scheduler/core/index.ts';
import type { Session } from '../../../scheduler/contract/index.ts';
import { connectionOf } from './http2-call.ts';

/** Workers of one process share a connection; more than this are checked when they are overdue. */
const WORKERS_PER_CONNECTION_MAX = 100;

export class WorkerConnections {
  readonly #onLost: (session: Session) => void;
  readonly #workers: WeakMap<object, Map<NodeId, Session>> = new WeakMap();

  constructor(onLost: (session: Session) => void) {
    this.#onLost = onLost;
  }

  /** The session has polled with this call. */
  polled({ nodeId, sessionId }: Session, call: object): void {
    const connection = connectionOf(call);
    if (connection === null) return;
    const known = this.#workers.get(connection);
    const workers = known ?? new Map<NodeId, Session>();
    if (workers.has(nodeId) || workers.size < WORKERS_PER_CONNECTION_MAX)
      workers.set(nodeId, { nodeId, sessionId });
    if (known !== undefined) return;
    this.#workers.set(connection, workers);
    connection.once('close', () => {
      for (const session of workers.values()) this.#onLost(session);
    });
  }
}
