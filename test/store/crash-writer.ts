/** Writes from a number on, for ever, and prints each number once it is acknowledged. Made to be killed. */
import { writeSync } from 'node:fs';
import { openDuckdbStore } from '../../src/scheduler/store/index.ts';
import { happenings, lead, now } from './crash-batches.ts';

const [, , path = '', from = '1'] = process.argv;
// A short log, so that checkpoints are among what is interrupted.
const store = await openDuckdbStore({ path, now, logBytes: 512 * 1024 });
const happen = await happenings(store, await lead(store));
for (let n = Number(from); ; n += 1) {
  await happen(n);
  // Not through a stream: the line is out before the next one begins.
  writeSync(1, `${n}\n`);
}
