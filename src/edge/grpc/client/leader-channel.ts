/**
 * One logical connection to the leader. A call is tried once: errors of the other side are thrown as they were
 * there, and the caller decides about retries, because only the caller knows whether they are safe. Only
 * `not_leader` with an address is followed at once: such a call has done nothing yet.
 */
import { Metadata, connectivityState, status } from '@grpc/grpc-js';
import type { Client, MethodDefinition, ServiceError } from '@grpc/grpc-js';
import { MillraceError } from '../../../scheduler/core/index.ts';
import { type Clock, deferred, systemClock } from '../../../kit/index.ts';
import { errorOfStatus } from '../status.ts';
import { Connections } from './connections.ts';
import type { ConnectionOptions } from './connections.ts';
import { isHttpAddress, leaderByHttp } from './http-address.ts';
import { LeaderRoute } from './leader-route.ts';
import type { Packing, Sent } from './work-stream.ts';
import { type Question, type StreamPeer, WorkStreams } from './work-streams.ts';

export interface LeaderChannelOptions extends ConnectionOptions {
  /** HOST:PORT of nodes that may lead, or know the leader; the URL of their HTTP API does as well. */
  readonly addresses: readonly string[];
  readonly clock?: Clock;
  readonly random?: () => number;
  /** How long a connection may take, at most. */
  readonly connectMs?: number;
}

export interface CallOptions {
  readonly deadlineMs: number;
  /** The caller does not wait any longer: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** How the call may be packed. */
  readonly packing?: Packing;
}

/** A connection within a data centre takes a millisecond. */
const CONNECT_MS = 2_000;

const notConnected = (details: string) => ({
  failure: Object.assign(new Error('no connection'), {
    code: status.UNAVAILABLE,
    details,
    metadata: new Metadata(),
  }),
});
const NOT_CONNECTED = {
  refused: notConnected('No connection could be made'),
  late: notConnected('The connection timed out'),
};

/** More hints than this in a row are a circle. */
const HOPS_MAX = 3;

interface Failed {
  readonly error: MillraceError;
  readonly client: Client;
}

type Asked<Request, Response> = Omit<Question<Request, Response>, 'deadlineMs'>;

type Cancellable = Readonly<{ cancel(): void }>;

export class LeaderChannel {
  readonly #clock: Clock;
  readonly #route: LeaderRoute;
  readonly #options: LeaderChannelOptions;
  readonly #connections: Connections;
  readonly #connectMs: number;
  readonly #streams = new WorkStreams();
  readonly #running: Set<Cancellable> = new Set();
  #isClosed = false;

  constructor(options: LeaderChannelOptions) {
    const { addresses, clock = systemClock, random = Math.random } = options;
    if (addresses.length === 0) {
      throw new MillraceError({
        code: 'bad_setting',
        what: 'No server address was given.',
        todo: 'Give at least one address as HOST:PORT.',
      });
    }
    this.#options = options;
    this.#clock = clock;
    this.#route = new LeaderRoute({ addresses, clock, random });
    this.#connections = new Connections(options);
    this.#connectMs = Math.min(CONNECT_MS, options.connectMs ?? CONNECT_MS);
  }

  /** The server to ask next. */
  get address(): string {
    return this.#route.address;
  }

  /** With `packing` it may be answered by `Packed`. */
  async unary<Request, Response, Packed = never>(
    method: MethodDefinition<Request, Response>,
    request: Request,
    { deadlineMs, signal, packing }: CallOptions,
  ): Promise<Response | Packed> {
    const untilMs = this.#clock.monotonicMs() + deadlineMs;
    for (let hop = 1; ; hop += 1) {
      await this.#pause(untilMs, signal);
      const leftMs = (): number => Math.max(1, untilMs - this.#clock.monotonicMs());
      const { address } = this.#route;
      const outcome = isHttpAddress(address)
        ? { error: await this.#asked(address), client: null }
        : await this.#tried<Request, Response>(
            address,
            { method, request, signal, packing },
            leftMs,
          );
      if (!('error' in outcome)) {
        this.#route.answered(address);
        return outcome.response;
      }
      signal?.throwIfAborted();
      const { error, client } = outcome;
      const mayFollow = this.#learn(error, address, client);
      if (!mayFollow) throw error;
      if (hop < HOPS_MAX) continue;
      this.#route.circling(this.#route.address);
      throw error;
    }
  }

  async #tried<Request, Response>(
    address: string,
    asked: Asked<Request, Response>,
    leftMs: () => number,
  ): Promise<{ readonly response: Response } | Failed> {
    const client = this.#connections.to(address);
    const connection = await this.#connected(client, Math.min(this.#connectMs, leftMs()));
    const outcome =
      connection === 'ready'
        ? await this.#send({ client, address }, asked, leftMs)
        : NOT_CONNECTED[connection];
    if ('response' in outcome) return outcome;
    if ('error' in outcome) return { error: outcome.error, client };
    const error = this.#errorOf(outcome.failure, address);
    // What refuses to speak gRPC may be the HTTP port of the same server.
    const isStrange = connection === 'refused' && !this.#isClosed;
    const answer = isStrange ? await this.#byHttp(address) : null;
    return { error: answer ?? error, client };
  }

  /** The answer of an address that is only asked for another one. */
  async #asked(url: string): Promise<MillraceError> {
    const answer = await this.#byHttp(url);
    if (this.#isClosed) return channelClosed();
    const what = `No Millrace server answered over HTTP at ${url}.`;
    const todo = 'If this is its gRPC port (7071 by default), write HOST:PORT without http://.';
    return answer ?? new MillraceError({ code: 'unreachable', what, todo });
  }

  #byHttp(address: string): Promise<MillraceError | null> {
    return leaderByHttp(address, this.#options, this.#connectMs);
  }

  /** Until the other side ends it, it breaks, or the signal aborts. At the pace of the reader. */
  async *stream<Request, Response>(
    method: MethodDefinition<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): AsyncIterable<Response> {
    await this.#pause(Infinity, signal).catch((thrown: unknown) => {
      if (!signal.aborted) throw thrown;
    });
    if (signal.aborted) return;
    if (isHttpAddress(this.#route.address)) {
      const { address } = this.#route;
      const answer = await this.#asked(address);
      if (!this.#learn(answer, address, null)) throw answer;
    }
    const { address } = this.#route;
    const client = this.#connections.to(address);
    const call = client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      this.#connections.metadata(address),
    );
    // After the last message nobody listens, and a cancelled call still reports its end.
    call.on('error', () => {});
    const cancel = (): void => call.cancel();
    this.#running.add(call);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      for await (const message of call) {
        this.#route.answered(address);
        yield message as Response;
      }
    } catch (thrown) {
      if (signal.aborted) return;
      const error = this.#errorOf(thrown as ServiceError, address);
      this.#learn(error, address, client);
      throw error;
    } finally {
      this.#running.delete(call);
      signal.removeEventListener('abort', cancel);
      call.cancel();
    }
  }

  /** Calls that run are broken off with `shutting_down`. */
  close(): void {
    this.#isClosed = true;
    for (const call of [...this.#running]) call.cancel();
    this.#streams.close();
    this.#connections.close();
  }

  /** A process that is paused takes connections and says nothing: that must not use up the time that
   * a call may take. */
  #connected(client: Client, withinMs: number): Promise<'ready' | 'refused' | 'late'> {
    const channel = client.getChannel();
    const outcome = deferred<'ready' | 'refused' | 'late'>();
    const deadline = Date.now() + withinMs;
    const look = (timedOut?: Error): void => {
      const state = channel.getConnectivityState(true);
      if (state === connectivityState.READY) return outcome.resolve('ready');
      if (state === connectivityState.TRANSIENT_FAILURE) return outcome.resolve('refused');
      if (state === connectivityState.SHUTDOWN || timedOut !== undefined) {
        return outcome.resolve('late');
      }
      channel.watchConnectivityState(state, deadline, look);
    };
    look();
    return outcome.promise;
  }

  async #send<Request, Response>(
    { client, address }: { readonly client: Client; readonly address: string },
    asked: Asked<Request, Response>,
    leftMs: () => number,
  ): Promise<Sent<Response>> {
    const peer = { client, metadata: () => this.#connections.metadata(address) };
    const question = { ...asked, deadlineMs: leftMs() };
    const carried = this.#streams.ask(peer, question);
    const sent = carried === null ? null : await carried;
    return sent ?? this.#sendAlone(peer, { ...question, deadlineMs: leftMs() });
  }

  #sendAlone<Request, Response>(
    { client, metadata }: StreamPeer,
    { method, request, deadlineMs, signal }: Question<Request, Response>,
  ): Promise<Sent<Response>> {
    const outcome = deferred<Sent<Response>>();
    const call = client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata(),
      { deadline: Date.now() + deadlineMs },
      (failure, response) => {
        this.#running.delete(call);
        signal?.removeEventListener('abort', cancel);
        if (failure !== null) outcome.resolve({ failure });
        else outcome.resolve({ response: response as Response });
      },
    );
    const cancel = (): void => call.cancel();
    this.#running.add(call);
    signal?.addEventListener('abort', cancel, { once: true });
    // It may have been aborted while the connection was made; there will be no second notice.
    if (signal?.aborted === true) cancel();
    return outcome.promise;
  }

  #errorOf(failure: ServiceError, address: string): MillraceError {
    return this.#isClosed ? channelClosed() : errorOfStatus(failure, address);
  }

  /** True when the call may be sent again at once, to another address. */
  #learn(error: MillraceError, address: string, client: Client | null): boolean {
    const { code, leader } = error;
    const hint = leader?.grpc ?? null;
    if (code === 'not_leader') return this.#route.notLeader(address, hint);
    // It may have done something before it fell: not ours to repeat.
    if (code === 'deposed' || code === 'rewound' || code === 'shutting_down')
      this.#route.notLeader(address, hint);
    else if (code === 'unreachable') {
      this.#route.silent(address);
      if (client !== null) {
        this.#streams.retire(client);
        this.#connections.drop(address, client);
      }
    } else this.#route.answered(address);
    return false;
  }

  async #pause(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) throw channelClosed();
    signal?.throwIfAborted();
    const { waitMs } = this.#route;
    if (waitMs === 0) return;
    const over = deferred();
    const go = (): void => over.resolve();
    const leftMs = untilMs - this.#clock.monotonicMs();
    const cancelTimer = this.#clock.after(Math.min(waitMs, leftMs), go);
    const pause = { cancel: go };
    this.#running.add(pause);
    signal?.addEventListener('abort', go, { once: true });
    await over.promise;
    cancelTimer();
    this.#running.delete(pause);
    signal?.removeEventListener('abort', go);
    signal?.throwIfAborted();
    if (this.#isClosed) throw channelClosed();
    if (waitMs >= leftMs) {
      throw new MillraceError({ code: 'unreachable', what: 'No leader answered in time.' });
    }
  }
}

function channelClosed(): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: 'The connection was closed by this process.',
  });
}
