import type { Command } from 'commander';
import type { HttpClient, Submitted } from '../../client/index.ts';
import { type JobId, MillraceError } from '../../core/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { readDocuments } from '../document-file.ts';
import { exit, type ExitCode, exitCodeOf } from '../exit.ts';
import { endingOf, eventLine } from '../job-words.ts';
import { declareServer, withClient } from '../server-call.ts';

export const command: CommandModule = {
  examples: [
    `echo '{"tasks": [{"id": "hello", "executor": "echo", "input": 1}]}' | millrace submit - --wait`,
    'millrace submit job.yaml',
    'millrace submit job.json --server http://127.0.0.1:7070 --json',
  ],
  declare(command: Command) {
    command
      .argument('<file>', 'a job document or a list of them, JSON or YAML; - reads stdin')
      .option('--wait', 'follow the job to its end; exit code 1 unless it succeeds');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [file = ''] = command.args;
    const { wait = false } = command.opts<{ wait?: true }>();
    const values = await readDocuments(file, signal);
    return withClient(command, 'submit', signal, async (client) => {
      const [only] = values;
      if (values.length > 1) return submitMany(client, values, wait, reply, signal);
      if (Array.isArray(only)) return submitMany(client, only, wait, reply, signal);
      const job = await client.submit(only, { signal });
      reply.say(job.id);
      if (wait) return follow(client, job.id, reply, signal);
      reply.answer(job);
      return exit.done;
    });
  },
};

async function follow(
  client: HttpClient,
  id: JobId,
  reply: Reply,
  signal: AbortSignal,
): Promise<ExitCode> {
  try {
    const watching = client.watch(id, { signal });
    for (;;) {
      const next = await watching.next();
      if (next.done !== true) {
        reply.say(eventLine(next.value, id));
        continue;
      }
      reply.say(endingOf(next.value));
      reply.answer(next.value);
      return next.value.state === 'succeeded' ? exit.done : exit.workFailed;
    }
  } catch (error) {
    if (signal.aborted) reply.say(`Job ${id} goes on; \`millrace cancel ${id}\` stops it.`);
    throw error;
  }
}

async function submitMany(
  client: HttpClient,
  documents: readonly unknown[],
  wait: boolean,
  reply: Reply,
  signal: AbortSignal,
): Promise<ExitCode> {
  const answers = await client.submitAll(documents, { signal });
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
  const jobs = await Promise.all(accepted.map(({ id }) => client.result(id, { signal })));
  for (const job of jobs) reply.say(endingOf(job));
  const ended = new Map(jobs.map((job) => [job.id, job]));
  reply.answer(shown.map((answer) => ('id' in answer ? (ended.get(answer.id) ?? answer) : answer)));
  if (refused !== undefined) return exitCodeOf(refused);
  return jobs.every(({ state }) => state === 'succeeded') ? exit.done : exit.workFailed;
}
