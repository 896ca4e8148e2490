/** How a worker reaches the leader: plain options, from which each thread makes its own connection. */
import { MillraceError } from '../../scheduler/core/index.ts';
import { LeaderChannel, keepAliveFor, workerChannel } from '../../edge/grpc/index.ts';
import type { WorkerService } from '../../scheduler/contract/index.ts';
import type { ClientTls, KeepAlive } from '../../edge/grpc/index.ts';
import { isLoopback, loadClientTls, readToken, shownToken } from '../../edge/security/index.ts';
import type { TlsFiles } from '../../edge/security/index.ts';

/** Can be sent to a thread. */
export interface ChannelOptions {
  readonly servers: readonly string[];
  readonly token: string | null;
  /** PEM texts; null for plain text. */
  readonly tls: ClientTls | null;
  /** Whether the network itself is trusted with tokens. */
  readonly insecure: boolean;
  readonly pollMs: number;
  /** The TTL that the leader is expected to announce: how soon a dead connection must be noticed. */
  readonly sessionTtlMs: number;
}

export interface ChannelSettings extends TlsFiles {
  readonly servers: readonly string[];
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly insecure: boolean;
  readonly pollMs: number;
  readonly sessionTtlMs: number;
}

/** About as often as never. */
const SELDOM_MS = 3_600_000;

/** Reads tokens and certificates once, here, so that a mistake in them ends the start. */
export function channelOptions(settings: ChannelSettings): ChannelOptions {
  const { servers, pollMs, sessionTtlMs, insecure } = settings;
  if (servers.length === 0) {
    throw new MillraceError({
      code: 'bad_input',
      what: 'No server address was given.',
      todo: 'Set at least one with --server, as http://HOST:7070 or HOST:7071 (the gRPC port).',
    });
  }
  const token = readToken(settings, 'worker') ?? null;
  const { ca, cert, key } = loadClientTls(settings);
  const isPlain =
    ca === undefined && cert === undefined && !servers.some((server) => /^https:/i.test(server));
  const far = servers.find((server) => !isLoopback(hostOf(server)));
  if (isPlain && token !== null && far !== undefined && !insecure) {
    throw new MillraceError({
      code: 'bad_setting',
      what: `The token would be sent to ${far} unencrypted.`,
      todo: 'Give --tls-ca (and --tls-cert, --tls-key), or use --insecure if the network is trusted.',
    });
  }
  const tls = isPlain ? null : pemTexts({ ca, cert, key });
  return { servers, token, tls, insecure, pollMs, sessionTtlMs };
}

/** What this worker shows, to leaders and to other workers. */
export function tokenToShow({
  token,
  tls,
  insecure,
}: ChannelOptions): (address: string) => string | null {
  return shownToken({ token, isEncrypted: tls !== null, insecure });
}

/** Of HOST:PORT or a URL. */
export function hostOf(address: string): string {
  if (URL.canParse(address) && address.includes('://')) return new URL(address).hostname;
  return address.slice(0, address.lastIndexOf(':'));
}

/** Buffers would reach a thread as something else. */
function pemTexts(files: Readonly<Record<'ca' | 'cert' | 'key', Buffer | undefined>>): ClientTls {
  const entries = Object.entries(files).flatMap(([name, bytes]) =>
    bytes === undefined ? [] : [[name, bytes.toString('utf8')]],
  );
  return Object.fromEntries(entries) as ClientTls;
}

export interface LeaderConnection {
  readonly leader: WorkerService;
  readonly close: () => void;
}

/** `heartbeatMs` once a leader has said it. */
export function openConnection(options: ChannelOptions, heartbeatMs?: number): LeaderConnection {
  const { servers, tls, pollMs, sessionTtlMs } = options;
  const often = keepAliveFor(sessionTtlMs);
  // Each beat has a deadline, which tells of a dead connection as soon as anything could.
  const seldom: KeepAlive = { ...often, everyMs: SELDOM_MS };
  const channel = new LeaderChannel({
    addresses: servers,
    tls,
    token: tokenToShow(options),
    keepAlive: heartbeatMs === undefined ? often : seldom,
    connectMs: often.everyMs,
  });
  const leader = workerChannel({
    channel,
    pollWaitMs: pollMs,
    ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
  });
  return { leader, close: () => channel.close() };
}
