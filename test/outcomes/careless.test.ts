/** Careless handlers do the right thing or fail naming the mistake: in a test and embedded
 * alike. */
import { createRuntime } from 'millrace';
import { createTestRuntime } from 'millrace/testing';
import { onTestFinished, test, vi } from 'vitest';
import { expectCarelessOutcomes } from './careless.ts';
import { careless } from './careless-tasks.ts';

// Real time on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

test('in a test runtime', async () => {
  const runtime = await createTestRuntime({ tasks: [careless] });
  onTestFinished(() => runtime.close());
  await expectCarelessOutcomes((document) => runtime.submit(document));
});

test('in an embedded runtime', async () => {
  const runtime = await createRuntime({ store: 'memory', tasks: [careless] });
  onTestFinished(() => runtime.close());
  await expectCarelessOutcomes((document) => runtime.submit(document));
});
