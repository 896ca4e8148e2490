import { MillraceError } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { actAndFollow, declareFollow, type FollowFlags, refuseFollow } from '../following.ts';
import { declareMatch, isMatch, type MatchFlags, onOneOrAll } from '../matching-jobs.ts';
import { declareServer, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace redrive 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 charge',
    'millrace redrive 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77/charge --follow',
    'millrace redrive --state failed --label tenant=acme',
  ],
  declare(command) {
    command
      .argument('[id]', 'the job, or JOB/TASK')
      .argument('[task]', 'a task that is out of attempts (failed with code dead)');
    declareFollow(command);
    declareMatch(command);
    declareServer(command);
  },
  run(command, reply, signal) {
    const [given, named] = command.args;
    const flags = command.opts<FollowFlags & MatchFlags>();
    if (isMatch(flags)) refuseFollow(flags);
    const { id: job, task } = isMatch(flags) ? { id: given, task: '' } : taskOf(given, named);
    return onOneOrAll({ command, action: 'redrive', id: job, reply, signal }, (client, id) =>
      actAndFollow(client, flags, { id, reply, signal }, async () => {
        // Only a dead task is given new attempts, and the answer does not say whether it was one.
        const before = (await client.job(id, { signal })).tasks.find((each) => each.id === task);
        if (before === undefined) {
          const what = `Job ${id} has no task ${task}.`;
          throw new MillraceError({ code: 'not_found', what });
        }
        const redriven = await client.redrive(id, task, { signal });
        const isDead = before.state === 'failed' && before.error?.code === 'dead';
        const outcome = isDead ? 'runs again' : `was not dead: it is ${before.state}`;
        reply.say(plain(`Task ${task} of job ${id} ${outcome}.`));
        return redriven;
      }),
    );
  },
};

interface NamedTask {
  readonly id: string | undefined;
  readonly task: string;
}

function taskOf(given: string | undefined, named: string | undefined): NamedTask {
  // That a job is missing is said elsewhere.
  if (given === undefined) return { id: given, task: '' };
  const slash = given.indexOf('/');
  const id = slash < 0 ? given : given.slice(0, slash);
  const task = named ?? (slash < 0 ? '' : given.slice(slash + 1));
  if (task !== '') return { id, task };
  throw wrongUse(
    'redrive needs a task.',
    `Write \`millrace redrive ${id} TASK\`; \`millrace job ${id}\` lists the tasks.`,
  );
}
