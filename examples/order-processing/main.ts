/** A shop in one process. Kill it whenever you like: started again, it goes on where it was. */
import { JobError, createRuntime } from 'millrace';
import { order } from './order.ts';

const [, , id = 'A-1', item = 'kettle'] = process.argv;

const runtime = await createRuntime({ data: 'shop-data', flows: [order] });
// One key, one job: a second start finds the job that the first one left behind.
const job = await runtime.submit(
  order,
  { id, item, amount: 2, cents: 4_200, card: 'good' },
  { idempotencyKey: id },
);
console.log(job.isNew ? `${id}: a new order` : `${id}: known, it goes on`);
try {
  console.log(await job.result());
} catch (error) {
  if (!(error instanceof JobError)) throw error;
  console.log(`${id}: ${error.task?.error?.message ?? error.message}`);
  process.exitCode = 1;
} finally {
  await runtime.close();
}
