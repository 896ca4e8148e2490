/** Where a server may listen: on loopback without conditions, elsewhere with TLS and tokens. */
import { BlockList, isIP } from 'node:net';
import { MillraceError } from '../../scheduler/core/index.ts';

export interface Binding {
  readonly host: string;
  readonly tokenFile: string | undefined;
  /** Whether the listener speaks TLS. */
  readonly tls: boolean;
  readonly insecure: boolean;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** A name other than `localhost` may lead anywhere, so it is not one of this machine. */
export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  if (/^localhost\.?$/i.test(plain)) return true;
  const family = isIP(plain);
  return family !== 0 && loopback.check(plain, family === 6 ? 'ipv6' : 'ipv4');
}

/** Throws `bad_setting` rather than listen on an unprotected address; otherwise returns what protects it. */
export function checkBinding(binding: Binding): 'loopback' | 'secured' | 'insecure' {
  const { host, tokenFile, tls, insecure } = binding;
  if (isLoopback(host)) return 'loopback';
  if (tls && tokenFile !== undefined) return 'secured';
  if (insecure) return 'insecure';
  const missing = [
    ...(tls ? [] : ['TLS (--tls-cert and --tls-key)']),
    ...(tokenFile === undefined ? ['tokens (--token-file)'] : []),
  ];
  throw new MillraceError({
    code: 'bad_setting',
    what: `${host} is reachable by other machines, and ${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing.`,
    todo: 'Set them, listen on 127.0.0.1, or use --insecure if the network itself is trusted.',
  });
}

/** The error of a listener whose address cannot be had. */
export function cannotListen(address: string, cause: Error): MillraceError {
  const isTaken = cause.message.includes('EADDRINUSE');
  return new MillraceError({
    code: 'bad_setting',
    what: `Cannot listen on ${address}.`,
    why: isTaken ? 'The port is in use by another process.' : `${cause.message}.`,
    todo: isTaken ? 'Choose another port, or 0 for any free one.' : 'Choose another address.',
    cause,
  });
}

/** The headers by which a browser says where a request comes from. */
export interface PageHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
  readonly 'sec-fetch-mode'?: string | string[] | undefined;
}

/**
 * A server without tokens trusts a connection, and a browser opens connections for pages from everywhere. So a
 * request that a page sent must come from a page of this very server; and with `isLocal` it must be for this
 * machine by name, else a page could point a name of its own here. Following a link to here is allowed: a
 * page cannot read what the link leads to.
 */
export function checkPage(
  headers: PageHeaders,
  { method, isLocal }: { readonly method: string; readonly isLocal: boolean },
): void {
  const { host, origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  const here = host === undefined ? null : hostOf(host);
  if (isLocal && here?.isLoopback === false) {
    throw foreign('The Host header names another machine');
  }
  const hereUrl = here?.url ?? null;
  if (origin !== undefined && (hereUrl === null || urlOf(origin)?.host !== hereUrl.host)) {
    throw foreign('The Origin header names another server');
  }
  const isLink = mode === 'navigate' && (method === 'GET' || method === 'HEAD');
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isLink) {
    throw foreign('The request was sent by a page of another server');
  }
}

interface Host {
  readonly text: string;
  readonly url: URL | null;
  readonly isLoopback: boolean;
}

/** Nearly all requests name the same: to read it takes longer than to find their route. */
let lastHost: Host | null = null;

function hostOf(text: string): Host {
  if (lastHost?.text === text) return lastHost;
  const url = urlOf(`http://${text}`);
  return (lastHost = { text, url, isLoopback: url !== null && isLoopback(url.hostname) });
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

function foreign(what: string): MillraceError {
  return new MillraceError({
    code: 'forbidden',
    what: `${what}; a server without tokens rejects requests of other origins.`,
    todo: 'Use http://127.0.0.1, or start the server with --token-file.',
  });
}
