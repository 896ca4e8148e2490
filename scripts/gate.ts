/**
 * `npm test`: everything that has to hold before a change is taken, in one run with one verdict.
 * `npm run test:release` runs the tests named `*.release.test.ts` on what `npm test` has built.
 * The last line counts the checks and the tests: `N passed, N failed`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { measureCoverage, reportCoverage } from './coverage.ts';

interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly startTime: number;
  readonly endTime: number;
}

interface TestResults {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly FileResult[];
}

const root = join(import.meta.dirname, '..');
const output = join(root, 'coverage');
const children = join(output, 'children');
const results = join(output, 'results.json');
const repeated = join(output, 'repeated.json');
const searchPath = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);
const full = process.argv.includes('--full');
const release = process.argv.includes('--release');
/** Paths of tests, for those of `npm run test:release -- PATH...`; all if there are none. */
const only = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
/** Measuring makes tests of processes a third slower, so it is asked for. */
const measures = process.argv.includes('--coverage');
const slowestShown = 10;
/** More failures than this are not the machine's. */
const repeatedFiles = 3;

const running: Set<ChildProcess> = new Set();
let passed = 0;
let failed = 0;

/** Each step is the leader of a process group, so that its own children end with it. */
function endSteps(signal: NodeJS.Signals): void {
  for (const { pid } of running) {
    if (pid === undefined) continue;
    try {
      process.kill(-pid, signal);
    } catch {
      // Gone in the meantime.
    }
  }
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    endSteps('SIGTERM');
    setTimeout(() => {
      endSteps('SIGKILL');
      process.exit(130);
    }, 3000).unref();
    const ends = [...running].map((step) => once(step, 'exit'));
    void Promise.all(ends).then(() => process.exit(130));
  });
}

/** Runs a check whose output is not shown before its end, so that it may run beside others. */
async function check(
  name: string,
  verify: (print: (text: string) => void) => boolean | Promise<boolean>,
): Promise<void> {
  const startedMs = performance.now();
  let printed = '';
  const ok = await verify((text) => {
    printed += text;
  });
  if (ok) passed += 1;
  else failed += 1;
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  if (printed !== '') console.log(`\n--- ${name}\n${printed.trimEnd()}`);
  console.log(`--- ${name}: ${ok ? 'ok' : 'FAILED'} (${seconds} s)`);
}

interface StepOptions {
  /** Takes what the command prints; without it, the command prints for itself. */
  readonly print?: (text: string) => void;
  readonly env?: NodeJS.ProcessEnv;
}

async function step(command: string, args: string[], options: StepOptions = {}): Promise<boolean> {
  const { print, env = {} } = options;
  const out = print === undefined ? 'inherit' : 'pipe';
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', out, out],
    detached: true,
    env: { ...process.env, PATH: searchPath, ...env },
  });
  running.add(child);
  if (print !== undefined)
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => print(text));
  const [code] = (await once(child, 'close')) as [number | null];
  running.delete(child);
  return code === 0;
}

async function tests(): Promise<boolean> {
  const mode = full ? ['--mode=full'] : release ? ['--mode=release'] : [];
  const scope = [...mode, ...(measures ? ['--coverage'] : []), ...only];
  const env = measures ? { TEST_CHILD_COVERAGE: children } : {};
  const first = await vitest(scope, results, env);
  if (first === null) return false;
  showSlowest(first.found.testResults);
  const failures = first.found.testResults.filter(({ status }) => status === 'failed');
  const isRepeated = !first.ok && failures.length > 0 && failures.length <= repeatedFiles;
  const again = isRepeated ? await repeat(failures, mode) : null;
  passed += first.found.numPassedTests;
  if (again?.ok === true) passed += first.found.numFailedTests;
  else failed += first.found.numFailedTests;
  return first.ok || again?.ok === true;
}

interface Run {
  readonly ok: boolean;
  readonly found: TestResults;
}

async function vitest(
  args: readonly string[],
  file: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Run | null> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const ok = await step('vitest', ['run', ...args, ...reporters], { env });
  if (!existsSync(file)) return null;
  return { ok, found: JSON.parse(readFileSync(file, 'utf8')) as TestResults };
}

/**
 * Tests of real processes depend on the machine. A few files that fail beside others are run once more, one at a time;
 * what passes then is named, because somebody has to find out why it did not the first time.
 */
async function repeat(
  failures: readonly FileResult[],
  mode: readonly string[],
): Promise<Run | null> {
  const names = failures.map(({ name }) => relative(root, name));
  console.log(`\n--- Run again, one at a time: ${names.join(', ')}`);
  const again = await vitest([...mode, '--maxWorkers=1', ...names], repeated);
  for (const { name, status } of again?.found.testResults ?? []) {
    const verdict = status === 'passed' ? 'UNSTEADY, failed once and passed alone' : 'FAILED twice';
    console.log(`--- ${verdict}: ${relative(root, name)}`);
  }
  return again;
}

/** Where the time goes; a limit would fail on a busy machine. */
function showSlowest(files: readonly FileResult[]): void {
  const took = ({ startTime, endTime }: FileResult): number => endTime - startTime;
  const slowest = files.toSorted((a, b) => took(b) - took(a)).slice(0, slowestShown);
  console.log('The slowest files:');
  for (const file of slowest)
    console.log(`${(took(file) / 1000).toFixed(1).padStart(7)} s  ${relative(root, file.name)}`);
}

function coverage(): boolean {
  const measured = join(output, 'tests', 'coverage-final.json');
  if (!existsSync(measured)) return false;
  return reportCoverage(measureCoverage(root, measured, children), console.log);
}

async function staticChecks(): Promise<void> {
  await check('format', (print) => step('oxfmt', ['--check'], { print }));
  await check('lint', (print) => step('oxlint', [], { print }));
  await check('unused code', (print) => step('knip', [], { print }));
}

rmSync(output, { recursive: true, force: true });
await check('build', (print) => step('npm', ['run', '--silent', 'build'], { print }));
// Beside the tests, which wait for processes now and then.
await Promise.all([check('tests', tests), release ? undefined : staticChecks()]);
if (measures) await check('coverage', coverage);

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
