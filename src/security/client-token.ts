/** The other side of a token: what a client or a node shows when it calls a server. */
import { MillraceError } from '../core/index.ts';
import { grants, type Role } from './roles.ts';
import { readText } from './token-book.ts';
import { parseTokens, TOKEN_LENGTH_MIN } from './tokens.ts';

/**
 * MILLRACE_TOKEN if set; else from the file: its only word, or, if it is a server's file, the first token in
 * it that may do what is `needed`. Preferably one that may do no more.
 */
export function readToken(
  settings: { readonly token: string | undefined; readonly tokenFile: string | undefined },
  needed: Role,
): string | undefined {
  const { token, tokenFile } = settings;
  if (token !== undefined || tokenFile === undefined) return token;
  const text = readText(tokenFile).trim();
  if (/^[\x21-\x7e]+$/.test(text) && !/^[[{]/.test(text)) {
    if (text.length >= TOKEN_LENGTH_MIN) return text;
    throw wrong(tokenFile, `its token has less than ${TOKEN_LENGTH_MIN} characters`);
  }
  const fitting = parseTokens(text, tokenFile).filter(({ role }) => grants(role, needed));
  const found = fitting.find(({ role }) => role === needed) ?? fitting[0];
  if (found === undefined) throw wrong(tokenFile, `it holds no token with the role ${needed}`);
  return found.token;
}

/**
 * A token of just this role, from a server's file: one that may be shown to somebody who is not
 * known yet, because it lets nobody do more than he can do already.
 */
export function exactToken(tokenFile: string | undefined, role: Role): string | undefined {
  if (tokenFile === undefined) return undefined;
  const text = readText(tokenFile);
  if (/^\s*[\x21-\x7e]+\s*$/.test(text) && !/^\s*[[{]/.test(text)) return undefined;
  return parseTokens(text, tokenFile).find((each) => each.role === role)?.token;
}

/** The value of the header `authorization`, in HTTP and in gRPC. */
export function bearer(token: string): string {
  return `Bearer ${token}`;
}

function wrong(path: string, why: string): MillraceError {
  return new MillraceError({
    code: 'bad_setting',
    what: `The token file ${path} is wrong: ${why}.`,
    todo: 'A file for a client holds one token, or lines `role token [name]`.',
  });
}
