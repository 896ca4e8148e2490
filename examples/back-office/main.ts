/**
 * The back office in one process, or as a client of a cluster.
 *
 * usage: npx tsx main.ts [SERVER]
 */
import { connect, createRuntime } from 'millrace';
import { day } from './day.ts';
import { notice } from './notices.ts';
import { order } from './orders.ts';
import { report } from './report.ts';

const [, , server] = process.argv;
const flows = [order, report, notice];
const client =
  server === undefined ? await createRuntime({ data: 'shop-data', flows }) : connect(server);
try {
  await day(client, (line) => console.log(line));
} finally {
  await client.close();
}
