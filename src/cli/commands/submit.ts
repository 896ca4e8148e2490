import type { Command } from 'commander';
import type { HttpClient, Submitted } from '../../client/index.ts';
import {
  isObject,
  MillraceError,
  type Settings,
  withJobFields,
} from '../../scheduler/core/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { exit, type ExitCode, exitCodeOf } from '../exit.ts';
import { checkDocument, withPlaces } from '../files/checked-document.ts';
import { type FileValue, readDocuments } from '../files/document-file.ts';
import { isModule, readWork, refuseModuleFlags, type Work } from '../files/work-file.ts';
import { endingOf } from '../job-words.ts';
import {
  declareFollow,
  type FollowFlags,
  followFrom,
  followToEnd,
  isFollowed,
} from '../following.ts';
import { declareJobFlags, jobFields, type JobFlags, jobIdField } from '../job-options.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { configFor } from '../settings.ts';

interface SubmitFlags extends JobFlags, FollowFlags {
  readonly input?: string;
  readonly flow?: string;
}

export const command: CommandModule = {
  examples: [
    `echo '{"tasks": [{"id": "hello", "executor": "echo", "input": 1}]}' | millrace submit - --wait`,
    'millrace submit job.yaml',
    'millrace submit flow.ts --input \'{"order": "A-7"}\' --wait',
    'millrace submit job.json --name nightly --priority 3 --idempotency-key "nightly $(date +%F)"',
    'millrace submit job.json --label team=billing --run-at 2h',
    `millrace submit reindex.ts --input '"a.md"' --debounce 'reindex a.md=30s,5m'`,
    'millrace submit import.ts --singleton import --when-busy replace',
    'millrace submit job.json --server http://127.0.0.1:7070 --json',
  ],
  declare(command: Command) {
    command
      .argument(
        '<file>',
        'a job document or a list of them (JSON or YAML), or a module with a flow; - reads stdin',
      )
      .option('--input <json>', 'the input of the flow; @file reads it from a file')
      .option('--flow <name>', 'which flow or task of the module, if it exports several');
    declareFollow(command);
    declareJobFlags(command);
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [file = ''] = command.args;
    const flags = command.opts<SubmitFlags>();
    const { input, flow, json = false } = flags;
    const wait = isFollowed(flags);
    const own = jobFields(flags);
    const settings = configFor(command, process.env).core;
    const batch: Batch = { wait, isJson: json, reply, signal, own: jobIdField(flags) };
    if (isModule(file)) {
      const found = await readWork(file, { input, flow, settings }, signal);
      const work = { ...found, document: withFlags(found.document, own) };
      return withClient(command, 'submit', signal, (client) => submitOne(client, work, batch));
    }
    const read = await readDocuments(file, signal);
    refuseModuleFlags(file, { input, flow });
    const isMany = read.length > 1 || Array.isArray(read[0]?.value);
    if (isMany) refuseNames(file, flags);
    const values = read.map((each) => ({ ...each, value: withFlags(each.value, own) }));
    const [first] = values;
    if (isMany) {
      const documents = checkedList(values, settings);
      return withClient(command, 'submit', signal, (client) =>
        submitMany(client, documents, batch),
      );
    }
    const work = workOf(first as FileValue, settings);
    return withClient(command, 'submit', signal, (client) => submitOne(client, work, batch));
  },
};

/** A key and an id name one job. */
function refuseNames(file: string, { idempotencyKey, jobId }: JobFlags): void {
  if (idempotencyKey === undefined && jobId === undefined) return;
  const flag = jobId === undefined ? '--idempotency-key' : '--job-id';
  throw wrongUse(
    `${flag} is for one job, and ${file} contains several.`,
    'Put an idempotencyKey into each document.',
  );
}

/** In each document of a list. What is not a document is left for the check that follows. */
function withFlags(value: unknown, own: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((each) => withFlags(each, own));
  return isObject(value) ? withJobFields(value, own) : value;
}

interface Batch {
  readonly wait: boolean;
  readonly isJson: boolean;
  readonly reply: Reply;
  readonly signal: AbortSignal;
  /** The id that was chosen for the job. */
  readonly own: { readonly jobId?: string };
}

function workOf(file: FileValue, settings: Settings): Work {
  checkDocument(file, settings);
  return { document: file.value, modules: [], located: file.located };
}

/** One mistake, and nothing is sent: half a file is not useful. */
function checkedList(values: readonly FileValue[], settings: Settings): readonly unknown[] {
  return values.flatMap((file) => {
    if (!Array.isArray(file.value) || values.length > 1) {
      checkDocument(file, settings);
      return [file.value];
    }
    const list = file.value as readonly unknown[];
    for (const [at, document] of list.entries()) {
      checkDocument(file, settings, document, `/${at}`);
    }
    return list;
  });
}

async function submitOne(client: HttpClient, work: Work, batch: Batch): Promise<ExitCode> {
  const { wait, isJson, reply, signal, own } = batch;
  const after = wait ? await followFrom(client, signal) : null;
  const job = await withPlaces(work, () =>
    client.submitDocument(work.document, { signal, ...own }),
  );
  const { id } = job;
  reply.say(id);
  if (after !== null) return followToEnd(client, { id, after, reply, isJson, signal });
  reply.answer(job);
  return exit.done;
}

async function submitMany(
  client: HttpClient,
  documents: readonly unknown[],
  { wait, reply, signal }: Batch,
): Promise<ExitCode> {
  const answers = await client.submitDocuments(documents, { signal });
  for (const [at, answer] of answers.entries()) {
    reply.say(answer instanceof MillraceError ? `number ${at + 1}: ${answer.message}` : answer.id);
  }
  const accepted = answers.filter(
    (answer): answer is Submitted => !(answer instanceof MillraceError),
  );
  const refused = answers.find((answer) => answer instanceof MillraceError);
  const shown = answers.map((answer) =>
    answer instanceof MillraceError
      ? { error: { code: answer.code, message: answer.message } }
      : answer,
  );
  if (!wait) {
    reply.answer(shown);
    return refused === undefined ? exit.done : exitCodeOf(refused);
  }
  const jobs = await Promise.all(accepted.map(({ id }) => client.ended(id, { signal })));
  for (const job of jobs) reply.say(endingOf(job));
  const ended = new Map(jobs.map((job) => [job.id, job]));
  reply.answer(shown.map((answer) => ('id' in answer ? (ended.get(answer.id) ?? answer) : answer)));
  if (refused !== undefined) return exitCodeOf(refused);
  return jobs.every(({ state }) => state === 'succeeded') ? exit.done : exit.workFailed;
}
