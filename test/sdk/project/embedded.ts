/** The flow in a program of its own, with all of Millrace inside it. */
import { createRuntime } from 'millrace';
import { order } from './order.ts';

const runtime = await createRuntime();
const job = await runtime.submit(order, {
  id: 'A-1',
  cents: 1200,
  items: [{ item: 'tea' }, { item: 'cups' }],
});
const { receipt, parcel } = await job.result();
process.stdout.write(`${receipt}: ${parcel}\n`);
await runtime.close();
