import { existsSync } from 'node:fs';
import type { Finding } from '../demo/findings.ts';
import type { DemoOutcome } from '../demo/story.ts';
import type { CommandModule, Reply } from '../command.ts';
import { exit } from '../exit.ts';
import { failureLines } from '../job-words.ts';
import { wholeOption, wrongUse } from '../server-call.ts';
import { millraceVersion } from '../../scheduler/contract/index.ts';

const ROWS = 2_000_000;
const ROWS_MAX = 10_000_000;

export const command: CommandModule = {
  examples: ['millrace demo', 'millrace demo --json', 'millrace demo --rows 100000'],
  declare(command) {
    command.option('--rows <n>', `rows in each Parquet file (default ${ROWS})`);
  },
  async run(command, reply, signal) {
    const rows = rowsOf(command.opts<{ readonly rows?: string }>().rows);
    const startedMs = performance.now();
    reply.say(`Millrace ${millraceVersion()}: work that goes on when a process dies.`);
    reply.say('');
    reply.note('Starting a node and three workers ...');
    const [{ tell }, { findingsOf }] = await Promise.all([
      import('../demo/story.ts'),
      import('../demo/findings.ts'),
    ]);
    const say = (): void => reply.note('Interrupted: stopping all processes.');
    signal.addEventListener('abort', say, { once: true });
    try {
      const outcome = await tell({ reply, signal, rows });
      const findings = findingsOf(outcome);
      const tookMs = Math.round(performance.now() - startedMs);
      sumUp(reply, outcome, findings, tookMs);
      reply.answer(summary(outcome, findings, tookMs));
      return findings.every(({ isSo }) => isSo) ? exit.done : exit.workFailed;
    } catch (error) {
      if (!signal.aborted) throw error;
      reply.note('All processes have ended and all files were removed.');
      return exit.interrupted;
    } finally {
      signal.removeEventListener('abort', say);
    }
  },
};

function rowsOf(text: string | undefined): number {
  const rows = wholeOption('--rows', text) ?? ROWS;
  if (rows >= 1 && rows <= ROWS_MAX) return rows;
  throw wrongUse(
    `'${rows}' is not a valid value for --rows.`,
    `Use a number from 1 to ${ROWS_MAX}.`,
  );
}

function sumUp(
  reply: Reply,
  outcome: DemoOutcome,
  findings: readonly Finding[],
  tookMs: number,
): void {
  for (const line of failureLines(outcome.job)) reply.say(line);
  reply.say('');
  for (const { isSo, text } of findings) reply.say(`${isSo ? 'ok   ' : 'WRONG'}  ${text}.`);
  reply.say('');
  reply.say(
    `Finished in ${(tookMs / 1_000).toFixed(1)} s; all processes have ended and all files were removed. Next:`,
  );
  for (const line of nextCommands()) reply.say(`  ${line}`);
}

const EXAMPLE = 'examples/text-fan-out/count.ts';

/** Lines that work when pasted. */
function nextCommands(): string[] {
  return [
    // It comes with the sources only.
    ...(existsSync(EXAMPLE) ? [`npx millrace run ${EXAMPLE} --input '{"folder": "docs"}'`] : []),
    "npx millrace sql 'select 6 * 7 as answer'",
    'npx millrace up       # a node that keeps running, at http://127.0.0.1:7070',
    'npx millrace --help   # all commands',
  ];
}

/** The same for machines. */
function summary(outcome: DemoOutcome, findings: readonly Finding[], tookMs: number): object {
  const { job, kill, deeds, expected, files, query, workers } = outcome;
  return {
    version: millraceVersion(),
    isRight: findings.every(({ isSo }) => isSo),
    checks: Object.fromEntries(findings.map(({ name, isSo }) => [name, isSo])),
    tookMs,
    job: { id: job.id, state: job.state, tasks: job.tasks.length },
    workers,
    kill,
    steps: { charge: deeds.charges.length, ship: deeds.parcels.length },
    files,
    query:
      query === null ? null : { id: query.id, stages: query.stages.length, single: query.single },
    answer: job.result,
    expected,
  };
}
