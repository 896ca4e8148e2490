import { tracingApi } from './api.ts';

/** Whether anybody in this thread has registered a tracer provider. */
export function isTracing(): boolean {
  return tracingApi() !== null;
}

/** Lets the user's exporters send what they hold; a process that ends would lose it. Never rejects. */
export async function flushTraces(withinMs: number): Promise<void> {
  const provider: unknown = tracingApi()?.trace.getTracerProvider();
  const real = isProxy(provider) ? provider.getDelegate() : provider;
  if (!canFlush(real)) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, withinMs);
  });
  const flushed = Promise.resolve(real.forceFlush()).then(
    () => {},
    () => {},
  );
  await Promise.race([flushed, late]);
  clearTimeout(timer);
}

function isProxy(provider: unknown): provider is { getDelegate(): unknown } {
  return typeof (provider as { getDelegate?: unknown } | undefined)?.getDelegate === 'function';
}

function canFlush(provider: unknown): provider is { forceFlush(): unknown } {
  return typeof (provider as { forceFlush?: unknown } | undefined)?.forceFlush === 'function';
}
