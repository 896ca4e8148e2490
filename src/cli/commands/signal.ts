import { isFinished, type SignalFate } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { jsonArgument, readInput } from '../files/work-file.ts';
import { declareMatch, isMatch, type MatchFlags, onOneOrAll } from '../matching-jobs.ts';
import { declareServer, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    `millrace signal 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 approved '{"by": "ada"}'`,
    'millrace signal 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 go',
    'millrace signal 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 order @order.json --id order-7',
    'millrace signal approved true --waiting-for approved --label team=billing',
  ],
  declare(command) {
    command
      .argument('[job]', 'the job to send it to; leave it out with a filter')
      .argument('[name]', 'the name of the signal')
      .argument('[json]', 'the value as JSON; null if omitted; @file reads it from a file')
      .option('--id <id>', 'idempotency key: a repeated signal with the same key has no effect');
    declareMatch(command);
    declareServer(command);
  },
  async run(command, reply, signal) {
    const { id: signalId, ...flags } = command.opts<{ id?: string } & MatchFlags>();
    const { args } = command;
    const isAll = isMatch(flags);
    const [job, name = '', text] = isAll ? [undefined, ...args] : args;
    if (name === '') throw wrongUse('signal needs a name.', 'Write `millrace signal JOB NAME`.');
    if (isAll && args.length > 2)
      throw wrongUse('signal takes one job, or a filter for many, not both.', 'Leave the job out.');
    if (isAll && signalId !== undefined) throw wrongUse('--id is for one job.', 'Leave it out.');
    const value =
      text === undefined || text.startsWith('@')
        ? await readInput(text, signal)
        : jsonArgument('the signal', text);
    const about = { command, action: 'signal', id: job, reply, signal } as const;
    return onOneOrAll({ ...about, more: { name, value } }, async (client, id) => {
      const sent = await client.signal(id, name, value, {
        signal,
        ...(signalId === undefined ? {} : { signalId }),
      });
      const end = isFinished(sent.state) ? `, which has since ${sent.state}` : '';
      reply.say(plain(`Sent signal ${name} to job ${id}${end}.${fateWords(name, sent.signal)}`));
      reply.answer(sent);
      return exit.done;
    });
  },
};

/** A mistyped name is kept for a wait that never comes, so warn at once. */
function fateWords(name: string, fate: SignalFate | undefined): string {
  if (fate === undefined || fate.takenBy !== null) return '';
  const kept = ` No task is waiting for ${name}; the job keeps it until one does.`;
  const [first] = fate.awaited;
  if (first === undefined) return kept;
  return `${kept} Tasks are waiting for: ${fate.awaited.join(', ')}.`;
}
