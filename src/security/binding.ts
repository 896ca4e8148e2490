/** Where a server may listen: on this machine for nothing, elsewhere with TLS and tokens. */
import { BlockList, isIP } from 'node:net';
import { MillraceError } from '../core/index.ts';

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

/** Throws `bad_setting` rather than listen where strangers could come in; says how it is safe if it is. */
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
    what: `Others could reach ${host}, and ${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing.`,
    todo: 'Give them, listen on 127.0.0.1, or say --insecure if the network itself is trusted.',
  });
}

/**
 * A server that asks for nothing trusts what runs on this machine, and a browser runs pages from
 * everywhere. So a request must be for this machine by name (else a page could point its own name here)
 * and, if a page sent it, from a page of this machine.
 */
export function checkLocalPage(headers: {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
}): void {
  const { host, origin } = headers;
  const isHere = (url: string): boolean => URL.canParse(url) && isLoopback(new URL(url).hostname);
  if (host !== undefined && !isHere(`http://${host}`)) refusePage('The Host header');
  if (origin !== undefined && !isHere(origin)) refusePage('The Origin header');
}

function refusePage(header: string): never {
  throw new MillraceError({
    code: 'forbidden',
    what: `${header} names another machine, and this server without tokens serves only its own.`,
    todo: 'Use http://127.0.0.1, or start the server with --token-file.',
  });
}
