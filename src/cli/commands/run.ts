import type { Command } from 'commander';
import type { HttpClient } from '../../client/index.ts';
import { didYouMean, type JobId, MillraceError } from '../../scheduler/core/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { type Embedded, withEmbedded } from '../embedded.ts';
import { exit, type ExitCode } from '../exit.ts';
import { withPlaces } from '../files/checked-document.ts';
import { readWork, type Work } from '../files/work-file.ts';
import { tellOutcome } from '../outcome.ts';
import { declareServer, withClient } from '../server-call.ts';
import { configFor, EXECUTOR_SETTINGS } from '../settings.ts';
import { plain } from '../table.ts';
import { follow } from '../view/follow.ts';

interface RunOptions {
  readonly input?: string;
  readonly flow?: string;
  readonly server?: string;
  readonly json?: true;
}

export const command: CommandModule = {
  examples: [
    'millrace run flow.ts --input \'{"order": "A-7"}\'',
    'millrace run job.yaml --module ./tasks.js',
    'millrace run flow.ts --flow nightly --input @input.json --server http://127.0.0.1:7070 --json',
  ],
  declare(command: Command) {
    command
      .argument(
        '<file>',
        'a TypeScript or JavaScript module with a flow or a task, or a job document',
      )
      .option('--input <json>', 'the input of the flow; @file reads it from a file')
      .option('--flow <name>', 'which flow or task of the module, if it exports several');
    declareServer(command, ['modules', 'slots', ...EXECUTOR_SETTINGS]);
  },
  async run(command, reply, signal) {
    const [file = ''] = command.args;
    const { input, flow, server, json = false } = command.opts<RunOptions>();
    const settings = configFor(command, process.env).core;
    const work = await readWork(file, { input, flow, settings }, signal);
    const story: Story = { work, reply, signal, isJson: json };
    if (server !== undefined) {
      return withClient(command, 'submit', signal, (client) => runOnServer(client, story));
    }
    const { modules } = work;
    if (reply.terminal !== null) reply.note('Starting an embedded node ...');
    const print = (line: string): void => reply.note(line);
    const isWatched = reply.terminal !== null;
    return withEmbedded({ command, modules, signal, isWatched, print }, (node) =>
      runEmbedded(node, story),
    );
  },
};

interface Story {
  readonly work: Work;
  readonly reply: Reply;
  readonly signal: AbortSignal;
  readonly isJson: boolean;
}

async function runOnServer(client: HttpClient, story: Story): Promise<ExitCode> {
  const { work, reply, signal, isJson } = story;
  const { seq } = await client.head({ signal });
  const { id } = await withPlaces(work, () => client.submitDocument(work.document, { signal }));
  reply.note(plain(`Submitted job ${id}.`));
  try {
    const job = await follow(client, id, { signal, reply, say: reply.note, after: seq });
    return tellOutcome(job, reply, isJson, reply.note);
  } catch (error) {
    if (signal.aborted) {
      reply.note(plain(`Job ${id} keeps running; cancel it with \`millrace cancel ${id}\`.`));
    }
    throw error;
  }
}

/** No other process will ever run this job, so an interruption ends it. */
async function runEmbedded({ client, url }: Embedded, story: Story): Promise<ExitCode> {
  const { work, reply, signal, isJson } = story;
  await requireExecutors(client, work.document);
  const { id } = await withPlaces(work, () => client.submitDocument(work.document));
  reply.note(plain(`Job ${id} runs on an embedded node at ${url}.`));
  const ended = new AbortController();
  const stop = (): void => {
    reply.note('Interrupted: cancelling the job. Press Ctrl-C again to exit immediately.');
    // If it cannot be cancelled it has ended, and following it tells so.
    client.cancel(id, 'interrupted').catch(() => {});
  };
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const job = await follow(client, id, {
      signal: ended.signal,
      reply,
      say: reply.note,
      after: 0,
    });
    const code = tellOutcome(job, reply, isJson, reply.note);
    return signal.aborted ? exit.interrupted : code;
  } finally {
    ended.abort();
    signal.removeEventListener('abort', stop);
  }
}

/** A task that needs a node which can never exist is a mistake; it is reported instead of waiting. */
async function requireExecutors(client: HttpClient, document: unknown): Promise<void> {
  const { nodes } = await client.listNodes();
  const known = nodes.flatMap(({ executors }) => executors);
  const { tasks } = document as { readonly tasks: readonly TaskLike[] };
  const missing = tasks.find(({ executor }) => !known.includes(executor));
  if (missing === undefined) return;
  const { id, executor } = missing;
  throw new MillraceError({
    code: 'bad_input',
    what: `Task '${id}' needs the executor '${executor}', which is not registered here.${didYouMean(executor, known)}`,
    todo: `Load the module that defines it with --module, or run on a server with --server. Registered executors: ${known.join(', ')}.`,
  });
}

interface TaskLike {
  readonly id: JobId;
  readonly executor: string;
}
