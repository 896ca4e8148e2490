import { loadClientTls, readToken } from '../edge/security/index.ts';
import type { Client } from './client.ts';
import { FlowClient } from './flow-client.ts';
import type { ClientOptions, ConnectOptions } from './options.ts';

const LOCAL = 'http://127.0.0.1:7070';

/**
 * A client of a running server: `connect('http://127.0.0.1:7070')`. Several addresses, separated by
 * commas, are one cluster. Nothing is sent before the first call; the work is done by workers that
 * have loaded the module with the flows.
 *
 * Without an address, as the command line has it: `MILLRACE_SERVER`, or port 7070 of this machine, `MILLRACE_TOKEN` or
 * `MILLRACE_TOKEN_FILE`, and `MILLRACE_TLS_CA`, `_CERT` and `_KEY`. A worker that a server has started has that server there.
 */
export function connect(url?: string, options: ConnectOptions = {}): Client {
  const { tls, ...rest } = options;
  const { ca, cert, key } = tls ?? {};
  const read = { tls: loadClientTls({ tlsCa: ca, tlsCert: cert, tlsKey: key }) };
  const own = { ...rest, ...(tls === undefined ? {} : read) };
  // The token of the environment is for its server.
  return url === undefined
    ? new FlowClient({ ...fromEnvironment(process.env), ...own })
    : new FlowClient({ ...own, server: url });
}

type Surroundings = Pick<ClientOptions, 'server' | 'token' | 'tls'>;

function fromEnvironment(environment: NodeJS.ProcessEnv): Surroundings {
  const given = (name: string): string | undefined => {
    const text = environment[`MILLRACE_${name}`];
    return text === '' ? undefined : text;
  };
  const token = readToken({ token: given('TOKEN'), tokenFile: given('TOKEN_FILE') }, 'submit');
  const tls = { tlsCa: given('TLS_CA'), tlsCert: given('TLS_CERT'), tlsKey: given('TLS_KEY') };
  return {
    server: given('SERVER') ?? LOCAL,
    tls: loadClientTls(tls),
    ...(token === undefined ? {} : { token }),
  };
}
