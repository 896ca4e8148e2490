import { MillraceError } from '../../scheduler/core/index.ts';
import type { Migrations, MigrationStatus } from '../../scheduler/store/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { withChoices } from '../settings.ts';
import { declareStore, migrateStore, storePlace } from '../store-place.ts';
import { keepFilesPrivate } from '../../kit/index.ts';

export const command: CommandModule = {
  examples: [
    'millrace migrate status --data ./.millrace',
    'millrace migrate up --database postgres://millrace@localhost:5432/millrace',
    'millrace migrate down --to 0 --data ./.millrace',
  ],
  declare(command) {
    command
      .addArgument(withChoices('<way>', 'up, down or status', ['up', 'down', 'status']))
      .option('--to <version>', 'stop at this version; without it, down goes back one version');
    declareStore(command);
  },
  async run(command, reply) {
    const [way = ''] = command.args;
    const options = command.opts<{ to?: string; database?: string; data?: string }>();
    const to = options.to === undefined ? undefined : wholeNumber(options.to);
    const place = storePlace(options, process.env);
    const go = wayOf(way, to);
    keepFilesPrivate();
    const status = await migrateStore(place, way === 'up', go);
    const { current, latest, pending } = status;
    reply.say(`The ${place.kind} store is at version ${current} of ${latest}.`);
    for (const name of pending) reply.say(`  pending: ${name}`);
    reply.answer({ store: place.kind, ...status });
    return exit.done;
  },
};

function wayOf(
  way: string,
  to: number | undefined,
): (migrations: Migrations) => Promise<MigrationStatus> {
  switch (way) {
    case 'up':
      return (migrations) => migrations.up(to);
    case 'down':
      return (migrations) => migrations.down(to);
    case 'status':
      return (migrations) => migrations.status();
    default:
      throw new MillraceError({
        code: 'bad_input',
        what: `'${way}' is not a valid migration direction.`,
        todo: 'Use up, down or status.',
      });
  }
}

function wholeNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new MillraceError({ code: 'bad_input', what: `--to takes a version number, not ${text}.` });
}
