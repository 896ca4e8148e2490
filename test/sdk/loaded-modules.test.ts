/** What a program loads when it imports one of the package's entry points, seen by a process that does only that. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);

/** Hooks of the module loader run on a thread of their own and tell what they load. */
const HOOKS = `
  let port;
  export const initialize = (data) => void (port = data);
  export const load = (url, context, next) => (port.postMessage(url), next(url, context));`;
const PROGRAM = `
  import { createRequire, register } from 'node:module';
  import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
  const { port1, port2 } = new MessageChannel();
  const hooks = 'data:text/javascript,' + encodeURIComponent(${JSON.stringify(HOOKS)});
  register(hooks, { parentURL: import.meta.url, data: port2, transferList: [port2] });
  await import(process.argv[1]);
  const urls = new Set(Object.keys(createRequire(process.argv[1]).cache));
  for (let next; (next = receiveMessageOnPort(port1)) !== undefined; ) urls.add(next.message);
  console.log(JSON.stringify([...urls]));
  process.exit(0);`;

interface Loaded {
  readonly packages: readonly string[];
  /** Folders of our own code, such as `scheduler/core`. */
  readonly rooms: readonly string[];
}

async function loadedBy(entry: string): Promise<Loaded> {
  const file = new URL(`dist/${entry}.js`, ROOT).href;
  const args = ['--input-type=module', '--eval', PROGRAM, file];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const urls = JSON.parse(stdout) as readonly string[];
  const found = (pattern: RegExp): string[] =>
    [...new Set(urls.flatMap((url) => pattern.exec(url)?.[1] ?? []))].toSorted();
  return {
    packages: found(/node_modules\/((?:@[^/]+\/)?[^/]+)/),
    rooms: found(/\/dist\/((?:(?:scheduler|tasks|sql|edge|node)\/)?[^/]+)\//),
  };
}

test('the program sees what is loaded: a worker loads gRPC once it is opened, not before', async () => {
  expect((await loadedBy('node/worker/open-worker')).packages).toContain('@grpc/grpc-js');
  expect((await loadedBy('node/worker/index')).packages).toEqual([]);
});

test('millrace loads the client and what defines work, and one package', async () => {
  expect(await loadedBy('client/millrace')).toEqual({
    packages: ['uuidv7'],
    rooms: [
      ...['client', 'edge/local', 'edge/security', 'kit', 'node/thread'],
      ...['scheduler/contract', 'scheduler/core', 'tasks/executors', 'tasks/flow'],
    ],
  });
});

test('millrace/testing loads no gRPC and no database', async () => {
  const { packages, rooms } = await loadedBy('testing/index');
  expect(packages).toEqual(['croner', 'uuidv7']);
  expect(rooms).not.toContain('edge/grpc');
});

test('the HTTP client that the command line uses loads neither flows nor executors', async () => {
  expect((await loadedBy('client/index')).rooms).toEqual(
    expect.not.arrayContaining(['tasks/flow', 'tasks/executors', 'edge/grpc']),
  );
});
