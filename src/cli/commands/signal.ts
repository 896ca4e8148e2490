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
      .argument('<job>', 'the job that is to hear it')
      .argument('<name>', 'the name that a task of it waits for')
      .argument('[json]', 'what to tell it; null if left out, @file reads it from a file')
      .option('--id <id>', 'of this signal: the same one again changes nothing');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [job = '', name = '', text] = command.args;
    const id = job as JobId;
    const { id: signalId } = command.opts<{ id?: string }>();
    const value =
      text === undefined || text.startsWith('@')
        ? await readInput(text, signal)
        : jsonArgument('A signal', text);
    return withClient(command, 'submit', signal, async (client) => {
      const told = await client.signal(id, name, value, {
        signal,
        ...(signalId === undefined ? {} : { signalId }),
      });
      const end = isFinished(told.state) ? `, which has ${told.state} since` : '';
      reply.say(plain(`Signal ${name} is with job ${id}${end}.${fateWords(name, told.signal)}`));
      reply.answer(told);
      return exit.done;
    });
  },
};

/** A mistyped name is kept for a wait that never comes: say so at once. */
function fateWords(name: string, fate: SignalFate | undefined): string {
  if (fate === undefined || fate.takenBy !== null) return '';
  const kept = ` No task waits for ${name} now, so it is kept.`;
  const [first] = fate.awaited;
  if (first === undefined) return kept;
  return `${kept} What tasks wait for: ${fate.awaited.join(', ')}.`;
}
