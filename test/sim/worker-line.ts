/**
 * The port between a worker and whoever leads, carried by the simulated network: here calls are lost, late,
 * repeated and cut off. What the worker receives is shown to the witness on its way.
 */
import { isMillraceError } from '../../src/scheduler/core/index.ts';
import type { JobId, LeaseName } from '../../src/scheduler/core/index.ts';
import type {
  WorkerService,
  PollReply,
  PollRequest,
  ReadyAssignment,
  ReportReply,
  Session,
  WorkerReport,
} from '../../src/scheduler/contract/index.ts';
import { endsSession } from '../../src/node/worker/session-error.ts';
import { isPassing } from './cluster.ts';
import type { Connection } from './cluster.ts';
import type { CoordinatorService } from './coordinator.ts';
import type { Findings } from './findings.ts';
import type { Life } from './process.ts';
import type { Witness } from './witness.ts';

export interface WorkerLineOptions {
  readonly node: string;
  /** The thread that speaks. */
  readonly life: Life;
  readonly connection: Connection;
  readonly heartbeatMs: number;
  /** How long register, report, unneeded and leave wait for an answer. */
  readonly callMs: number;
  readonly witness: Witness;
  readonly findings: Findings;
  readonly onAssigned: (assignment: ReadyAssignment) => void;
  readonly onReport: (item: WorkerReport) => void;
  readonly onLost: (lease: LeaseName) => void;
  /** The leader says that the session is over. */
  readonly onOver: () => void;
}

interface Parked {
  readonly life: Life;
  readonly control: AbortController;
}

export class WorkerLine implements WorkerService {
  readonly #options: WorkerLineOptions;

  constructor(options: WorkerLineOptions) {
    this.#options = options;
  }

  register: WorkerService['register'] = (offer, handshake) =>
    this.#ask('register', (workers) => workers.register(offer, handshake));

  heartbeat: WorkerService['heartbeat'] = (beat) => {
    const { heartbeatMs } = this.#options;
    return this.#ask('heartbeat', (workers) => workers.heartbeat(beat), heartbeatMs * 2);
  };

  leave: WorkerService['leave'] = (session) =>
    this.#ask('leave', (workers) => workers.leave(session));

  writeLogs: WorkerService['writeLogs'] = (session, lines) =>
    this.#ask('writeLogs', (workers) => workers.writeLogs(session, lines));

  async unneeded(session: Session, queries: readonly JobId[], kind?: 'inner'): Promise<JobId[]> {
    const { witness, node } = this.#options;
    const asked = queries.map((id) => witness.placeOf(id));
    const over = await this.#ask('unneeded', (workers) => workers.unneeded(session, queries, kind));
    for (const id of over) {
      const place = asked[queries.indexOf(id)];
      if (place !== undefined) witness.unneeded(node, id, place);
    }
    return [...over];
  }

  async report(session: Session, items: readonly WorkerReport[]): Promise<ReportReply> {
    const { witness, node, onReport, onLost } = this.#options;
    for (const item of items) {
      witness.reports(item);
      onReport(item);
    }
    const reply = await this.#ask('report', (workers) => workers.report(session, items));
    for (const [at, item] of items.entries()) {
      // All results are reported, nothing is registered.
      const given = reply.verdicts[at] ?? 'lost';
      const verdict = given === 'unregistered' ? 'lost' : given;
      witness.verdict(node, item, verdict);
      if (verdict === 'lost') onLost(item.lease);
    }
    return reply;
  }

  /** As over gRPC: one that is called back is answered here at once, and the leader hears of that later. */
  async poll(request: PollRequest, signal: AbortSignal): Promise<PollReply> {
    if (signal.aborted) return nothing();
    const { connection, heartbeatMs } = this.#options;
    const parked: Parked[] = [];
    const asked = this.#heard('poll', (): Promise<PollReply> =>
      connection.ask('poll', heartbeatMs * 3, (service) => {
        const control = new AbortController();
        parked.push({ life: service.life, control });
        const cancel = service.life.clock.after(service.parkMs, () => control.abort());
        return service.leader().workers.poll(request, control.signal).finally(cancel);
      }),
    );
    const calledBack = new Promise<PollReply>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve(nothing());
        this.#hangUp(parked);
      });
    });
    const reply = await Promise.race([asked, calledBack]);
    const { witness, node, onAssigned } = this.#options;
    for (const assignment of reply.assignments) {
      witness.assigned(node, assignment);
      onAssigned(assignment);
    }
    return reply;
  }

  #hangUp(parked: readonly Parked[]): void {
    const { connection, callMs, life } = this.#options;
    if (life.isOver) return;
    const act = async ({ life: there }: CoordinatorService): Promise<void> => {
      for (const each of parked) if (each.life === there) each.control.abort();
    };
    connection.ask('hang up', callMs, act).catch(() => {});
  }

  #ask<T>(
    what: string,
    act: (workers: WorkerService) => Promise<T>,
    timeoutMs: number = this.#options.callMs,
  ): Promise<T> {
    const { connection } = this.#options;
    return this.#heard(what, () =>
      connection.ask(what, timeoutMs, (service) => act(service.leader().workers)),
    );
  }

  /** A process that has crashed says nothing more, although its last turn of the loop may run to its end. */
  async #heard<T>(what: string, call: () => Promise<T>): Promise<T> {
    const { life, onOver, findings, node } = this.#options;
    if (life.isOver) return new Promise(() => {});
    try {
      return await call();
    } catch (error) {
      if (endsSession(error)) onOver();
      else if (!isPassing(error) && !isUsual(what, error)) {
        findings.add('refusals', `${node}: ${what} was refused: ${String(error)}`);
      }
      throw error;
    }
  }
}

/** Another one has the name, or the last one that had it is not known to be gone. */
function isUsual(what: string, error: unknown): boolean {
  return (
    what === 'register' &&
    (isMillraceError(error, 'name_taken') || isMillraceError(error, 'conflict'))
  );
}

function nothing(): PollReply {
  return { assignments: [], orders: { abort: [], drain: false, slowDownMs: 0 } };
}
