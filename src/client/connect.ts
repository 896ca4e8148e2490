import { loadClientTls } from '../edge/security/index.ts';
import type { Client } from './client.ts';
import { FlowClient } from './flow-client.ts';
import type { ConnectOptions } from './options.ts';

/**
 * A client of a running server: `connect('http://127.0.0.1:7070')`. Several addresses, separated by
 * commas, are one cluster. Nothing is sent before the first call; the work is done by workers that
 * have loaded the module with the flows.
 */
export function connect(url: string, options: ConnectOptions = {}): Client {
  const { tls, ...rest } = options;
  const { ca, cert, key } = tls ?? {};
  const read = { tls: loadClientTls({ tlsCa: ca, tlsCert: cert, tlsKey: key }) };
  return new FlowClient({ ...rest, server: url, ...(tls === undefined ? {} : read) });
}
