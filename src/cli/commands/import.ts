import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { pathError, requireSource } from '../local-path.ts';
import { declareStore, openOrCreate, storePlace } from '../store-place.ts';
import { keepFilesPrivate } from '../../kit/index.ts';

export const command: CommandModule = {
  examples: [
    'millrace import backup.ndjson --database postgres://millrace@localhost:5432/millrace',
    'millrace import backup.ndjson --data ./.millrace',
  ],
  declare(command) {
    command.argument('<file>', 'a file written by `millrace export`; the store must be empty');
    declareStore(command);
  },
  async run(command, reply, signal) {
    const [file = ''] = command.args;
    const place = storePlace(command.opts(), process.env);
    await requireSource(file);
    await requireExport(file, signal);
    keepFilesPrivate();
    const { store, discard } = await openOrCreate(place);
    let isRefused = true;
    try {
      const { importStore } = await import('../../scheduler/store/index.ts');
      const counts = await importStore(store, linesOf(file, signal));
      isRefused = false;
      const rows = Object.values(counts).reduce((total, count) => total + count, 0);
      reply.say(`Imported ${rows} rows of ${file} into the ${place.kind} store.`);
      reply.answer({ store: place.kind, file, rows });
      return exit.done;
    } finally {
      await store.close();
      if (isRefused) discard();
    }
  },
};

const FORMAT = 'millrace-export';
const HEADER_BYTES = 4_096;

/** Before a store is opened, and perhaps made: does the file begin as an export does? */
async function requireExport(file: string, signal: AbortSignal): Promise<void> {
  let head = '';
  try {
    const options = { signal, end: HEADER_BYTES - 1, encoding: 'utf8' } as const;
    for await (const chunk of createReadStream(file, options)) head += String(chunk);
  } catch (error) {
    throw pathError(error, `${file} cannot be read`);
  }
  if (formatOf(head.split('\n', 1)[0] ?? '') === FORMAT) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `${file} is not a valid export: its first line is not the header of a ${FORMAT}.`,
    todo: 'Give a file written by `millrace export`.',
  });
}

function formatOf(line: string): unknown {
  try {
    return (JSON.parse(line) as { readonly format?: unknown } | null)?.format;
  } catch {
    return undefined;
  }
}

/** Created when the first line is needed: an earlier reader loses what it reads before anybody listens. */
async function* linesOf(file: string, signal: AbortSignal): AsyncGenerator<string> {
  yield* createInterface({ input: createReadStream(file, { signal }), crlfDelay: Infinity });
}
