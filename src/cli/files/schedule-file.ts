/** The arguments of `schedules create`: a whole schedule in a file, or a job and its timing as flags. */
import { type Command, Option } from 'commander';
import { isMillraceError, type Settings } from '../../scheduler/core/index.ts';
import { durationMs } from '../../kit/index.ts';
import { wholeOption, wrongUse } from '../server-call.ts';
import { checkDocument } from './checked-document.ts';
import { readDocuments } from './document-file.ts';
import { isModule, readInput, readWork } from './work-file.ts';

export interface ScheduleWork {
  readonly spec: unknown;
  readonly located: (error: unknown) => unknown;
}

interface TimingFlags {
  readonly cron?: string;
  readonly zone?: string;
  readonly every?: string;
  readonly at?: string;
  readonly misfire?: string;
  readonly overlap?: string;
  readonly endAt?: string;
  readonly maxRuns?: string;
  readonly input?: string;
  readonly flow?: string;
}

const MISFIRES = ['skip', 'once', 'all'];
const OVERLAPS = ['skip', 'queue', 'cancel'];

export function declareTiming(command: Command): void {
  const choice = (flag: string, help: string, words: readonly string[]): Option =>
    new Option(flag, help).choices(words);
  command
    .option('--cron <pattern>', "for create: minute, hour, day, month, weekday, '0 2 * * 1-5'")
    .option(
      '--zone <zone>',
      'for --cron: an IANA time zone, for example Europe/Berlin (default UTC)',
    )
    .option('--every <duration>', 'for create: every 90s, 15m, 2h')
    .option(
      '--at <time>',
      'for create: once, 2026-11-15T02:00:00Z; for trigger: the time to run it for',
    )
    .addOption(choice('--misfire <policy>', 'what happens to missed occurrences', MISFIRES))
    .addOption(
      choice(
        '--overlap <policy>',
        'what happens while the previous job is still running',
        OVERLAPS,
      ),
    )
    .option('--end-at <time>', 'no occurrence after this time is started: 2026-12-31T00:00:00Z')
    .option('--max-runs <count>', 'so many occurrences are started, not counting those by hand')
    .option('--input <json>', 'the input of the flow; @file reads it from a file')
    .option(
      '--flow <name>',
      'without a file: a flow that workers have published; else which one of the module',
    );
}

export async function readSchedule(
  file: string,
  flags: TimingFlags,
  settings: Settings,
  signal: AbortSignal,
): Promise<ScheduleWork> {
  const timing = timingOf(flags);
  const { misfire, overlap, endAt, input, flow } = flags;
  const maxRuns = wholeOption('--max-runs', flags.maxRuns);
  const policies = {
    ...(misfire === undefined ? {} : { misfire }),
    ...(overlap === undefined ? {} : { overlap }),
    ...(endAt === undefined ? {} : { endAt }),
    ...(maxRuns === undefined ? {} : { maxRuns }),
  };
  if (file === '') {
    if (flow === undefined || timing === null) throw noWork(flow);
    const given = input === undefined ? {} : { input: await readInput(input, signal) };
    return { spec: { timing, ...policies, flow, ...given }, located: (error) => error };
  }
  if (timing === null) return wholeSchedule(file, flags, settings, signal);
  const work = await readWork(file, { input, flow, settings }, signal);
  // The server looks at more than the file holds: only what it says of the document has a line there.
  const located = (error: unknown): unknown =>
    isMillraceError(error) && error.path?.startsWith(DOCUMENT) === true
      ? work.located(error, DOCUMENT)
      : error;
  return { spec: { timing, ...policies, document: work.document }, located };
}

const DOCUMENT = '/document';

function noWork(flow: string | undefined): Error {
  if (flow !== undefined)
    return wrongUse('The schedule has no timing.', 'Add --cron, --every or --at.');
  return wrongUse(
    'A file or a flow is required.',
    'Give a job document or a module after the id, - for stdin, or --flow NAME for a flow that workers have published.',
  );
}

async function wholeSchedule(
  file: string,
  flags: TimingFlags,
  settings: Settings,
  signal: AbortSignal,
): Promise<ScheduleWork> {
  const flag = Object.entries(flags).find(
    ([name, value]) => value !== undefined && ONLY_WITH_TIMING.has(name),
  )?.[0];
  if (flag !== undefined || isModule(file)) {
    throw wrongUse('The schedule has no timing.', 'Add --cron, --every or --at.');
  }
  const [first, surplus] = await readDocuments(file, signal);
  if (first === undefined || surplus !== undefined) {
    throw wrongUse(`${file} contains several documents.`, 'Create one schedule per document.');
  }
  const { document } = (first.value ?? {}) as { readonly document?: unknown };
  if (document === undefined && isJob(first.value)) {
    throw wrongUse(`${file} is a job document and has no timing.`, 'Add --cron, --every or --at.');
  }
  // The rest of a schedule is checked by the server, which has the calendar.
  if (document !== undefined) checkDocument(first, settings, document, DOCUMENT);
  return { spec: first.value, located: first.located };
}

const ONLY_WITH_TIMING: ReadonlySet<string> = new Set([
  'zone',
  'misfire',
  'overlap',
  'endAt',
  'maxRuns',
  'input',
  'flow',
]);

function isJob(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'tasks' in value;
}

function timingOf({ cron, zone, every, at }: TimingFlags): object | null {
  const given = Object.entries({ '--cron': cron, '--every': every, '--at': at }).filter(
    ([, value]) => value !== undefined,
  );
  const [first, second] = given.map(([flag]) => flag);
  if (first === undefined) return null;
  if (second !== undefined)
    throw wrongUse(`${first} and ${second} cannot be combined.`, 'Give one.');
  if (zone !== undefined && cron === undefined) {
    throw wrongUse('--zone applies only to --cron.', 'Leave it out.');
  }
  if (cron !== undefined) return { cron, ...(zone === undefined ? {} : { zone }) };
  if (at !== undefined) return { at: /^\d+$/.test(at) ? Number(at) : at };
  const everyMs = durationMs(every ?? '');
  if (everyMs === null || everyMs === 0) {
    throw wrongUse(`'${every}' is not a valid duration for --every.`, 'Write 90s, 15m or 2h.');
  }
  return { everyMs };
}
