/** Access to a server on loopback without a token file: the user who started it, root, and callers with the token that
 * the server has put where only that user can read it. */
import { timingSafeEqual } from 'node:crypto';
import { MillraceError } from '../../scheduler/core/index.ts';
import { type Access, type Caller, type Credentials, orRejected } from './access.ts';
import { peerOwners, type OwnerOf } from './peer-owner.ts';
import { digestOf } from './token-file.ts';

export interface OwnUserOptions {
  /** What the server's own user may show instead; errors name its file. */
  readonly token: string;
  readonly tokenPath: () => string | null;
  readonly ownerOf?: OwnerOf;
  /** The user of this process; null on systems without user ids. */
  readonly userId?: number | null;
}

const ROOT = 0;

export function ownUserAccess(options: OwnUserOptions): Access {
  const { ownerOf = peerOwners(), userId = process.geteuid?.() ?? null } = options;
  const digest = digestOf(options.token);
  const judged = (owner: number | null): Caller => {
    if (owner !== null && (owner === userId || owner === ROOT)) return OWN_USER;
    throw refusal(owner, userId, options.tokenPath());
  };
  return {
    scope: 'own user',
    allow(credentials) {
      // A wrong token is not a reason to refuse this user: it may be meant for another server.
      if (showsToken(credentials, digest)) return OWN_USER;
      const owner = credentials.peer === undefined ? null : ownerOf(credentials.peer);
      return owner instanceof Promise ? owner.then(judged) : orRejected(() => judged(owner));
    },
  };
}

const OWN_USER: Caller = { name: 'the user of this server', role: 'admin', credential: 'own user' };

function showsToken({ authorization }: Credentials, digest: Buffer): boolean {
  if (authorization === undefined) return false;
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
  return token !== undefined && timingSafeEqual(digest, digestOf(token));
}

function refusal(owner: number | null, userId: number | null, path: string | null): MillraceError {
  const isOther = owner !== null;
  const file = path === null ? '' : `send \`Authorization: Bearer $(cat ${path})\`, or `;
  return new MillraceError({
    code: 'unauthenticated',
    what: 'This server has no tokens and serves only the user who started it.',
    why: isOther
      ? `The connection belongs to user ${owner}, and the server runs as user ${userId ?? 'unknown'}.`
      : 'This operating system does not report the user of a connection.',
    todo: isOther
      ? 'Run the command as that user, or start the server with --token-file and send a token.'
      : `As that user ${file}start the server with --token-file and send a token.`,
  });
}
