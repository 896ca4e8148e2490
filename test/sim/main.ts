/**
 * `npm run sim -- --seeds N [--seed S] [--trace]`: simulations from the command line. Many seeds
 * are shared between two processes. The first failure is shown and the exit code is 1.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { report } from './report.ts';
import { simulate } from './run.ts';

/** Below this, a second process costs more than it brings. */
const SHARED_FROM = 40;
const PROGRESS_EVERY = 50;

interface Request {
  readonly first: number;
  readonly count: number;
  /** Every n-th seed only: the others are somebody else's. */
  readonly stride: number;
  readonly isTraced: boolean;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Returns how many failed; goes on after a failure, so that one night finds them all. */
async function runSeeds({ first, count, stride, isTraced }: Request): Promise<number> {
  const startedMs = performance.now();
  let failed = 0;
  let done = 0;
  for (let seed = first; seed < first + count; seed += stride) {
    const outcome = await simulate(seed, isTraced ? { print } : {});
    done += 1;
    if (outcome.findings.length > 0) {
      failed += 1;
      print(report(outcome));
    }
    if (done % PROGRESS_EVERY === 0 || seed + stride >= first + count) {
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
      print(`${done} seeds up to ${seed} in ${seconds} s, ${failed} failed`);
    }
  }
  return failed;
}

/** Half of the seeds each. */
async function share({ first, count }: Request): Promise<number> {
  const children = [0, 1].map((at) =>
    fork(process.argv[1] as string, [
      ...['--seed', String(first + at), '--seeds', String(count - at), '--stride', '2'],
    ]),
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => children.forEach((child) => child.kill(signal)));
  }
  const codes = await Promise.all(
    children.map(async (child) => ((await once(child, 'exit')) as [number | null])[0]),
  );
  return codes.filter((code) => code !== 0).length;
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    stride: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
});
const request: Request = {
  first: Number(values.seed),
  count: Number(values.seeds),
  stride: Number(values.stride ?? 1),
  isTraced: values.trace,
};
const isShared =
  values.stride === undefined &&
  request.count >= SHARED_FROM &&
  !request.isTraced &&
  availableParallelism() > 1;
const failed = isShared ? await share(request) : await runSeeds(request);
process.exitCode = failed === 0 ? 0 : 1;
