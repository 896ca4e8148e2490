/** `millrace dev`: workers that follow the code, and a whole cluster on one machine. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { TestClient } from '../rig/cluster/client.ts';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';

export const LIMIT_MS = 60_000;

export interface DevSession {
  readonly dev: TestProcess;
  readonly temporary: string;
  readonly client: TestClient;
  /** What a handler answers now. */
  readonly answer: (executor?: 'say' | 'who') => Promise<unknown>;
  /** Saves the file that the module imports. */
  readonly save: (text: string) => void;
  readonly printed: (pattern: RegExp) => Promise<unknown>;
}

export async function startDev(kind: 'single' | 'cluster'): Promise<DevSession> {
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
