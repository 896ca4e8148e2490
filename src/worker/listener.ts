/** What a worker answers itself: whether it is well, who it is, and the outputs that it keeps for queries. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { MillraceError } from '../core/index.ts';
import type { NodeId, SessionId } from '../core/index.ts';
import { shuffleService, startRpcServer, workerService } from '../protocol/index.ts';
import type { AccessCheck, RpcServer, Session, ShuffleSource } from '../protocol/index.ts';
import { bearer, checkBinding, isLoopback, loadServerTls } from '../security/index.ts';
import type { TlsFiles } from '../security/index.ts';
import { hostOf } from './channel.ts';

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
  /** The outputs of queries; null while there are none. */
  readonly shuffle?: () => ShuffleSource | null;
}

export class Listener {
  /** Where the leader may look for this worker; null when it could not reach it. */
  readonly address: string | null;
  readonly #server: RpcServer;
  #session: Session;

  private constructor(
    server: RpcServer,
    options: ListenerOptions,
    own: { readonly session: Session },
  ) {
    this.#server = server;
    this.#session = own.session;
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
    const session: Session = { nodeId, sessionId: '' as SessionId };
    let listener: Listener | null = null;
    const server = await startRpcServer({
      host,
      port,
      services: [
        workerService(() => listener?.session ?? session),
        shuffleService(options.shuffle),
      ],
      tls: tls === undefined ? null : withoutAbsent(tls),
      ...(token === null ? {} : { access: onlyWith(token) }),
    });
    listener = new Listener(server, options, { session });
    return listener;
  }

  get port(): number {
    return this.#server.port;
  }

  get session(): Session {
    return this.#session;
  }

  /**
   * A session that has ended is named until there is a new one: another name proves to the leader that
   * nothing of the old one is at work any more.
   */
  showSession(session: Session | null): void {
    if (session !== null) this.#session = session;
    this.#server.setServing(session !== null);
  }

  async close(): Promise<void> {
    await this.#server.stop(0);
  }
}

/**
 * A loopback address means another machine to a leader that is elsewhere, and so does "every address": a
 * connection refused there would look like proof that this worker is gone.
 */
function advertised(options: ListenerOptions, port: number): string | null {
  const { listen, advertise, servers } = options;
  if (advertise !== undefined) return withPort(advertise, port);
  const host = hostOf(listen);
  if (/^(0\.0\.0\.0|\[::\])$/.test(host)) return null;
  const isNear = servers.every((server) => isLoopback(hostOf(server)));
  return isLoopback(host) && !isNear ? null : withPort(host, port);
}

function withPort(host: string, port: number): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The cluster's own token, or a certificate that TLS has verified. */
function onlyWith(token: string): AccessCheck {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(bearer(token));
  return ({ authorization, peerCertificate }) => {
    if (peerCertificate !== null) return;
    if (authorization !== null && timingSafeEqual(digest(authorization), expected)) return;
    throw new MillraceError({
      code: 'unauthenticated',
      what: 'This worker answers nodes of its own cluster only.',
      todo: 'Show the token that the worker itself uses.',
    });
  };
}

function withoutAbsent(tls: NonNullable<ReturnType<typeof loadServerTls>>): {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
} {
  const { cert, key, ca } = tls;
  return ca === undefined ? { cert, key } : { cert, key, ca };
}
