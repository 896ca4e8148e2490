/**
 * Runs the flow every night at half past two, as the clocks in Berlin show it, and once right now.
 *
 * usage: npx tsx schedule.ts FOLDER OUT [SERVER]
 */
import { resolve } from 'node:path';
import { connect } from 'millrace';
import { nightly } from './nightly.ts';

const [, , folder, out, server = 'http://127.0.0.1:7070'] = process.argv;
if (folder === undefined || out === undefined) {
  console.error('usage: npx tsx schedule.ts FOLDER OUT [SERVER]');
  process.exit(2);
}

const client = connect(server);
try {
  const { upcoming } = await client.schedules.put('nightly-sales', {
    cron: '30 2 * * *',
    zone: 'Europe/Berlin',
    // After an outage one run makes up for all that were missed; and two never run side by side.
    misfire: 'once',
    overlap: 'skip',
    flow: nightly,
    // Workers may have another working directory.
    input: { folder: resolve(folder), out: resolve(out) },
  });
  for (const at of upcoming.slice(0, 3)) console.log(`runs at ${at}`);

  const { lastJob } = await client.schedules.trigger('nightly-sales');
  if (lastJob === null) throw new Error('the schedule has started no job');
  const { report, rows, best } = await client.handle(lastJob, nightly).result();
  console.log(`${rows} rows in ${report}`);
  for (const { item, amount, euros } of best) console.log(`${item}: ${amount} for ${euros} EUR`);
} finally {
  await client.close();
}
