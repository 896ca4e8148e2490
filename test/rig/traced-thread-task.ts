/** A task on a thread that has a tracer provider, as one that is loaded with `--import` would be there. */
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager as ActiveContext } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { isMainThread } from 'node:worker_threads';
import type { TaskDefinition } from '../../src/tasks/executors/index.ts';

if (!isMainThread) {
  context.setGlobalContextManager(new ActiveContext().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider());
}

export const traced: TaskDefinition = {
  kind: 'millrace.task',
  name: 'traced',
  thread: import.meta.url,
  run: (_input, { traceHeaders }) => ({
    traceHeaders,
    active: trace.getSpanContext(context.active())?.spanId ?? null,
  }),
};
