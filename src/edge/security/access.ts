/** Authorisation: every HTTP and gRPC request is checked here first. */
import { timingSafeEqual } from 'node:crypto';
import { MillraceError } from '../../scheduler/core/index.ts';
import { grants, type Needed, type Role } from './roles.ts';
import type { Peer } from './peer-owner.ts';
import { digestOf, TokenFile, type TokenFileOptions } from './token-file.ts';

export interface Credentials {
  /** The header of HTTP, or the metadata of gRPC by the same name. */
  readonly authorization?: string | undefined;
  /** The other end of the connection; absent if unknown. */
  readonly peer?: Peer | undefined;
}

export interface Caller {
  /** For logs. */
  readonly name: string;
  readonly role: Role;
  /** The same for the same credential, and no secret: what a session is bound to. */
  readonly credential: string;
}

export interface Access {
  /** Who has access: callers with a token, only those who act for the user who started the server, or anybody. */
  readonly scope: 'tokens' | 'own user' | 'anybody';
  /** Returns the caller if its role allows `needed`, without a promise if it is known at once; otherwise the promise is
   * rejected with `unauthenticated` or `forbidden`. */
  allow(credentials: Credentials, needed: Needed): Caller | Promise<Caller>;
}

const ANYBODY: Caller = { name: 'anybody', role: 'admin', credential: 'anybody' };

/** For `--insecure`. */
export const openAccess: Access = {
  scope: 'anybody',
  allow: () => ANYBODY,
};

/** The tokens of a file decide. */
export function tokenAccess(options: TokenFileOptions): Access {
  const book = new TokenFile(options);
  return {
    scope: 'tokens',
    allow: (credentials, needed) => orRejected(() => admitted(credentials, needed, book)),
  };
}

/** For a node that serves one program: a caller with its token may do everything, as the user of that program. */
export function accessWith(token: string): Access {
  const book = { find: holderWith(token, 'its program') };
  return {
    scope: 'own user',
    allow: (credentials, needed) => orRejected(() => admitted(credentials, needed, book)),
  };
}

/** The holder of one token, which may do everything. */
function holderWith(token: string, name: string): (shown: string) => Caller | undefined {
  const digest = digestOf(token);
  return (shown) =>
    timingSafeEqual(digest, digestOf(shown))
      ? { name, role: 'admin', credential: 'its token' }
      : undefined;
}

/** What is thrown rejects a promise, as if there had been one all along. */
export function orRejected<T>(look: () => T): T | Promise<T> {
  try {
    return look();
  } catch (thrown) {
    return rejected(thrown);
  }
}

async function rejected(thrown: unknown): Promise<never> {
  throw thrown;
}

/** A certificate adds nothing: a private authority signs for many purposes, a token is for this one. */
function admitted(credentials: Credentials, needed: Needed, book: Pick<TokenFile, 'find'>): Caller {
  const holder = holderOf(credentials.authorization, book);
  if (holder === undefined) throw unauthenticated('This call requires a token, and none was sent.');
  if (grants(holder.role, needed)) return holder;
  throw new MillraceError({
    code: 'forbidden',
    what: `The token of ${holder.name} has the role ${holder.role}; this call requires ${[needed].flat().join(' or ')}.`,
    todo: 'Use a token with that role.',
  });
}

/** The check that a gRPC server makes: it answers what the caller's sessions are bound to. */
export function rpcAccess(
  access: Access,
): (
  caller: { readonly authorization: string | null; readonly peer: Peer },
  needed: Role,
) => string | Promise<string> {
  return ({ authorization, peer }, needed) => {
    const shown = authorization === null ? { peer } : { peer, authorization };
    const caller = access.allow(shown, needed);
    return caller instanceof Promise ? caller.then(credentialOf) : credentialOf(caller);
  };
}

const credentialOf = ({ credential }: Caller): string => credential;

/** A token that is shown must be right, whatever else may speak for the caller. */
function holderOf(
  authorization: string | undefined,
  book: Pick<TokenFile, 'find'>,
): Caller | undefined {
  if (authorization === undefined || authorization === '') return undefined;
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
  if (token === undefined) throw unauthenticated('The Authorization header is not a bearer token.');
  const found = book.find(token);
  if (found === undefined) throw unauthenticated('The token is not valid on this server.');
  return found;
}

function unauthenticated(what: string): MillraceError {
  return new MillraceError({
    code: 'unauthenticated',
    what,
    todo: 'Send `Authorization: Bearer TOKEN`; commands take it from MILLRACE_TOKEN or --token-file.',
  });
}
