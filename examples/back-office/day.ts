/** A day in the back office, as a client sees it: it has none of the flows' code and knows them by their names. */
import type { Client } from 'millrace';

export async function day(client: Client, say: (line: string) => void): Promise<void> {
  const order = (id: string, item: string, cents: number) => ({ id, customer: 'Ada', item, cents });
  // One key, one job, however often this runs.
  const small = await client.start('order', order('A-1', 'cup', 9_00), { idempotencyKey: 'A-1' });
  const large = await client.start('order', order('A-2', 'oven', 450_00), {
    idempotencyKey: 'A-2',
  });
  say(`small order: ${JSON.stringify(pick(await small.result(), 'receipt'))}`);
  // Somebody decides.
  if (large.isNew) await large.signal('decision', { approved: true, by: 'Grace' });
  say(`large order: ${JSON.stringify(pick(await large.result(), 'receipt'))}`);

  // A wrong input is refused at once, with the path of the field.
  await client.start('order', { id: 'A-3', customer: 'Ada', item: 'cup' }).catch((error: Error) => {
    say(`refused: ${error.message.split('.')[0]}`);
  });

  for await (const { id } of client.jobs({ labels: { customer: 'Ada' }, state: 'succeeded' })) {
    const { tasks } = await client.job(id);
    say(`job of Ada: ${tasks.filter(({ state }) => state === 'succeeded').length} tasks succeeded`);
  }

  const nightly = { cron: '30 2 * * *', zone: 'Europe/Berlin', flow: 'report', input: {} } as const;
  const { upcoming } = await client.schedules.put('nightly-report', nightly);
  say(`next reports: ${upcoming.length}`);
  const { lastJob } = await client.schedules.trigger('nightly-report');
  say(`report: ${JSON.stringify(pick(await client.result(lastJob ?? ''), 'text'))}`);
}

function pick(result: unknown, field: string): unknown {
  return (result as Readonly<Record<string, unknown>>)[field];
}
