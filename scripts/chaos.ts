/**
 * `npm run chaos -- [--minutes M] [--seed S]`: real processes on a real PostgreSQL in bad faults, then the
 * audit. Ends with 1 when a rule was broken. The faults follow from the seed, their moments do not.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' } },
});

function positive(name: 'minutes' | 'seed', fallback: number): string {
  const number = Number(values[name] ?? fallback);
  if (Number.isFinite(number) && number > 0) return `${number}`;
  console.error(`--${name} must be a number above 0.`);
  process.exit(2);
}

const environment = {
  ...process.env,
  TEST_CHAOS_MINUTES: positive('minutes', 2),
  TEST_CHAOS_SEED: positive('seed', Math.ceil(Math.random() * 2 ** 31)),
};
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const args = [vitest, 'run', '--mode=full', 'test/cluster/soak.full.test.ts'];
const run = spawn(process.execPath, args, { cwd: root, env: environment, stdio: 'inherit' });
// The signal of the terminal reaches the child as well; this process waits for it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => run.kill(signal));
const [code] = (await once(run, 'exit')) as [number | null];
process.exitCode = code ?? 1;
