import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager as ActiveContext } from '@opentelemetry/context-async-hooks';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, expect, test } from 'vitest';
import { flushTraces, isTracing } from './flush.ts';
import { SpanIds, canChooseIds, derivedId } from './span-ids.ts';
import { startSpan, withinTrace } from './span.ts';

afterEach(() => {
  trace.disable();
  context.disable();
});

function register(sampler?: Sampler): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  context.setGlobalContextManager(new ActiveContext().enable());
  const provider = new BasicTracerProvider({
    idGenerator: new SpanIds(),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler === undefined ? {} : { sampler }),
  });
  trace.setGlobalTracerProvider(provider);
  return exporter;
}

const elsewhere = { parent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, state: 'v=1' };

test('nothing is traced while nobody has registered a tracer provider', async () => {
  expect(isTracing()).toBe(false);
  expect(startSpan('x', { kind: 'internal' })).toBeNull();
  expect(withinTrace(elsewhere, () => 7)).toBe(7);
  await flushTraces(1_000);
  register();
  expect(isTracing()).toBe(true);
});

test('a span has the parent, the links, the times and the attributes that it is given', () => {
  const exporter = register();
  const span = startSpan('work', {
    kind: 'consumer',
    parent: elsewhere,
    links: [elsewhere],
    attributes: { a: 1 },
    startMs: 1_000,
  });
  span?.set({ b: 'two' });
  span?.fail('too_large');
  span?.end(1_500);
  span?.end(9_999);
  const [done] = exporter.getFinishedSpans();
  expect(done).toMatchObject({
    name: 'work',
    parentSpanContext: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isRemote: true },
    startTime: [1, 0],
    endTime: [1, 500_000_000],
    attributes: { a: 1, b: 'two', 'error.type': 'too_large' },
    links: [{ context: { spanId: 'b'.repeat(16) } }],
  });
  // What a tracing system has added goes on with it.
  expect(span?.place.state).toBe('v=1');
  expect(span?.place.parent).toMatch(/^00-a{32}-[0-9a-f]{16}-01$/);
});

test('spans of the user nest in those of Millrace, and the other way round', () => {
  const exporter = register();
  const user = trace.getTracer('user');
  const attempt = startSpan('attempt', { kind: 'consumer', parent: null });
  attempt?.within(() => {
    user.startActiveSpan('theirs', (theirs) => {
      attempt.child('step', {}).end();
      theirs.end();
    });
  });
  // Where nothing is active, the attempt is the parent.
  attempt?.child('later', {}).end();
  withinTrace(elsewhere, () => user.startSpan('remote').end());
  attempt?.end();
  const named = new Map(exporter.getFinishedSpans().map((span) => [span.name, span]));
  const parentOf = (name: string): string | undefined => named.get(name)?.parentSpanContext?.spanId;
  const idOf = (name: string): string | undefined => named.get(name)?.spanContext().spanId;
  expect(parentOf('attempt')).toBeUndefined();
  expect(parentOf('theirs')).toBe(idOf('attempt'));
  expect(parentOf('step')).toBe(idOf('theirs'));
  expect(parentOf('later')).toBe(idOf('attempt'));
  expect(parentOf('remote')).toBe('b'.repeat(16));
});

test('one span gets the ids that are prepared for it, all others random ones', () => {
  const exporter = register();
  expect(canChooseIds()).toBe(true);
  const ids = { traceId: derivedId(16, ['trace', 'j']), spanId: derivedId(8, ['job', 'j', 1]) };
  for (const parent of [null, elsewhere]) {
    startSpan('job', { kind: 'internal', parent, ids })?.end();
  }
  for (let no = 0; no < 1_000; no += 1) startSpan('other', { kind: 'internal' })?.end();
  const [root, child, ...others] = exporter.getFinishedSpans().map((span) => span.spanContext());
  expect(root).toMatchObject(ids);
  expect(child).toMatchObject({ traceId: 'a'.repeat(32), spanId: ids.spanId });
  expect(new Set(others.map(({ spanId }) => spanId)).size).toBe(1_000);
  expect(others.every(({ traceId, spanId }) => /^[0-9a-f]{48}$/.test(traceId + spanId))).toBe(true);
  expect(derivedId(8, ['job', 'j', 1])).toBe(ids.spanId);
  expect(derivedId(8, ['job', 'j', 2])).not.toBe(ids.spanId);
});

test('the decision not to sample travels on', () => {
  const exporter = register(new AlwaysOffSampler());
  const span = startSpan('x', { kind: 'internal', parent: null });
  expect(span?.isRecording).toBe(false);
  expect(span?.place.parent).toMatch(/-00$/);
  span?.end();
  expect(exporter.getFinishedSpans()).toEqual([]);
});

test('exporters that never answer do not block', async () => {
  trace.setGlobalTracerProvider(
    Object.assign(new BasicTracerProvider(), { forceFlush: () => new Promise<void>(() => {}) }),
  );
  expect(await flushTraces(1)).toBeUndefined();
});
