/** Who may do what. Every request of HTTP and gRPC passes here before anything else looks at it. */
import { timingSafeEqual } from 'node:crypto';
import { MillraceError } from '../core/index.ts';
import { grants, type Role } from './roles.ts';
import { digestOf, TokenBook, type TokenBookOptions } from './token-book.ts';

export interface Credentials {
  /** The header of HTTP, or the metadata of gRPC by the same name. */
  readonly authorization?: string | undefined;
  /** Of a peer whose certificate TLS has verified, and of no other. */
  readonly peerCertificate?: { readonly subject?: { readonly CN?: string } } | undefined;
}

export interface Caller {
  /** For logs. */
  readonly name: string;
  readonly role: Role;
}

export interface Access {
  /** True when nobody is asked for anything. */
  readonly isOpen: boolean;
  /** The caller if it may do what `needed` stands for; throws `unauthenticated` or `forbidden`. */
  allow(credentials: Credentials, needed: Role): Caller;
}

/** For loopback, and for those who said `--insecure`. */
export const openAccess: Access = {
  isOpen: true,
  allow: () => ({ name: 'anybody', role: 'admin' }),
};

/** With a token file its tokens decide, without one everybody may do everything. */
export function accessFor(
  options: Omit<TokenBookOptions, 'path'> & { readonly tokenFile: string | undefined },
): Access {
  const { tokenFile, ...rest } = options;
  if (tokenFile === undefined) return openAccess;
  const book = new TokenBook({ ...rest, path: tokenFile });
  return { isOpen: false, allow: (credentials, needed) => admitted(credentials, needed, book) };
}

/** For a node that serves one program: whoever has its token may do everything. */
export function accessWith(token: string): Access {
  const digest = digestOf(token);
  const book = {
    find: (shown: string): Caller | undefined =>
      timingSafeEqual(digest, digestOf(shown)) ? { name: 'its program', role: 'admin' } : undefined,
  };
  return { isOpen: false, allow: (credentials, needed) => admitted(credentials, needed, book) };
}

function admitted(credentials: Credentials, needed: Role, book: Pick<TokenBook, 'find'>): Caller {
  const holder = holderOf(credentials.authorization, book);
  if (holder !== undefined && grants(holder.role, needed)) return holder;
  // A certificate of the cluster's own authority makes a peer of the cluster, and no more than that.
  const { peerCertificate } = credentials;
  if (peerCertificate !== undefined && needed === 'worker') {
    return { name: peerCertificate.subject?.CN ?? 'a peer', role: 'worker' };
  }
  if (holder === undefined) throw unauthenticated('This needs a token, and none was shown.');
  throw new MillraceError({
    code: 'forbidden',
    what: `The token of ${holder.name} has the role ${holder.role}, and this needs ${needed}.`,
    todo: 'Use a token with that role.',
  });
}

/** A token that is shown must be right, whatever else may speak for the caller. */
function holderOf(
  authorization: string | undefined,
  book: Pick<TokenBook, 'find'>,
): Caller | undefined {
  if (authorization === undefined || authorization === '') return undefined;
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
  if (token === undefined) throw unauthenticated('The authorization is not a bearer token.');
  const found = book.find(token);
  if (found === undefined) throw unauthenticated('The token is not known here.');
  return found;
}

function unauthenticated(what: string): MillraceError {
  return new MillraceError({
    code: 'unauthenticated',
    what,
    todo: 'Send `Authorization: Bearer TOKEN`; commands take it from MILLRACE_TOKEN or --token-file.',
  });
}
