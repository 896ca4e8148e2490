/** `millrace up` in a folder of its own, for tests of a single node. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { openDuckdbStore } from '../../../src/scheduler/store/index.ts';
import { expectCleanAudit } from './audit.ts';
import { TestClient } from './client.ts';
import { millrace } from './command.ts';
import type { CommandResult } from './command.ts';
import { EFFECTS_FILE, EffectsLog } from './effects-log.ts';
import { settingsEnvironment } from './environment.ts';
import { freePort } from './free-port.ts';
import { TestProcess } from './process.ts';

const MODULE = fileURLToPath(
  new URL('../../../dist/rig/cluster/modules/fault-handlers.js', import.meta.url),
);

export interface Single {
  readonly data: string;
  readonly url: string;
  readonly effects: EffectsLog;
  readonly client: TestClient;
  file(name: string): string;
  start(environment?: Readonly<Record<string, string>>): TestProcess;
  /** A command against it. */
  run(...args: string[]): Promise<CommandResult>;
}

/** `millrace up` in a folder of its own, not started yet. */
export async function single(): Promise<Single> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-up-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const data = join(folder, 'data');
  const [port, grpcPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const effects = new EffectsLog(join(folder, 'effects'));
  const args = ['--port', `${port}`, '--grpc-port', `${grpcPort}`, '--node-id', 'solo'];
  return {
    data,
    url,
    effects,
    client: new TestClient(() => [url]),
    file: (name) => join(folder, name),
    start: (environment = {}) =>
      TestProcess.start(['up', '--data', data, ...args, '--module', MODULE], {
        environment: { ...settingsEnvironment(), [EFFECTS_FILE]: effects.file, ...environment },
      }),
    run: (name = '', ...rest) => millrace([name, '--server', url, ...rest]),
  };
}

export async function expectCleanFolder({ data, client }: Single): Promise<void> {
  const store = await openDuckdbStore({ path: join(data, 'millrace.duckdb') });
  try {
    await expectCleanAudit(store, client.acknowledged);
  } finally {
    await store.close();
  }
}
