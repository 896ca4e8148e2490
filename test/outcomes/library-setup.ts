/** Bad input to the library itself, with a runtime in this very process. */
import { createRuntime } from 'millrace';
import type { Runtime, RuntimeOptions } from 'millrace';
import { onTestFinished } from 'vitest';
import { doubling } from './tasks.ts';

export async function start(options: RuntimeOptions = {}): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory', tasks: [doubling], ...options });
  onTestFinished(() => runtime.close());
  return runtime;
}
