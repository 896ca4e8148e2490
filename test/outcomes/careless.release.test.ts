/** Careless handlers in real worker processes: of one node, and of a cluster on PostgreSQL. */
import { fileURLToPath } from 'node:url';
import { connect } from 'millrace';
import { expect, onTestFinished, test, vi } from 'vitest';
import { expectCarelessOutcomes } from './careless.ts';
import { startNode } from './single-node.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 180_000 });

const CARELESS = fileURLToPath(new URL('careless-tasks.ts', import.meta.url));

test('in a worker process, whose log names what was asked for too late', async () => {
  const { client, up } = await startNode({ modules: [CARELESS] });
  await expectCarelessOutcomes((document) => client.submit(document));
  expect(up.output.text()).toContain("ctx.step('charge') was called after the handler had ended");
  expect(up.output.text()).not.toContain('was not caught');
});

test('on a cluster', async () => {
  const fixture = await startTestCluster({ modules: [CARELESS] });
  const client = connect(fixture.cluster.urls[0] ?? '');
  onTestFinished(() => client.close());
  await expectCarelessOutcomes((document) => client.submit(document));
  await expectCleanEnd(fixture);
});
