/** The text of a token file. Errors name the place and never the content: any word of it may be a secret. */
import { MillraceError } from '../../scheduler/core/index.ts';
import { isRole, type Role, ROLES } from './roles.ts';

export interface Token {
  readonly role: Role;
  readonly token: string;
  /** Who shows it, for logs; made of role and place if the file does not say. */
  readonly name: string;
}

export const TOKEN_LENGTH_MIN = 16;

/** Lines `role token [name]` with `#` for comments, or JSON: a list of `{role, token, name?}`. */
export function parseTokens(text: string, path: string): readonly Token[] {
  const isJson = /^\s*[[{]/.test(text);
  const tokens = isJson ? fromJson(text, path) : fromLines(text, path);
  if (tokens.length === 0) refuse(path, 'it contains no token, so no client could use this server');
  const seen = new Set<string>();
  for (const [index, { token }] of tokens.entries()) {
    if (seen.has(token)) refuse(path, `token ${index + 1} is a duplicate`);
    seen.add(token);
  }
  return tokens;
}

function fromLines(text: string, path: string): Token[] {
  return text.split('\n').flatMap((line, index) => {
    const words = line.trim().split(/\s+/);
    if (line.trim() === '' || line.trim().startsWith('#')) return [];
    const where = `line ${index + 1}`;
    if (words.length > 3) refuse(path, `${where} has more than role, token and name`);
    return [checked(words[0], words[1], words[2], where, path)];
  });
}

function fromJson(text: string, path: string): Token[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    refuse(path, 'it is not valid JSON');
  }
  const list = Array.isArray(value) ? value : (value as { readonly tokens?: unknown }).tokens;
  if (!Array.isArray(list)) refuse(path, 'it must be a list of {role, token, name}');
  return list.map((entry: unknown, index) => {
    const where = `entry ${index + 1}`;
    if (typeof entry !== 'object' || entry === null) refuse(path, `${where} must be an object`);
    const { role, token, name } = entry as Readonly<Record<string, unknown>>;
    return checked(role, token, name, where, path);
  });
}

function checked(role: unknown, token: unknown, name: unknown, where: string, path: string): Token {
  if (!isRole(role)) refuse(path, `${where} does not begin with a role (${ROLES.join(', ')})`);
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    refuse(path, `${where} has no token, or one with characters that are not allowed in a header`);
  }
  if (token.length < TOKEN_LENGTH_MIN) {
    refuse(path, `the token in ${where} has fewer than ${TOKEN_LENGTH_MIN} characters`);
  }
  if (name !== undefined && typeof name !== 'string')
    refuse(path, `the name in ${where} is not text`);
  return { role, token, name: name ?? `${role} (${where})` };
}

function refuse(path: string, why: string): never {
  throw new MillraceError({
    code: 'bad_setting',
    what: `The token file ${path} is not valid: ${why}.`,
    todo: 'Use lines such as `submit A-LONG-RANDOM-TOKEN ci`.',
  });
}
