import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { pathError, requireTarget } from '../local-path.ts';
import { declareStore, openExisting, storePlace } from '../store-place.ts';
import { PRIVATE_FILE } from '../../kit/index.ts';

export const command: CommandModule = {
  examples: [
    'millrace export backup.ndjson --data ./.millrace',
    'millrace export backup.ndjson --database postgres://millrace@localhost:5432/millrace',
  ],
  declare(command) {
    command.argument('<file>', 'the output file, one JSON object per line');
    declareStore(command);
  },
  async run(command, reply, signal) {
    const [file = ''] = command.args;
    const place = storePlace(command.opts(), process.env);
    await requireTarget(file);
    const store = await openExisting(place);
    try {
      const { exportStore } = await import('../../scheduler/store/index.ts');
      let lines = 0;
      const counted = async function* (): AsyncGenerator<string> {
        for await (const line of exportStore(store)) {
          lines += 1;
          if (lines % 100_000 === 0) reply.say(`  ${lines} lines`);
          yield `${line}\n`;
        }
      };
      // Under another name until it is complete: half an export must not look like one.
      const partial = `${file}.partial`;
      try {
        await pipeline(
          Readable.from(counted()),
          createWriteStream(partial, { mode: PRIVATE_FILE }),
          { signal },
        );
        await rename(partial, file);
      } catch (error) {
        await rm(partial, { force: true });
        throw pathError(error, `${file} cannot be written`);
      }
      // The first line is the header, the last one the count.
      const rows = lines - 2;
      reply.say(`Exported ${rows} rows of the ${place.kind} store to ${file}.`);
      reply.answer({ store: place.kind, file, rows });
      return exit.done;
    } finally {
      await store.close();
    }
  },
};
