import { HttpClient } from '../http/index.ts';
import { loadClientTls } from '../../edge/security/index.ts';
import type { ClientTls } from '../../edge/security/index.ts';
import type { Client } from './client.ts';
import { HttpBackedClient } from './http-backed.ts';

export interface ConnectOptions {
  /** What the server's token file lists; not needed for a server of the same user on this machine. */
  readonly token?: string;
  /** Lets the token travel unencrypted to another machine, for networks that are trusted themselves. */
  readonly insecure?: boolean;
  readonly tls?: TlsFileNames;
  /** How long a call goes on trying once the cluster has answered: longer than a fail-over takes. */
  readonly retryBudgetMs?: number;
  /** Told when a call has to wait, and for what: an outage of the cluster or of its database. */
  readonly onWait?: (why: Error) => void;
}

/** Names of PEM files. */
export interface TlsFileNames {
  /** Who signs the servers' certificates; by default those that Node.js trusts. */
  readonly ca?: string;
  /** What this side shows of itself. */
  readonly cert?: string;
  readonly key?: string;
}

/**
 * A client of a running server: `connect('http://127.0.0.1:7070')`. Several addresses, separated by
 * commas, are one cluster. Nothing is sent before the first call; the work is done by workers that
 * have loaded the module with the flows.
 */
export function connect(url: string, options: ConnectOptions = {}): Client {
  const { token, insecure = false, retryBudgetMs, onWait, tls } = options;
  const http = new HttpClient({
    server: url,
    insecure,
    ...(token === undefined ? {} : { token }),
    ...(retryBudgetMs === undefined ? {} : { retryBudgetMs }),
    ...(onWait === undefined ? {} : { onWait }),
    ...(tls === undefined ? {} : { tls: read(tls) }),
  });
  return new HttpBackedClient({
    http,
    // The workers of a cluster bring their own.
    offer: () => Promise.resolve(),
    onClose: () => Promise.resolve(),
  });
}

function read({ ca, cert, key }: TlsFileNames): ClientTls {
  return loadClientTls({ tlsCa: ca, tlsCert: cert, tlsKey: key });
}
