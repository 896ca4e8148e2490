/** Leader, worker and submitter in one process, with a tracer provider: which spans there are, and how they hang together. */
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager as ActiveContext } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  RandomIdGenerator,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LedCluster } from '../../../test/rig/led-cluster.ts';
import { jobId } from '../../../test/rig/lead.ts';
import { SpanIds, derivedId } from '../../kit/index.ts';
import type { Callable, TaskContext } from '../../tasks/executors/index.ts';

let exporter: InMemorySpanExporter;
let started = 0;
let cluster: LedCluster;

beforeEach(async () => {
  cluster = await LedCluster.start();
});
afterEach(async () => {
  await cluster.end();
  trace.disable();
  context.disable();
});

function register(idGenerator: SpanIds | RandomIdGenerator = new SpanIds()): void {
  exporter = new InMemorySpanExporter();
  started = 0;
  const counter = {
    onStart: () => void (started += 1),
    onEnd: () => {},
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  context.setGlobalContextManager(new ActiveContext().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({
      idGenerator,
      spanProcessors: [counter, new SimpleSpanProcessor(exporter)],
    }),
  );
}

function spans(name: string): ReadableSpan[] {
  return exporter.getFinishedSpans().filter((span) => span.name === name);
}

function one(name: string): ReadableSpan {
  const found = spans(name);
  expect(found.map((span) => span.name)).toEqual([name]);
  return found[0] as ReadableSpan;
}

const idOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().spanId;
const traceIdOf = (span: ReadableSpan): string => span.spanContext().traceId;

async function joined(run: (context: TaskContext) => unknown): Promise<void> {
  await cluster.join({ tasks: [{ name: 'task', run: (_input, ctx) => run(ctx) }] });
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;

test('the parent of a job is its submission, of an attempt its job, and of a step its attempt', async () => {
  register();
  await joined(async ({ step, attempt }) => {
    await step('charge-4711', () => trace.getTracer('user').startSpan('theirs').end());
    if (attempt === 1) throw Object.assign(new Error('secret text'), { code: 'no_answer' });
    return 'done';
  });
  const document = { name: 'j', traceparent, tasks: [{ id: 'a', executor: 'task' }] };
  await cluster.leader.jobs.submit(document, { jobId: jobId('j') });
  await cluster.pass(5_000);
  const job = one('job j');
  expect(job.parentSpanContext?.spanId).toBe('00f067aa0ba902b7');
  expect(traceIdOf(job)).toBe(TRACE);
  // Every leader gives it this id.
  expect(idOf(job)).toBe(derivedId(8, ['job', 'j', 1]));
  const attempts = spans('run task');
  expect(attempts.map((span) => span.parentSpanContext?.spanId)).toEqual([idOf(job), idOf(job)]);
  expect(attempts.map(({ attributes }) => attributes)).toMatchObject([
    { 'millrace.task.attempt': 1, 'error.type': 'no_answer', 'millrace.task.outcome': 'failed' },
    { 'millrace.task.attempt': 2, 'millrace.task.outcome': 'completed' },
  ]);
  // It was recorded by the first attempt, and so it ran there.
  const step = one('step charge-#');
  expect(step.attributes).toEqual({ 'millrace.step.name': 'charge-4711' });
  expect(step.parentSpanContext?.spanId).toBe(idOf(attempts[0]));
  expect(one('theirs').parentSpanContext?.spanId).toBe(idOf(step));
  expect(JSON.stringify(exporter.getFinishedSpans().map(text))).not.toContain('secret text');
  expect(exporter.getFinishedSpans()).toHaveLength(started);
});

const text = ({ name, attributes, events, status }: ReadableSpan): unknown => ({
  ...{ name, attributes, events, status },
});

test('no span is open during a wait: what follows is a new trace with links', async () => {
  register();
  await joined(async ({ sleep: nap, waitFor }) => {
    await nap('night', '2h');
    await waitFor('go');
    return 'done';
  });
  await cluster.submit('j', { id: 'a', executor: 'task' });
  await cluster.pass(1_000);
  expect(one('run task').attributes).toMatchObject({ 'millrace.task.wait': 'sleep' });
  // Submission and first segment: nothing else, and all of it has ended.
  expect(exporter.getFinishedSpans()).toHaveLength(2);
  expect(started).toBe(2);
  await cluster.changeLeader();
  await cluster.pass(3 * 3_600_000);
  await cluster.signal('j', 'go', 1);
  await cluster.pass(1_000);
  const [first, second, third, ...more] = spans('run task');
  expect(more).toEqual([]);
  const job = one('job j');
  expect(job.parentSpanContext?.spanId).toBe(idOf(one('submit j')));
  expect(first?.parentSpanContext?.spanId).toBe(idOf(job));
  const linked = (span: ReadableSpan | undefined): unknown =>
    span?.links.map((link) => link.context.spanId);
  expect(second?.parentSpanContext).toBeUndefined();
  expect(linked(second)).toEqual([idOf(job), idOf(first)]);
  expect(third?.parentSpanContext).toBeUndefined();
  expect(linked(third)).toEqual([idOf(job), idOf(second)]);
  expect(second?.attributes).toMatchObject({ 'millrace.task.wait': 'signal' });
  const traces = new Set([job, second, third].map((span) => span?.spanContext().traceId));
  expect(traces.size).toBe(3);
  expect(started).toBe(exporter.getFinishedSpans().length);
  // What links them is stored with the task, once for each wait.
  const detail = await cluster.store.steps(0, { jobNo: 1, taskNo: 0 } as never, 1);
  expect(detail.filter(({ name }) => name.startsWith('$trace/'))).toHaveLength(2);
});

test('the parent of a called job is the calling attempt', async () => {
  register();
  const child: Callable<null, unknown> = {
    name: 'child',
    toDocument: () => ({ name: 'child', tasks: [{ id: 'b', executor: 'echo' }] }),
    readResult: (result) => result,
  };
  await joined(({ call }) => call('pack', child, null));
  await cluster.submit('j', { id: 'a', executor: 'task' });
  await cluster.pass(5_000);
  const [calling] = spans('run task');
  const called = one('job child');
  expect(called.parentSpanContext?.spanId).toBe(idOf(calling));
  expect(one('run echo').parentSpanContext?.spanId).toBe(idOf(called));
  expect(one('job j').attributes).toMatchObject({ 'millrace.job.state': 'succeeded' });
});

test('without the id generator the parent of an attempt is the submission', async () => {
  register(new RandomIdGenerator());
  // Whatever earlier tests have set up.
  const shared = Symbol.for('millrace.span-ids');
  Object.assign((globalThis as { [shared]?: object })[shared] ?? {}, { isUsed: false });
  await joined(() => 'done');
  await cluster.submit('j', { id: 'a', executor: 'task' });
  await cluster.pass(1_000);
  const submit = one('submit j');
  expect(one('job j').parentSpanContext?.spanId).toBe(idOf(submit));
  expect(one('run task').parentSpanContext?.spanId).toBe(idOf(submit));
});

test('without a tracer the trace context of the submitter is passed on unchanged', async () => {
  const seen: unknown[] = [];
  await joined(({ traceHeaders }) => void seen.push(traceHeaders));
  const document = {
    ...{ name: 'j', traceparent, tracestate: 'a=1' },
    tasks: [{ id: 'a', executor: 'task' }],
  };
  await cluster.leader.jobs.submit(document, { jobId: jobId('j') });
  await cluster.submit('k', { id: 'a', executor: 'task' });
  await cluster.pass(1_000);
  expect(seen).toEqual([{ traceparent, tracestate: 'a=1' }, {}]);
});
