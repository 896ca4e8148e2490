/**
 * Which calls go on a stream, and on which one: those that a worker makes all the time, and the stream of its session to the
 * server that it asks at present. All others, and all calls to a server without streams, go by themselves.
 */
import { status } from '@grpc/grpc-js';
import type { Client, Metadata, MethodDefinition } from '@grpc/grpc-js';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { HeartbeatServiceService } from '../gen/millrace/v1/heartbeat.ts';
import { type Carried, type Packing, type Sent, WorkStream } from './work-stream.ts';

export interface StreamPeer {
  readonly client: Client;
  /** What is shown to it. */
  readonly metadata: () => Metadata;
}

export interface Question<Request, Response> {
  readonly method: MethodDefinition<Request, Response>;
  readonly request: Request;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
  readonly packing?: Packing | undefined;
}

const CARRIED: ReadonlyMap<string, 'getTask' | 'reportTaskStatus' | 'heartbeat'> = new Map([
  [ControlPlaneService.getTask.path, 'getTask'],
  [ControlPlaneService.reportTaskStatus.path, 'reportTaskStatus'],
  [HeartbeatServiceService.heartbeat.path, 'heartbeat'],
]);

interface Current {
  readonly client: Client;
  readonly sessionId: string;
  readonly stream: WorkStream;
}

export class WorkStreams {
  #current: Current | null = null;
  readonly #all: Set<WorkStream> = new Set();
  /** Connections to servers that do not know the method. */
  readonly #without: WeakSet<Client> = new WeakSet();

  /** Null when the call has to go by itself: nothing was done about it. */
  ask<Request, Response>(
    peer: StreamPeer,
    { method, request, deadlineMs, signal, packing }: Question<Request, Response>,
  ): Promise<Sent<Response> | null> | null {
    const $case = CARRIED.get(method.path);
    if ($case === undefined || this.#without.has(peer.client)) return null;
    // The path of a method tells the types of its messages.
    const call = { $case, value: request } as Carried;
    const { sessionId } = request as { readonly sessionId: string };
    const stream = this.#streamTo(peer, sessionId);
    const sent = stream.ask(call, deadlineMs, signal, packing) as Promise<Sent<Response>> | null;
    return sent?.then((outcome) => this.#known(outcome, stream, peer)) ?? null;
  }

  /** A server of an earlier version has not even looked at the call. */
  #known<Response>(
    sent: Sent<Response>,
    { hasAnswered }: WorkStream,
    { client }: StreamPeer,
  ): Sent<Response> | null {
    const isUnknown = 'failure' in sent && sent.failure.code === status.UNIMPLEMENTED;
    if (!isUnknown || hasAnswered) return sent;
    this.#without.add(client);
    return null;
  }

  /** Calls that wait on it go on; the next one gets a new stream. */
  retire(client: Client): void {
    if (this.#current?.client !== client) return;
    this.#current.stream.retire();
    this.#current = null;
  }

  close(): void {
    for (const stream of [...this.#all]) stream.cancel();
    this.#current = null;
  }

  #streamTo({ client, metadata }: StreamPeer, sessionId: string): WorkStream {
    const current = this.#current;
    const isSame = current?.client === client && current.sessionId === sessionId;
    if (isSame && !current.stream.isOver) return current.stream;
    current?.stream.retire();
    const stream = new WorkStream(client, metadata(), (over) => this.#all.delete(over));
    this.#all.add(stream);
    this.#current = { client, sessionId, stream };
    return stream;
  }
}
