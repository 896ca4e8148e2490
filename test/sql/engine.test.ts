/** The compiled engine, as users have it: from a thread, and when its parent is killed. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const INDEX = pathToFileURL(join(import.meta.dirname, '../../dist/sql/engine/index.js')).href;

/** Warms an engine and stays. */
function program(spillFolder: string): string {
  const limits = {
    memoryBytes: 2 ** 27,
    threads: 1,
    spillFolder,
    spillBytesMax: 2 ** 27,
  };
  return `import(${JSON.stringify(INDEX)}).then(async ({ startRowEngine }) => {
    const engine = startRowEngine(${JSON.stringify(limits)});
    const version = await engine.warm();
    process.stdout.write(version + '\\n');
    setInterval(() => {}, 1000);
  })`;
}

async function gone(pid: number): Promise<void> {
  while (isThere(pid)) await new Promise(setImmediate);
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test.each(['a process', 'a thread'])(
  'an engine that was started from %s ends with it, and leaves no folder behind',
  async (where) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-engine-'));
    const spill = join(folder, 'spill');
    const inThread = `new (require('node:worker_threads').Worker)(${JSON.stringify(program(spill))}, { eval: true })`;
    const code = where === 'a thread' ? inThread : program(spill);
    const parent = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [said] = (await once(parent.stdout, 'data')) as [Buffer];
      expect(said.toString()).toBe('v1.5.6\n');
      const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(parent.pid)]).toString();
      const child = Number(children.trim());
      expect(isThere(child)).toBe(true);
      parent.kill('SIGKILL');
      await gone(child);
      expect(readdirSync(spill)).toEqual([]);
    } finally {
      parent.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test('an idle engine does not keep its process alive', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-engine-'));
  const code = program(join(folder, 'spill')).replace('setInterval(() => {}, 1000);', '');
  const parent = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  expect(await once(parent, 'exit')).toEqual([0, null]);
  rmSync(folder, { recursive: true, force: true });
});
