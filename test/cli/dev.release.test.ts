/** `millrace dev`: workers that follow the code, and a whole cluster on one machine. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { within } from '../rig/cluster/deadline.ts';
import type { SseEvent } from '../rig/cluster/sse.ts';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestClient } from '../rig/cluster/client.ts';
import { TestProcess } from '../rig/cluster/process.ts';

const LIMIT_MS = 60_000;

interface DevSession {
  readonly dev: TestProcess;
  readonly temporary: string;
  readonly client: TestClient;
  /** What a handler answers now. */
  readonly answer: (executor?: 'say' | 'who') => Promise<unknown>;
  /** Saves the file that the module imports. */
  readonly save: (text: string) => void;
  readonly printed: (pattern: RegExp) => Promise<unknown>;
}

async function startDev(kind: 'single' | 'cluster'): Promise<DevSession> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-dev-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  // Root runs the database as somebody else, who has to get there.
  chmodSync(folder, 0o711);
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const module = join(folder, 'tasks.ts');
  const save = (text: string): void => writeFileSync(join(folder, 'part.ts'), text);
  save(`export const word: string = 'one';`);
  writeFileSync(
    module,
    `import { word } from './part.ts';
     export const say = { kind: 'millrace.task' as const, name: 'say', run: () => word };
     export const who = { kind: 'millrace.task' as const, name: 'who', run: () => process.pid };`,
  );
  const ports = ['--port', '0', '--grpc-port', '0'];
  const flags = kind === 'cluster' ? ['--cluster'] : ['--data', join(folder, 'data')];
  const dev = TestProcess.start(['dev', '--module', module, ...ports, ...flags], {
    environment: { TMPDIR: temporary },
  });
  const printed = (pattern: RegExp): Promise<unknown> =>
    within(LIMIT_MS, dev.output.line(pattern, 'stderr'), () => dev.output.text());
  const [, url = ''] = await dev.line(/^millrace ready (\S+)$/, LIMIT_MS);
  const client = new TestClient(() => [url]);
  const answer = async (executor = 'say'): Promise<unknown> => {
    const { id } = await client.submit({ tasks: [{ id: 'a', executor }] });
    const { tasks } = await client.waitForJob(id);
    return (tasks[0] as { readonly result: unknown }).result;
  };
  return { dev, temporary, client, answer, save, printed };
}

vi.setConfig({ testTimeout: 180_000 });

test('dev runs new code once it is saved, and keeps the old worker while the new code is broken', async () => {
  const { dev, answer, save, printed } = await startDev('single');
  expect(await answer()).toBe('one');
  save(`export const word: string = 'two';`);
  await printed(/part\.ts changed: starting a new worker/);
  await printed(/millrace reloaded in/);
  expect(await answer()).toBe('two');
  save('export const word: string = ;');
  await printed(/millrace did not reload/);
  expect(dev.output.text()).toMatch(/tasks\.ts cannot be loaded/);
  expect(await answer()).toBe('two');
  expect(await dev.stop()).toEqual({ code: 0, signal: null });
});

/** Each worker that follows another one in its place is numbered. */
const isSuccessor = ({ event, data }: SseEvent): boolean =>
  event === 'node.registered' && (JSON.parse(data) as { node: string }).node.endsWith('.2');

test('dev has reloaded only when the old worker takes nothing more', async () => {
  const { dev, client, answer, save, printed } = await startDev('single');
  const old = (await answer('who')) as number;
  process.kill(old, 'SIGSTOP');
  save(`export const word: string = 'two';`);
  await printed(/part\.ts changed: starting a new worker/);
  await client.waitForEvent(isSuccessor);
  // The new one has long said that it is ready when these are answered.
  for (let round = 0; round < 20; round += 1) await client.nodes();
  expect(dev.output.text()).not.toContain('millrace reloaded');
  process.kill(old, 'SIGCONT');
  await printed(/millrace reloaded in/);
  expect(await answer()).toBe('two');
  expect(await dev.stop()).toEqual({ code: 0, signal: null });
});

test('dev --cluster is a database, two nodes and two workers that follow the code, and nothing of it stays', async () => {
  const { dev, temporary, answer, save, printed } = await startDev('cluster');
  expect(await answer()).toBe('one');
  save(`export const word: string = 'two';`);
  await printed(/millrace reloaded in/);
  expect(await answer()).toBe('two');
  dev.kill('SIGINT');
  expect(await within(LIMIT_MS, dev.exited, () => dev.output.text())).toEqual({
    code: 0,
    signal: null,
  });
  expect(readdirSync(temporary).filter((name) => name.startsWith('millrace-'))).toEqual([]);
});
