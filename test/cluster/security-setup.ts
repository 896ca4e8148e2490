import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';
import { millrace } from '../rig/cluster/command.ts';
import type { CommandResult } from '../rig/cluster/command.ts';

export const TOKENS = {
  admin: 'admin-secret-0123456789',
  submit: 'submit-secret-0123456789',
  read: 'read-secret-0123456789',
  worker: 'worker-secret-0123456789',
} as const;

/** All that any process of a test has said, to be searched for secrets. */
export class OutputLog {
  readonly #processes: TestProcess[] = [];
  readonly #said: CommandResult[] = [];

  start(args: readonly string[], environment: Record<string, string> = {}): TestProcess {
    const started = TestProcess.start(args, { environment });
    this.#processes.push(started);
    return started;
  }

  async run(
    args: readonly string[],
    environment: Record<string, string> = {},
  ): Promise<CommandResult> {
    const said = await millrace(args, environment);
    this.#said.push(said);
    return said;
  }

  /** Nobody may have said one of these. */
  expectSilenceOn(...secrets: readonly string[]): void {
    const texts = [
      ...this.#processes.map(({ output }) => output.text()),
      ...this.#said.flatMap(({ out, err }) => [out, err]),
    ];
    for (const text of texts) for (const secret of secrets) expect(text).not.toContain(secret);
  }
}

export async function surroundings(): Promise<{
  folder: string;
  database: string;
  log: OutputLog;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-security-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  return { folder, database: database.url, log: new OutputLog() };
}

export function tokenFile(folder: string): string {
  const file = join(folder, 'tokens');
  const lines = Object.entries(TOKENS).map(([role, token]) => `${role} ${token}`);
  writeFileSync(file, lines.join('\n'), { mode: 0o600 });
  return file;
}
