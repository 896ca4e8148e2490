/**
 * A server that executes nothing has no worker that would register. It registers by itself, with no slots and no
 * executors, so that `millrace nodes` lists it and shows when it is gone.
 */
import { randomUUID } from 'node:crypto';
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { NodeId, NodeOffer, SessionId } from '../../scheduler/core/index.ts';
import { ownHandshake } from '../../scheduler/contract/index.ts';
import type { Handshake, Session, WorkerService } from '../../scheduler/contract/index.ts';
import { type Clock, ownProcess, type Say, sleep, systemClock } from '../../kit/index.ts';
import { LeaderChannel, workerChannel } from '../../edge/grpc/index.ts';
import type { NodeCredentials } from './credentials.ts';

export interface PresenceOptions {
  readonly nodeId: string;
  readonly leader: Pick<WorkerService, 'register' | 'heartbeat' | 'leave'>;
  readonly handshake: Handshake;
  readonly capabilities: NodeOffer['capabilities'];
  readonly clock: Clock;
  readonly say: Say;
}

/** Until a leader has announced the heartbeat interval. */
const RETRY_MS = 3_000;
/** A node that stops waits this long for the answer to its registration. */
const UNDER_WAY_MS = 1_000;

export class ServerPresence {
  readonly #options: PresenceOptions;
  #session: Session | null = null;
  #everyMs = RETRY_MS;
  #cancel: () => void = () => {};
  #trying: Promise<void> = Promise.resolve();
  #isStopped = false;
  /** It was said that another one has the name. */
  #isTaken = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  /** Settles after the first try, successful or not. */
  async start(): Promise<void> {
    this.#trying = this.#renew();
    await this.#trying;
    if (!this.#isStopped) this.#cancel = this.#options.clock.after(this.#everyMs, this.#again);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    // A registration under way may be accepted yet, and would be left behind. Without a leader it never ends.
    await Promise.race([this.#trying, sleep(this.#options.clock, UNDER_WAY_MS)]);
    const session = this.#session;
    this.#session = null;
    // One that cannot say goodbye is missed when its session ends.
    if (session !== null) await this.#options.leader.leave(session).catch(() => {});
  }

  readonly #again = (): void => void this.start();

  /** What fails now is tried again: there may be no leader, or the name belongs to a process that has just ended. */
  async #renew(): Promise<void> {
    const { leader } = this.#options;
    try {
      if (this.#session === null) await this.#register();
      else await leader.heartbeat({ ...this.#session, held: [], seenPoll: 0, executors: [] });
    } catch (error) {
      const isOver =
        isMillraceError(error, 'unknown_session') || isMillraceError(error, 'superseded');
      if (isOver) this.#session = null;
      if (isMillraceError(error, 'name_taken')) this.#taken();
    }
  }

  #taken(): void {
    const { nodeId, say } = this.#options;
    if (!this.#isTaken)
      say(
        `Another server or worker uses the node id ${nodeId}. Give each its own --node-id.`,
        'warn',
      );
    this.#isTaken = true;
  }

  async #register(): Promise<void> {
    const { leader, handshake, capabilities } = this.#options;
    const session: Session = {
      nodeId: this.#options.nodeId as NodeId,
      sessionId: randomUUID() as SessionId,
    };
    const { heartbeatMs } = await leader.register(
      {
        id: session.nodeId,
        sessionId: session.sessionId,
        slots: 0,
        prefetch: 0,
        executors: [],
        capabilities,
        address: null,
        version: handshake.millrace,
      },
      handshake,
    );
    this.#everyMs = heartbeatMs;
    this.#session = session;
    this.#isTaken = false;
  }
}

export interface Presence {
  readonly close: () => Promise<void>;
}

/** Over the node's own gRPC address, which knows the leader. */
export function openPresence(
  nodeId: string,
  address: string,
  { outgoing }: Pick<NodeCredentials, 'outgoing'>,
  say: Say,
): Presence {
  const process = ownProcess();
  const channel = new LeaderChannel({ ...outgoing, addresses: [address] });
  const presence = new ServerPresence({
    nodeId,
    leader: workerChannel({ channel }),
    handshake: ownHandshake(),
    // A leader on the same machine sees by it when the process is gone.
    capabilities: process === null ? {} : { process: `${process}:${randomUUID()}` },
    clock: systemClock,
    say,
  });
  void presence.start();
  const close = async (): Promise<void> => {
    await presence.stop();
    channel.close();
  };
  return { close };
}
