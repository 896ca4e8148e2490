import { afterEach, beforeEach, expect, test } from 'vitest';
import { LedCluster } from '../../../test/rig/led-cluster.ts';
import type { Json, TaskId } from '../../scheduler/core/index.ts';
import type {
  Callable,
  Executor,
  FlowDefinition,
  TaskDefinition,
} from '../../tasks/executors/index.ts';
import { jobId } from '../../../test/rig/lead.ts';

let cluster: LedCluster;

beforeEach(async () => {
  cluster = await LedCluster.start();
});

afterEach(() => cluster.end());

const inner: TaskDefinition = {
  kind: 'millrace.task',
  name: 'inner',
  run: (input: Json) => ({ made: input }),
};

/** A flow whose code is in this program, unless it brings no tasks. */
function flow(tasks: readonly TaskDefinition[]): FlowDefinition & Callable<Json, Json> {
  return {
    kind: 'millrace.flow',
    name: 'child',
    tasks,
    toDocument: (input) => ({ name: 'child', tasks: [{ id: 'only', executor: 'inner', input }] }),
    readResult: (result) => result,
  };
}

function calls(what: Callable<Json, Json>): Executor {
  return { name: 'caller', run: (_input, context) => context.call('it', what, 7) };
}

test('a called flow is registered on the worker that calls it', async () => {
  await cluster.join({ tasks: [calls(flow([inner]))] });
  await cluster.submit('job', { id: 'a', executor: 'caller' });
  await cluster.pass(2_000);
  expect(await cluster.result('job', 'a')).toEqual({ made: 7 });
});

test('a task that is mapped over is registered too', async () => {
  const caller: Executor = {
    name: 'caller',
    run: (_input, context) =>
      context.map(
        'all',
        {
          ...inner,
          toTask: (input: Json) => ({ executor: 'inner', input }),
          readResult: (result) => result,
        },
        [1, 2],
      ),
  };
  await cluster.join({ tasks: [caller] });
  await cluster.submit('job', { id: 'a', executor: 'caller' });
  await cluster.pass(2_000);
  expect(await cluster.result('job', 'a')).toEqual([{ made: 1 }, { made: 2 }]);
});

test('an executor that is registered already is not replaced', async () => {
  const own: Executor = { name: 'inner', run: () => 'its own' };
  await cluster.join({ tasks: [calls(flow([inner])), own] });
  await cluster.submit('job', { id: 'a', executor: 'caller' });
  await cluster.pass(2_000);
  expect(await cluster.result('job', 'a')).toBe('its own');
});

test('a call that no worker can run is named in the log and in explain', async () => {
  const { lines } = await cluster.join({ tasks: [calls(flow([]))] });
  await cluster.submit('job', { id: 'a', executor: 'caller' });
  await cluster.pass(2_000);
  expect(lines.join('\n')).toContain("calls the executor 'inner', which this worker does");
  const explained = await cluster.leader.jobs.explain(jobId('job'), 'a' as TaskId);
  expect(explained).toMatchObject({
    code: 'child_job',
    why: expect.stringMatching(
      /^waits for job job\.\w+, whose task job\.\w+\/only cannot run: no node fits; .* lacks executor 'inner'$/,
    ) as string,
  });
});
