/**
 * Orders something inside a span of its own, and draws what the cluster has reported of it.
 *
 * usage: npx tsx main.ts [SERVER]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';
import { connect } from 'millrace';
import { collect, drawn } from './collector.ts';
import { shop } from './shop.ts';

const [, , server = 'http://127.0.0.1:7070'] = process.argv;
const collector = await collect(4318);
const client = connect(server);
try {
  await trace.getTracer('web').startActiveSpan('POST /orders', async (span) => {
    // The client finds the active span by itself.
    const job = await client.submit(shop, { item: 'kettle' });
    span.end();
    console.log(await job.result());
  });
  // Exporters send in batches.
  while (!collector.spans.some(({ name }) => name === 'POST /orders')) await sleep(100);
  await sleep(1_000);
  for (const line of drawn(collector.spans)) console.log(line);
} finally {
  await client.close();
  collector.close();
}
