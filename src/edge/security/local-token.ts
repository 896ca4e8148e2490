/**
 * Tokens that processes of one user find by themselves. A server or worker that listens on loopback without a token
 * file generates a token and puts it into a folder that only its user can read, under the number of its port. Clients
 * of the same user look there. It lives as long as the process: no other process can listen on that port meanwhile,
 * so the token is never shown to a stranger who took the port over.
 */
import { randomBytes } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isAlive } from '../../kit/index.ts';

export interface LocalToken {
  readonly token: string;
  /** The first file that holds it; null before it was published, or where it could not be. */
  readonly path: () => string | null;
  publish(port: number): void;
  withdraw(): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function makeLocalToken(environment: Environment = process.env): LocalToken {
  const token = randomBytes(24).toString('base64url');
  const written: string[] = [];
  return {
    token,
    path: () => written[0] ?? null,
    publish(port) {
      // Once more: another process may have removed the folder in between, with its own token.
      const path = publishIn(environment, port, token) ?? publishIn(environment, port, token);
      if (path !== null) written.push(path);
    },
    withdraw() {
      for (const path of written.splice(0)) {
        rmSync(path, { force: true });
        rmSync(path.replace(/\.token$/, '.pid'), { force: true });
        removeIfEmpty(dirname(path));
      }
    },
  };
}

/** The file; null where there is no private folder, or none could be written. An error then says what else to do. */
function publishIn(environment: Environment, port: number, token: string): string | null {
  const folder = ownFolders(environment).find(isPrivate);
  if (folder === undefined) return null;
  const path = join(folder, `${port}.token`);
  try {
    sweep(folder);
    // Never through a file that is there: it may be open to others, or be a link.
    rmSync(path, { force: true });
    writeFileSync(path, token, { mode: 0o600, flag: 'wx' });
    writeFileSync(join(folder, `${port}.pid`), String(process.pid), { mode: 0o600 });
    return path;
  } catch {
    return null;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Others of this user have theirs there.
  }
}

/** The token of the process of this user that listens on a port of loopback; null when there is none. */
export function localToken(port: number, environment: Environment = process.env): string | null {
  for (const folder of ownFolders(environment)) {
    if (!isOurs(folder)) continue;
    try {
      if (!isAlive(Number(readFileSync(join(folder, `${port}.pid`), 'utf8')))) continue;
      return readFileSync(join(folder, `${port}.token`), 'utf8');
    } catch {
      // Not here.
    }
  }
  return null;
}

/** The folder that systems give each login, and one that every system has. */
function ownFolders({ XDG_RUNTIME_DIR: runtime }: Environment): readonly string[] {
  const userId = process.geteuid?.();
  return [
    ...(runtime === undefined || runtime === '' ? [] : [join(runtime, 'millrace')]),
    join(tmpdir(), userId === undefined ? 'millrace-local' : `millrace-local-${userId}`),
  ];
}

/** Created if it does not exist. A folder of another user is not used. */
function isPrivate(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It may be there, or its parent may not.
  }
  return isOurs(folder);
}

function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return false;
  const userId = process.geteuid?.();
  return userId === undefined || (found.uid === userId && (found.mode & 0o077) === 0);
}

/** Processes that were killed leave theirs. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, port] = /^(\d+)\.pid$/.exec(name) ?? [];
    if (port === undefined) continue;
    try {
      if (isAlive(Number(readFileSync(join(folder, name), 'utf8')))) continue;
      rmSync(join(folder, `${port}.token`), { force: true });
      rmSync(join(folder, name), { force: true });
    } catch {
      // Another process has swept it.
    }
  }
}
