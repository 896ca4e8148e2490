import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { momentOption } from '../job-options.ts';
import { declareMatch, onOneOrAll } from '../matching-jobs.ts';
import { declareServer, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace reschedule 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --now',
    'millrace reschedule 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --at 2026-11-16T02:00:00Z',
    'millrace reschedule 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --at 2h',
    'millrace reschedule --now --state queued --name reminder',
  ],
  declare(command) {
    command
      .argument('[job]', 'a job that waits for its time')
      .option('--at <time>', 'when it starts: 2026-11-16T02:00:00Z, or 2h from now')
      .option('--now', 'it starts now');
    declareMatch(command);
    declareServer(command);
  },
  run(command, reply, signal) {
    const [given] = command.args;
    const runAt = startOption(command.opts<{ at?: string; now?: boolean }>());
    const about = { command, action: 'reschedule', id: given, reply, signal } as const;
    return onOneOrAll({ ...about, more: { runAt } }, async (client, id) => {
      const job = await client.reschedule(id, { runAt }, { signal });
      const outcome = runAt === 'now' ? 'starts now.' : `starts at ${job.runAt ?? runAt}.`;
      reply.say(plain(`Job ${id} ${job.changed ? outcome : `is not changed. ${job.why ?? ''}`}`));
      reply.answer(job);
      return exit.done;
    });
  },
};

function startOption({ at, now }: { readonly at?: string; readonly now?: boolean }): string {
  if ((at === undefined) !== (now === undefined))
    return at === undefined ? 'now' : momentOption(at);
  throw wrongUse(
    'reschedule needs a time.',
    'Write --at TIME, such as 2026-11-16T02:00:00Z or 2h, or --now.',
  );
}
