/** What a worker serves itself: its health, its identity, and the outputs that it retains for queries. */
import { bracketed, isWildcard } from '../../kit/index.ts';
import type { NodeId } from '../../scheduler/core/index.ts';
import { shuffleService, startRpcServer, workerService } from '../../edge/grpc/index.ts';
import type { ShuffleSource } from '../../scheduler/contract/index.ts';
import type { RpcServer } from '../../edge/grpc/index.ts';
import {
  checkBinding,
  isLoopback,
  isTokenList,
  listenerAccess,
  loadServerTls,
  rpcAccess,
} from '../../edge/security/index.ts';
import type {
  ListenerAccess,
  ListenerSettings,
  ServerTls,
  TlsFiles,
} from '../../edge/security/index.ts';
import { hostOf } from './channel.ts';
import { startStatusServer } from './status-server.ts';
import type { StatusServer } from './status-server.ts';
import type { OpenSession } from './worker.ts';

export interface ListenerOptions extends TlsFiles {
  readonly nodeId: NodeId;
  /** HOST:PORT, port 0 for any free one. */
  readonly listen: string;
  /** The host under which others reach it. */
  readonly advertise: string | undefined;
  readonly servers: readonly string[];
  readonly token: string | null;
  readonly tokenFile: string | undefined;
  readonly insecure: boolean;
  readonly warn?: (sentence: string) => void;
  /** The port for metrics and health checks; without one there are none. */
  readonly httpPort: number | undefined;
  readonly metrics: (isRegistered: boolean) => string;
  /** The outputs of queries; null while there are none. */
  readonly shuffle?: () => ShuffleSource | null;
}

export class Listener {
  /** Where the leader may look for this worker; null when it could not reach it. */
  readonly address: string | null;
  readonly #server: RpcServer;
  readonly #guard: ListenerAccess;
  #status: StatusServer | null = null;
  #isRegistered = false;
  #sessionName: string | null = null;

  private constructor(server: RpcServer, options: ListenerOptions, guard: ListenerAccess) {
    this.#server = server;
    this.#guard = guard;
    this.address = advertised(options, server.port);
  }

  /** Not serving until there is a session. */
  static async open(options: ListenerOptions): Promise<Listener> {
    const { listen, nodeId, token, tokenFile, insecure } = options;
    const host = hostOf(listen).replace(/^\[(.*)\]$/, '$1');
    const port = Number(listen.slice(listen.lastIndexOf(':') + 1));
    // An authority alone is for checking the leader's certificate: this side then speaks plain text.
    const tls = options.tlsCert === undefined ? undefined : loadServerTls(options);
    checkBinding({ host, tokenFile, tls: tls !== undefined, insecure });
    const guard = listenerAccess({
      host,
      ...tokensOf(tokenFile, token),
      insecure,
      warn: options.warn ?? (() => {}),
    });
    let listener: Listener | null = null;
    const server = await startRpcServer({
      host,
      port,
      services: [
        workerService(() => ({ nodeId, sessionName: listener?.sessionName ?? null })),
        shuffleService(options.shuffle),
      ],
      ...(options.shuffle === undefined ? {} : { streams: { source: options.shuffle } }),
      tls: tls === undefined ? null : withoutAbsent(tls),
      access: rpcAccess(guard.access),
    });
    guard.published(server.port);
    listener = new Listener(server, options, guard);
    try {
      await listener.#openStatus(options, host, tls);
    } catch (error) {
      await listener.close();
      throw error;
    }
    return listener;
  }

  async #openStatus(
    { httpPort: port, metrics }: ListenerOptions,
    host: string,
    tls: ServerTls | undefined,
  ): Promise<void> {
    if (port === undefined) return;
    const { access } = this.#guard;
    const isRegistered = (): boolean => this.#isRegistered;
    this.#status = await startStatusServer({
      host,
      port,
      tls,
      access,
      isRegistered,
      metrics: () => metrics(isRegistered()),
    });
    this.#guard.published(this.#status.port);
  }

  /** Where metrics and health checks are served; null if they are not. */
  get httpPort(): number | null {
    return this.#status?.port ?? null;
  }

  get port(): number {
    return this.#server.port;
  }

  get sessionName(): string | null {
    return this.#sessionName;
  }

  /** An ended session is named until there is a new one: another name proves to the leader that nothing of the old one
   * runs any more. */
  showSession(session: Pick<OpenSession, 'shownAs'> | null): void {
    this.#isRegistered = session !== null;
    if (session !== null) this.#sessionName = session.shownAs;
    this.#server.setServing(session !== null);
  }

  async close(): Promise<void> {
    await this.#status?.close();
    await this.#server.stop(0);
    this.#guard.withdrawn();
  }
}

/**
 * A loopback address means another machine to a leader that is elsewhere, and so does "every address": a
 * connection refused there would look like proof that this worker is gone.
 */
function advertised(options: ListenerOptions, port: number): string | null {
  const { listen, advertise, servers } = options;
  if (advertise !== undefined) return `${bracketed(advertise)}:${port}`;
  const host = hostOf(listen);
  if (isWildcard(host)) return null;
  const isNear = servers.every((server) => isLoopback(hostOf(server)));
  return isLoopback(host) && !isNear ? null : `${bracketed(host)}:${port}`;
}

/** The tokens of a server's file, where the worker has one; else the token that it shows itself. */
function tokensOf(
  tokenFile: string | undefined,
  token: string | null,
): Pick<ListenerSettings, 'tokenFile' | 'token'> {
  if (tokenFile !== undefined && isTokenList(tokenFile)) return { tokenFile, token: undefined };
  return { tokenFile: undefined, token: token ?? undefined };
}

function withoutAbsent(tls: NonNullable<ReturnType<typeof loadServerTls>>): {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
} {
  const { cert, key, ca } = tls;
  return ca === undefined ? { cert, key } : { cert, key, ca };
}
