import type { NewEvent, SentEvent, SentJob } from '../../client/index.ts';
import { isMillraceError, isObject, type MillraceError } from '../../scheduler/core/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { exit, type ExitCode, exitCodeOf } from '../exit.ts';
import { readDocuments } from '../files/document-file.ts';
import { jsonArgument, readInput } from '../files/work-file.ts';
import { collected, labelOption } from '../job-options.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { plain, table } from '../table.ts';

interface SendFlags {
  readonly data?: string;
  readonly id?: string;
  readonly label?: readonly string[];
  readonly file?: string;
}

export const command: CommandModule = {
  examples: [
    'millrace send order.created --data \'{"id": "A-7", "cents": 1999}\' --id evt_1',
    'millrace send catalogue.changed',
    'millrace send order.created --data @order.json --label region=north --json',
    `echo '[{"event": "order.created", "data": {"id": "A-7"}}]' | millrace send --file -`,
  ],
  declare(command) {
    command
      .argument('[event]', 'the name of the event; `millrace flows` shows which flows it starts')
      .option(
        '--file <file>',
        'send the events of this file (JSON or YAML) instead: a list of {"event", "data", "id", "labels"}; - reads stdin',
      )
      .option('--data <json>', 'what the event says: the input of each flow; @file reads a file')
      .option('--id <id>', 'idempotency key: the same id again starts and wakes nothing new')
      .option('--label <key=value>', 'a label of each job; repeat it for several', collected);
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [event] = command.args;
    const flags = command.opts<SendFlags>();
    const { data: text, id, label, file } = flags;
    if (file !== undefined) {
      refuseOne(event, flags);
      const events = await eventsIn(file, signal);
      return withClient(command, 'submit', signal, async (client) =>
        sentMany(await client.sendEvents(events, { signal }), reply),
      );
    }
    if (event === undefined) {
      throw wrongUse(
        'send needs an event.',
        'Write `millrace send EVENT --data JSON`, or `millrace send --file FILE`.',
      );
    }
    const data =
      text === undefined || text.startsWith('@')
        ? await readInput(text, signal)
        : jsonArgument('--data', text);
    return withClient(command, 'submit', signal, async (client) => {
      const sent = await client.sendEvent(event, data, {
        signal,
        ...(id === undefined ? {} : { id }),
        ...(label === undefined ? {} : { labels: labelOption(label) }),
      });
      saySent(sent, reply);
      reply.answer(shown(sent));
      return codeOf(sent);
    });
  },
};

function refuseOne(event: string | undefined, { data, id, label }: SendFlags): void {
  if (event === undefined && data === undefined && id === undefined && label === undefined) return;
  throw wrongUse(
    '--file names its events itself.',
    'Put name, data, id and labels of each event into the file.',
  );
}

/** A list in one document, or several documents. What is wrong with an event, the server says. */
async function eventsIn(file: string, signal: AbortSignal): Promise<readonly NewEvent[]> {
  const read = await readDocuments(file, signal);
  const events = read.flatMap(({ value }) => (Array.isArray(value) ? value : [value]) as unknown[]);
  if (events.length === 0) throw wrongUse(`${file} has no events.`, 'Write at least one.');
  for (const [at, event] of events.entries()) {
    if (isObject(event) && typeof event['event'] === 'string') continue;
    throw wrongUse(
      `Number ${at + 1} of ${file} is not an event.`,
      'Write {"event": "order.created", "data": ...}.',
    );
  }
  return events as readonly NewEvent[];
}

function sentMany(sent: readonly (SentEvent | MillraceError)[], reply: Reply): ExitCode {
  for (const [at, each] of sent.entries()) {
    if (isMillraceError(each)) reply.say(plain(`number ${at + 1}: ${each.message}`));
    else {
      reply.say(plain(`${each.event} (${each.id})`));
      saySent(each, reply);
    }
  }
  reply.answer(
    sent.map((each) =>
      isMillraceError(each) ? { error: { code: each.code, detail: each.message } } : shown(each),
    ),
  );
  const codes = sent.map((each) => (isMillraceError(each) ? exitCodeOf(each) : codeOf(each)));
  return codes.find((code) => code !== exit.done) ?? exit.done;
}

function saySent({ note, jobs, woken, cancelled, unlisted }: SentEvent, reply: Reply): void {
  if (note !== undefined) reply.say(plain(note));
  if (jobs.length > 0) for (const line of jobTable(jobs)) reply.say(line);
  for (const { job, task } of woken) reply.say(`woken      ${job}/${task}`);
  for (const job of cancelled) reply.say(`cancelled  ${job}`);
  if (unlisted !== undefined) reply.say(`and ${unlisted} more`);
}

function shown(sent: SentEvent): object {
  const jobs = sent.jobs.map((job) =>
    job.error === undefined
      ? job
      : { flow: job.flow, error: { code: job.error.code, detail: job.error.message } },
  );
  return { ...sent, jobs };
}

function codeOf({ jobs }: SentEvent): ExitCode {
  const [refused] = jobs.flatMap(({ error }) => (error === undefined ? [] : [error]));
  return refused === undefined ? exit.done : exitCodeOf(refused);
}

function jobTable(jobs: readonly SentJob[]): string[] {
  return table(
    ['FLOW', 'JOB', 'STATE'],
    jobs.map((job) =>
      job.error === undefined
        ? [job.flow, job.id, `${job.state}${beforeWords(job)}`]
        : [job.flow, '-', `not started: ${job.error.message}`],
    ),
  );
}

function beforeWords({ isNew, because }: Extract<SentJob, { readonly isNew: boolean }>): string {
  if (isNew) return '';
  return because === 'singleton' ? ', not started: singleton' : ', started before';
}
