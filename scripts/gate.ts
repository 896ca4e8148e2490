/**
 * `npm test`: everything that has to hold before a change is taken, in one run with one verdict.
 * `npm run test:release` runs the tests named `*.release.test.ts` on what `npm test` has built.
 * The last line counts the checks and the tests: `N passed, N failed`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { measureCoverage, reportCoverage } from './coverage.ts';

const root = join(import.meta.dirname, '..');
const output = join(root, 'coverage');
const children = join(output, 'children');
const results = join(output, 'results.json');
const searchPath = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);
const full = process.argv.includes('--full');
const release = process.argv.includes('--release');
/** Measuring makes tests of processes a third slower, so it is asked for. */
const measures = process.argv.includes('--coverage');

let running: ChildProcess | undefined;
let passed = 0;
let failed = 0;

/** Each step is the leader of a process group, so that its own children end with it. */
function endRunningStep(signal: NodeJS.Signals): void {
  if (running?.pid === undefined || running.exitCode !== null) return;
  try {
    process.kill(-running.pid, signal);
  } catch {
    // Gone in the meantime.
  }
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    endRunningStep('SIGTERM');
    setTimeout(() => {
      endRunningStep('SIGKILL');
      process.exit(130);
    }, 3000).unref();
    running?.once('exit', () => process.exit(130));
  });
}

async function check(name: string, verify: () => boolean | Promise<boolean>): Promise<void> {
  console.log(`\n--- ${name}`);
  const startedMs = performance.now();
  const ok = await verify();
  if (ok) passed += 1;
  else failed += 1;
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`--- ${name}: ${ok ? 'ok' : 'FAILED'} (${seconds} s)`);
}

async function step(
  command: string,
  args: string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<boolean> {
  running = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
    env: { ...process.env, PATH: searchPath, ...env },
  });
  const [code] = (await once(running, 'exit')) as [number | null];
  return code === 0;
}

async function tests(): Promise<boolean> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`];
  const mode = full ? ['--mode=full'] : release ? ['--mode=release'] : [];
  const scope = [...mode, ...(measures ? ['--coverage'] : [])];
  const env = measures ? { TEST_CHILD_COVERAGE: children } : {};
  const ok = await step('vitest', ['run', ...scope, ...reporters], env);
  if (!existsSync(results)) return false;
  const counts = JSON.parse(readFileSync(results, 'utf8')) as {
    numPassedTests: number;
    numFailedTests: number;
  };
  passed += counts.numPassedTests;
  failed += counts.numFailedTests;
  return ok;
}

function coverage(): boolean {
  const measured = join(output, 'tests', 'coverage-final.json');
  if (!existsSync(measured)) return false;
  return reportCoverage(measureCoverage(root, measured, children), console.log);
}

rmSync(output, { recursive: true, force: true });
await check('build', () => step('npm', ['run', '--silent', 'build']));
if (!release) {
  await check('lint', () => step('oxlint'));
  await check('format', () => step('oxfmt', ['--check']));
  await check('unused code', () => step('knip'));
}
await check('tests', tests);
if (measures) await check('coverage', coverage);

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
