/** The token that a client or a node presents when it calls a server. */
import { MillraceError } from '../../scheduler/core/index.ts';
import { isLoopback } from './binding.ts';
import { localToken } from './local-token.ts';
import { grants, type Role } from './roles.ts';
import { readText } from './token-file.ts';
import { parseTokens, TOKEN_LENGTH_MIN } from './parse-tokens.ts';

/** MILLRACE_TOKEN if set; otherwise from the file: its only word, or, if it is a server's file, the first token in it
 * that allows `needed`, preferably one that allows nothing more. */
export function readToken(
  settings: { readonly token: string | undefined; readonly tokenFile: string | undefined },
  needed: Role,
): string | undefined {
  const { token, tokenFile } = settings;
  if (token !== undefined || tokenFile === undefined) return token;
  const text = readText(tokenFile).trim();
  if (!isTokenList(tokenFile)) {
    if (text.length >= TOKEN_LENGTH_MIN) return text;
    throw wrong(tokenFile, `its token has fewer than ${TOKEN_LENGTH_MIN} characters`);
  }
  const fitting = parseTokens(text, tokenFile).filter(({ role }) => grants(role, needed));
  const found = fitting.find(({ role }) => role === needed) ?? fitting[0];
  if (found === undefined) throw wrong(tokenFile, `it contains no token with the role ${needed}`);
  return found.token;
}

/** A token of exactly this role, from a server's file. It may be shown to an unknown peer, because it grants nothing
 * that the peer cannot do already. */
export function exactToken(tokenFile: string | undefined, role: Role): string | undefined {
  if (tokenFile === undefined) return undefined;
  if (!isTokenList(tokenFile)) return undefined;
  return parseTokens(readText(tokenFile), tokenFile).find((each) => each.role === role)?.token;
}

/** Whether it is a server's file, with roles, and not just one token. */
export function isTokenList(tokenFile: string): boolean {
  const text = readText(tokenFile).trim();
  return !/^[\x21-\x7e]+$/.test(text) || /^[[{]/.test(text);
}

export interface Showing {
  /** The token to show; null for none. */
  readonly token: string | null;
  /** Whether connections are encrypted. */
  readonly isEncrypted: boolean;
  /** Whether the network itself is trusted. */
  readonly insecure: boolean;
}

/** The credential for HOST:PORT. On this machine that is the given token, or else the one that a server of the same
 * user has left for it; elsewhere the given one, but never unencrypted. */
export function shownToken(showing: Showing): (address: string) => string | null {
  const { token, isEncrypted, insecure } = showing;
  const local = localTokens();
  let last: { readonly address: string; readonly port: number; readonly isHere: boolean } | null =
    null;
  return (address) => {
    // With each call, and nearly always to the same.
    if (last?.address !== address) {
      const at = address.lastIndexOf(':');
      const isHere = isLoopback(address.slice(0, at));
      last = { address, port: Number(address.slice(at + 1)), isHere };
    }
    if (!last.isHere) return isEncrypted || insecure ? token : null;
    return token ?? local(last.port);
  };
}

/** Files are looked at once a second, not with every call. */
function localTokens(): (port: number) => string | null {
  const known = new Map<number, { readonly token: string | null; readonly untilMs: number }>();
  return (port) => {
    const nowMs = performance.now();
    const before = known.get(port);
    if (before !== undefined && nowMs < before.untilMs) return before.token;
    const token = localToken(port);
    known.set(port, { token, untilMs: nowMs + LOOK_AGAIN_MS });
    return token;
  };
}

const LOOK_AGAIN_MS = 1_000;

/** Throws rather than send a token unencrypted to another machine. */
export function checkTokenPath(url: URL, insecure: boolean): void {
  if (url.protocol === 'https:' || insecure || isLoopback(url.hostname)) return;
  throw new MillraceError({
    code: 'bad_setting',
    what: `The token would be sent to ${url.host} unencrypted.`,
    todo: 'Use https://, a tunnel to 127.0.0.1, or --insecure if the network itself is trusted.',
  });
}

/** The value of the header `authorization`, in HTTP and in gRPC. */
export function bearer(token: string): string {
  return `Bearer ${token}`;
}

function wrong(path: string, why: string): MillraceError {
  return new MillraceError({
    code: 'bad_setting',
    what: `The token file ${path} is not valid: ${why}.`,
    todo: 'A token file for a client contains one token, or lines `role token [name]`.',
  });
}
