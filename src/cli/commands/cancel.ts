import { isFinished } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareMatch, isMatch, type MatchFlags, onOneOrAll } from '../matching-jobs.ts';
import { declareServer, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace cancel 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace cancel "$(millrace submit job.yaml)" --reason "wrong input"',
    'millrace cancel --name import --label tenant=acme',
    'millrace cancel --state queued --since 2h',
  ],
  declare(command) {
    command
      .argument('[id]', 'the job')
      .option('--reason <text>', 'the reason, recorded with the job');
    declareMatch(command);
    declareServer(command);
  },
  run(command, reply, signal) {
    const [given] = command.args;
    const { reason, ...flags } = command.opts<{ reason?: string } & MatchFlags>();
    if (reason !== undefined && isMatch(flags))
      throw wrongUse('--reason is for one job.', 'Leave it out.');
    const about = { command, action: 'cancel', id: given, reply, signal } as const;
    return onOneOrAll(about, async (client, id) => {
      const job = await client.cancel(id, reason, { signal });
      const isOver = isFinished(job.state);
      reply.say(plain(isOver ? `Job ${id} is ${job.state}.` : `Job ${id} is being cancelled.`));
      reply.answer(job);
      return exit.done;
    });
  },
};
