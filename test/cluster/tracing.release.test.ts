/** The example for tracing, with a server and a worker in processes of their own: the tree that a collector gets. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Span, collect, drawn } from '../../examples/tracing/collector.ts';
import { freePort } from '../rig/cluster/free-port.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { until } from '../rig/until.ts';

vi.setConfig({ testTimeout: 120_000 });

const file = (name: string): string =>
  fileURLToPath(new URL(`../../examples/tracing/${name}`, import.meta.url));
const TSX = fileURLToPath(import.meta.resolve('tsx/cli'));
const TIMEOUT_MS = 60_000;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-tracing-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

interface Cluster {
  readonly url: string;
  stop(): Promise<void>;
}

const tracing = (collectorUrl: string): Record<string, string> => ({
  NODE_OPTIONS: `--import ${pathToFileURL(file('tracing.mjs')).href}`,
  OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
});

async function started(collectorUrl: string): Promise<Cluster> {
  const cwd = folder();
  const environment = (service: string): Record<string, string> => ({
    ...tracing(collectorUrl),
    OTEL_SERVICE_NAME: service,
  });
  const server = TestProcess.start(
    ['up', '--data', join(cwd, 'data'), '--port', '0', '--grpc-port', '0', '--slots', '0'],
    { folder: cwd, environment: environment('server') },
  );
  const [, url = ''] = await server.line(/^millrace ready (\S+)$/, TIMEOUT_MS);
  const { grpc } = (await (await fetch(`${url}/api/v1/leader`)).json()) as { grpc: string };
  const worker = TestProcess.start(
    ['worker', '--server', grpc, '--module', file('shop.ts'), '--data', join(cwd, 'worker')],
    { folder: cwd, environment: environment('worker') },
  );
  await worker.line(/^millrace worker ready/, TIMEOUT_MS);
  return {
    url,
    // Whatever exporters hold when a process is asked to end is sent before it does.
    async stop() {
      expect(await worker.stop()).toMatchObject({ code: 0 });
      expect(await server.stop()).toMatchObject({ code: 0 });
    },
  };
}

/** The id of the job. */
async function ordered({ url }: Cluster): Promise<string> {
  const answer = await fetch(`${url}/api/v1/flows/shop/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${TRACE}-${CALLER}-01` },
    body: JSON.stringify({ input: { item: 'kettle' } }),
  });
  const { id } = (await answer.json()) as { readonly id: string };
  const job = async (): Promise<{ readonly state: string }> =>
    (await (await fetch(`${url}/api/v1/jobs/${id}`)).json()) as { state: string };
  await until(async () => (await job()).state === 'succeeded', 'the job has not succeeded');
  const result = { parcel: 'parcel with a kettle', rows: [[6]] };
  expect(await job()).toMatchObject({ trace: TRACE, result });
  return id;
}

class Tree {
  readonly #spans: readonly Span[];

  constructor(spans: readonly Span[]) {
    this.#spans = spans;
  }

  /** Oldest first. */
  all(name: string): readonly Span[] {
    return this.#spans
      .filter((span) => span.name === name)
      .toSorted((a, b) => a.startMs - b.startMs);
  }

  /** That many, and not more. */
  some<Count extends number>(name: string, count: Count): Readonly<Record<number, Span>> {
    const found = this.all(name);
    if (found.length !== count) {
      expect.fail(`${count} spans '${name}' are not in:\n${drawn(this.#spans).join('\n')}`);
    }
    return found;
  }

  one(name: string): Span {
    return this.some(name, 1)[0] as Span;
  }

  /** Every parent and every link leads to a span that was reported: nothing was left open. */
  expectWhole(): void {
    const known = new Set(['', CALLER, ...this.#spans.map(({ spanId }) => spanId)]);
    const unknown = this.#spans.filter(({ parentSpanId, links }) =>
      [parentSpanId, ...links.map(({ spanId }) => spanId)].some((id) => !known.has(id)),
    );
    expect(unknown).toEqual([]);
  }
}

/** As the page says: whichever process emits it. */
const jobSpanId = (id: string): string =>
  createHash('sha256')
    .update(JSON.stringify(['job', id, 1]))
    .digest('hex')
    .slice(0, 16);

const place = ({ traceId, spanId }: Span): object => ({ traceId, spanId });

/** Before the sleep, after it, and after the called job. */
function expectSegments(tree: Tree): void {
  const job = tree.one('job shop');
  const { 0: first, 1: second, 2: third } = tree.some('run fulfil', 3) as Record<0 | 1 | 2, Span>;
  expect(first).toMatchObject({
    ...{ traceId: TRACE, parentSpanId: job.spanId, links: [], service: 'worker', kind: 5 },
    attributes: { 'millrace.task.wait': 'sleep', 'millrace.task.attempt': 1 },
  });
  expect(second).toMatchObject({
    parentSpanId: '',
    links: [place(job), place(first)],
    attributes: { 'millrace.task.wait': 'job' },
  });
  expect(third).toMatchObject({
    parentSpanId: '',
    links: [place(job), place(second)],
    attributes: { 'millrace.task.outcome': 'completed' },
  });
  expect(new Set([TRACE, second.traceId, third.traceId]).size).toBe(3);
  // A step, with what the user's own code reports inside of it.
  expect(tree.one('step charge').parentSpanId).toBe(first.spanId);
  expect(tree.one('POST /charges').parentSpanId).toBe(tree.one('step charge').spanId);
}

/** In the trace of the segment that called it, with an attempt that failed. */
function expectCalledJob(tree: Tree): void {
  const { traceId, spanId } = tree.all('run fulfil')[1] as Span;
  const called = tree.one('job pack');
  expect(called).toMatchObject({ traceId, parentSpanId: spanId });
  expect(called.spanId).toBe(jobSpanId(String(called.attributes['millrace.job.id'])));
  tree.some('run pack', 2);
  expect(tree.all('run pack')).toMatchObject([
    { parentSpanId: called.spanId, status: 2, attributes: { 'millrace.task.attempt': 1 } },
    { parentSpanId: called.spanId, status: 0, attributes: { 'millrace.task.attempt': 2 } },
  ]);
}

/** Called by the task `count`, run in fragments. */
function expectQuery(tree: Tree): void {
  const asking = tree.all('run sql')[0] as Span;
  expect(asking).toMatchObject({ traceId: TRACE, parentSpanId: tree.one('job shop').spanId });
  const query = tree.one('job query');
  expect(query).toMatchObject({ traceId: TRACE, parentSpanId: asking.spanId });
  const fragment = tree.one('run sql.fragment');
  expect(fragment).toMatchObject({
    ...{ traceId: TRACE, parentSpanId: query.spanId },
    attributes: { 'millrace.query.stage': 0, 'millrace.query.rows_out': 1 },
  });
  expect(fragment.attributes['millrace.query.bytes_out']).toBeGreaterThan(0);
}

test('a collector gets the whole tree of a job: parents, links across waits, retries, fragments', async () => {
  const collector = await collect(0);
  onTestFinished(() => collector.close());
  const cluster = await started(collector.url);
  const id = await ordered(cluster);
  await cluster.stop();
  const tree = new Tree(collector.spans);
  expect(tree.one('job shop')).toMatchObject({
    ...{ traceId: TRACE, parentSpanId: CALLER, spanId: jobSpanId(id), service: 'server' },
    attributes: { 'millrace.job.id': id, 'millrace.job.state': 'succeeded' },
  });
  expectSegments(tree);
  expectCalledJob(tree);
  expectQuery(tree);
  tree.expectWhole();
  // No input, no message of an error, no text of a query.
  const said = JSON.stringify(collector.spans);
  for (const word of ['kettle', 'no carrier', 'select']) expect(said).not.toContain(word);
});

test('the client of the example finds its own span as the root of it all', async () => {
  const cwd = folder();
  const environment = {
    ...tracing(`http://127.0.0.1:${await freePort()}`),
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
  const module = ['--module', file('shop.ts')];
  const server = TestProcess.start(
    ['up', '--data', join(cwd, 'data'), '--port', '0', '--grpc-port', '0', ...module],
    { folder: cwd, environment },
  );
  const [, url = ''] = await server.line(/^millrace ready (\S+)$/, TIMEOUT_MS);
  const main = TestProcess.start([file('main.ts'), url], { script: TSX, folder: cwd, environment });
  await main.line(/^POST \/orders/, TIMEOUT_MS);
  // Each is drawn below its parent, two spaces to the right of it.
  for (const [depth, name] of ['submit shop', 'job shop', 'run fulfil', 'step charge'].entries()) {
    await main.line(new RegExp(`^ {${2 * (depth + 1)}}${name}, `));
  }
  await main.line(/^run fulfil, .*continues 2 spans of other traces$/);
  await main.line(/^ {4}run pack, .*failed$/);
  expect(await main.exited).toMatchObject({ code: 0 });
  await server.stop();
});
