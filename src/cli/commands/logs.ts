import type { LogShape } from '../../scheduler/contract/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, wholeOption, withClient, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace logs 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace logs 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77/fetch --follow',
  ],
  declare(command) {
    command
      .argument('<job[/task]>', 'the job, or one of its tasks')
      .option('--follow', 'print new lines as they come, until the job has ended')
      .option('--attempt <n>', 'only lines of this attempt')
      .option('--after <seq>', 'only lines after this number');
    declareServer(command);
  },
  run(command, reply, signal) {
    const [name = ''] = command.args;
    const [job = '', task, surplus] = name.split('/');
    if (job === '' || task === '' || surplus !== undefined) {
      throw wrongUse(
        `'${name}' is not a valid reference to a job or task.`,
        'Write JOB or JOB/TASK; `millrace jobs` and `millrace job` show both.',
      );
    }
    const options = command.opts<{
      follow?: true;
      attempt?: string;
      after?: string;
      json?: true;
    }>();
    const attempt = wholeOption('--attempt', options.attempt);
    const after = wholeOption('--after', options.after);
    return withClient(command, 'read', signal, async (client) => {
      // The log of an unknown task is empty, and following it would wait for the end of the job.
      if (task !== undefined) await client.task(job, task, { signal });
      const lines = client.logs(job, {
        signal,
        follow: options.follow ?? false,
        ...(task === undefined ? {} : { task }),
        ...(attempt === undefined ? {} : { attempt }),
        ...(after === undefined ? {} : { after }),
      });
      for await (const line of lines) {
        if (options.json === true) reply.answer(line);
        else reply.say(logLine(line, task === undefined));
      }
      return exit.done;
    });
  },
};

/** Programs print anything: nothing of it may steer the terminal. */
function logLine(line: LogShape, withTask: boolean): string {
  const { at, task, attempt, level, message, fields } = line;
  const parts = [
    at.slice(11, 23),
    level.padEnd(5),
    withTask ? task : '',
    attempt > 1 ? `attempt ${attempt}` : '',
    message,
    fields === null ? '' : fieldsText(fields),
  ];
  return plain(parts.filter((part) => part !== '').join('  '));
}

/** The stream of captured output is of no interest on a terminal. */
function fieldsText(fields: NonNullable<LogShape['fields']>): string {
  const shown = Object.entries(fields).filter(([name]) => name !== 'stream');
  return shown.length === 0 ? '' : JSON.stringify(Object.fromEntries(shown));
}
