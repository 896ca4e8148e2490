import { isFinished, type JobId, type SignalFate } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { jsonArgument, readInput } from '../files/work-file.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    `millrace signal 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 approved '{"by": "ada"}'`,
    'millrace signal 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 go',
    'millrace signal 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 order @order.json --id order-7',
  ],
  declare(command) {
    command
      .argument('<job>', 'the job to send it to')
      .argument('<name>', 'the name of the signal')
      .argument('[json]', 'the value as JSON; null if omitted; @file reads it from a file')
      .option('--id <id>', 'idempotency key: a repeated signal with the same key has no effect');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [job = '', name = '', text] = command.args;
    const id = job as JobId;
    const { id: signalId } = command.opts<{ id?: string }>();
    const value =
      text === undefined || text.startsWith('@')
        ? await readInput(text, signal)
        : jsonArgument('the signal', text);
    return withClient(command, 'submit', signal, async (client) => {
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
