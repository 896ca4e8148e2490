import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isMillraceError, MillraceError } from '../../scheduler/core/index.ts';
import { type Clock, systemClock } from '../../kit/index.ts';
import type { Role } from './roles.ts';
import { parseTokens } from './parse-tokens.ts';

export interface TokenFileOptions {
  readonly path: string;
  /** Takes sentences without secrets. */
  readonly warn: (sentence: string) => void;
  readonly clock?: Clock;
}

interface KnownToken {
  readonly digest: Buffer;
  readonly role: Role;
  readonly name: string;
}

interface Holder {
  readonly role: Role;
  readonly name: string;
  /** A digest of the token. */
  readonly credential: string;
}

const LOOK_AGAIN_MS = 1_000;

/** The tokens of a file, as digests only. A changed file is read again; an invalid or missing one is reported and
 * changes nothing, so that a slip in an editor locks nobody out. */
export class TokenFile {
  readonly #path: string;
  readonly #warn: (sentence: string) => void;
  readonly #clock: Clock;
  #known: readonly KnownToken[] = [];
  #version: string;
  #lookedAtMs: number;

  constructor({ path, warn, clock = systemClock }: TokenFileOptions) {
    this.#path = path;
    this.#warn = warn;
    this.#clock = clock;
    this.#version = this.#look();
    this.#lookedAtMs = clock.monotonicMs();
    this.#known = this.#read();
  }

  /** Takes the same time for every token: all digests are compared, and they have one length. */
  find(token: string): Holder | undefined {
    this.#refresh();
    const shown = digestOf(token);
    let found: KnownToken | undefined;
    for (const known of this.#known) if (timingSafeEqual(known.digest, shown)) found = known;
    if (found === undefined) return undefined;
    return { role: found.role, name: found.name, credential: found.digest.toString('hex') };
  }

  #refresh(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedAtMs < LOOK_AGAIN_MS) return;
    this.#lookedAtMs = nowMs;
    const version = this.#look();
    if (version === this.#version) return;
    // Noted first: an invalid file is reported once, not every second.
    this.#version = version;
    try {
      this.#known = this.#read();
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      this.#warn(`${error.what} The previous tokens stay valid.`);
    }
  }

  /** Changes whenever the file does: also when it is replaced within one tick of the file system's clock. */
  #look(): string {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    return found ? [found.mtimeMs, found.ctimeMs, found.size, found.ino].join(' ') : 'not there';
  }

  #read(): readonly KnownToken[] {
    const text = readText(this.#path);
    if (process.platform !== 'win32' && (statSync(this.#path).mode & 0o004) !== 0) {
      this.#warn(
        `The token file ${this.#path} is readable by every user of this machine. Run chmod 600 on it.`,
      );
    }
    return parseTokens(text, this.#path).map(({ token, role, name }) => ({
      digest: digestOf(token),
      role,
      name,
    }));
  }
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new MillraceError({
      code: 'bad_setting',
      what: `The token file ${path} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}.`,
      todo: 'Set it with --token-file or MILLRACE_TOKEN_FILE.',
    });
  }
}

export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
