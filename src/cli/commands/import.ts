import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { MillraceError } from '../../core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareStore, openOrCreate, storePlace } from '../store-place.ts';

export const command: CommandModule = {
  examples: [
    'millrace import backup.ndjson --database postgres://millrace@localhost:5432/millrace',
    'millrace import backup.ndjson --data ./.millrace',
  ],
  declare(command) {
    command.argument('<file>', 'what `millrace export` has written; the store must be empty');
    declareStore(command);
  },
  async run(command, reply, signal) {
    const [file = ''] = command.args;
    await access(file).catch(() => {
      throw new MillraceError({ code: 'bad_input', what: `There is no file ${file}.` });
    });
    const place = storePlace(command.opts(), process.env);
    const store = await openOrCreate(place);
    try {
      const { importStore } = await import('../../store/index.ts');
      const counts = await importStore(store, linesOf(file, signal));
      const rows = Object.values(counts).reduce((total, count) => total + count, 0);
      reply.say(`${rows} rows of ${file} are in the ${place.kind} store.`);
      reply.answer({ store: place.kind, file, rows });
      return exit.done;
    } finally {
      await store.close();
    }
  },
};

/** The reader is made when the first line is asked for: one made earlier loses what it reads until
 * somebody listens. */
async function* linesOf(file: string, signal: AbortSignal): AsyncGenerator<string> {
  yield* createInterface({ input: createReadStream(file, { signal }), crlfDelay: Infinity });
}
