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
const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = 'http://127.0.0.1:4318' } = process.env;
const collector = await collect(Number(new URL(endpoint).port));
const client = connect(server);
try {
  await trace.getTracer('web').startActiveSpan('POST /orders', async (span) => {
    // The client finds the active span by itself.
    const job = await client.submit(shop, { item: 'kettle' });
    span.end();
    console.log(await job.result());
  });
  // Exporters send in batches: the server's when the job has ended, this program's own, the worker's.
  const isThere = (name: string): boolean => collector.spans.some((span) => span.name === name);
  while (!['job shop', 'POST /orders', 'run sql'].every(isThere)) await sleep(100);
  await sleep(1_000);
  for (const line of drawn(collector.spans)) console.log(line);
} finally {
  await client.close();
  collector.close();
}
