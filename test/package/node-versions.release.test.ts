/** The package as npm packs it, installed into an empty project, on each Node.js that it supports. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../rig/cluster/free-port.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';

// npm fetches Node.js, and a busy machine runs real processes.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const VERSIONS = [20, 22, 24];
const LIMIT_MS = 90_000;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const FILES: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "shop", "private": true, "type": "module" }\n',
  'flow.ts': `import { defineFlow, defineTask } from 'millrace';
export const double = defineTask({ name: 'double', run: (n: number): number => n * 2 });
export const flow = defineFlow({
  name: 'twice',
  build: ({ task }) => {
    const first = task('first', double, 21);
    return { answer: task('second', double, first) };
  },
});
export default flow;
`,
  'embedded.mjs': `import { createRuntime, defineFlow, defineTask } from 'millrace';
const greet = defineTask({ name: 'greet', run: (name) => 'hello ' + name });
const runtime = await createRuntime({ store: 'memory' });
const flow = defineFlow({ name: 'greeting', build: ({ task }) => task('a', greet, 'tea') });
console.log(await (await runtime.submit(flow)).result());
await runtime.close();
`,
  'slow.ts': `import { existsSync, writeFileSync } from 'node:fs';
import { defineTask } from 'millrace';
/** The first attempt never ends. */
export const once = defineTask({
  name: 'once',
  run: (mark: string, ctx) => {
    if (existsSync(mark)) return 'attempt ' + ctx.attempt;
    writeFileSync(mark, 'held');
    console.log('held');
    return new Promise<string>(() => {});
  },
});
`,
  'job.json': '{ "tasks": [{ "id": "a", "executor": "once", "input": "mark" }] }',
};

const folder = mkdtempSync(join(tmpdir(), 'millrace-package-'));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const execute = promisify(execFile);

/** npm itself, to be run by any Node.js. */
function npmScript(): string {
  const beside = join(dirname(process.execPath), '../lib/node_modules/npm/bin/npm-cli.js');
  const running = process.env['npm_execpath'];
  const found = [beside, running].find((path) => path?.endsWith('.js') && existsSync(path));
  if (found === undefined) throw new Error('npm was not found: run this test with npm.');
  return found;
}

async function npm(node: string, ...args: readonly string[]): Promise<string> {
  const flags = ['--no-audit', '--no-fund', '--loglevel=error'];
  const { stdout } = await execute(node, [npmScript(), ...args, ...flags], {
    env: { ...process.env, PATH: [dirname(node), process.env['PATH']].join(delimiter) },
    cwd: folder,
  });
  return stdout;
}

let packed: string;
beforeAll(async () => {
  const pack = ['pack', ROOT, '--ignore-scripts', '--json', '--pack-destination', folder];
  const [{ filename }] = JSON.parse(await npm(process.execPath, ...pack)) as [
    { readonly filename: string },
  ];
  packed = join(folder, filename);
});

describe.each(VERSIONS)('on Node.js %i', (version) => {
  const project = join(folder, `project-${version}`);
  let node: string;

  beforeAll(async () => {
    const binary = `node-${platform()}-${arch()}`;
    const home = join(folder, `node-${version}`);
    await npm(process.execPath, 'install', '--prefix', home, `${binary}@${version}`);
    node = join(home, 'node_modules', binary, 'bin/node');
    mkdirSync(join(project, 'tmp'), { recursive: true });
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(project, name), text);
    await npm(node, 'install', '--prefix', project, packed);
  });

  function start(script: string, ...args: readonly string[]): TestProcess {
    const environment = { TMPDIR: join(project, 'tmp') };
    return TestProcess.start(args, {
      node,
      script: join(project, script),
      folder: project,
      environment,
    });
  }
  const millrace = (...args: readonly string[]): TestProcess =>
    start('node_modules/millrace/bin/millrace.js', ...args);
  async function ended(process: TestProcess): Promise<string> {
    expect([await process.exited, process.output.text()]).toMatchObject([{ code: 0 }, {}]);
    return process.output.lines
      .filter(({ from }) => from === 'stdout')
      .map(({ text }) => text)
      .join('\n');
  }

  test('it is that Node.js', async () => {
    const { stdout } = await execute(node, ['--version']);
    expect(stdout).toMatch(new RegExp(`^v${version}\\.`));
  });

  test('the demo runs', async () => {
    expect(await ended(millrace('demo'))).toMatch(/kill -9/);
  });

  test('a flow in TypeScript runs', async () => {
    expect(JSON.parse(await ended(millrace('run', 'flow.ts')))).toEqual({ answer: 84 });
  });

  test('a runtime runs inside a program', async () => {
    expect(await ended(start('embedded.mjs'))).toBe('hello tea');
  });

  test('a cluster finishes a job whose worker is killed', async () => {
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    const [http, grpc] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${http}`;
    const server = millrace(
      ...['serve', '--database', database.url, '--slots', '0', '--port', `${http}`],
      ...['--grpc-port', `${grpc}`],
    );
    await server.line(/^millrace ready /, LIMIT_MS);
    const startWorker = async (id: string): Promise<TestProcess> => {
      const to = ['--server', `127.0.0.1:${grpc}`, '--node-id', id, '--module', 'slow.ts'];
      const worker = millrace('worker', ...to);
      await worker.line(new RegExp(`^millrace worker ready ${id}$`), LIMIT_MS);
      return worker;
    };
    const first = await startWorker('w-1');
    const submit = millrace('submit', 'job.json', '--wait', '--json', '--server', url);
    await first.line(/^held$/, LIMIT_MS);
    await first.crash();
    const second = await startWorker('w-2');
    const job = JSON.parse(await ended(submit)) as object;
    expect(job).toMatchObject({ state: 'succeeded', tasks: [{ result: 'attempt 2', attempt: 2 }] });
    expect(await second.stop()).toMatchObject({ code: 0 });
    expect(await server.stop()).toMatchObject({ code: 0 });
  });
});
