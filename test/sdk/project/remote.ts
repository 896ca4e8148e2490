/** The same flow on a cluster, whose workers have loaded the module. */
import { connect } from 'millrace';
import { order } from './order.ts';

const client = connect(process.argv[2] ?? '');
const job = await client.submit(order, {
  id: 'A-1',
  cents: 1200,
  items: [{ item: 'tea' }, { item: 'cups' }],
});
const { receipt, parcel } = await job.result();
process.stdout.write(`${receipt}: ${parcel}\n`);
await client.close();
