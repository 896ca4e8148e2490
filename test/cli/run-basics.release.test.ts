/** `millrace run` as people use it: real processes, to their end or to Ctrl-C. */
import { expect, test } from 'vitest';
import { file, start, lines, ended, handlers, atWork } from './run-setup.ts';

test('a flow in TypeScript runs with its input, and --json ends with the job as the API shows it', async () => {
  const flow = file(
    'flow.ts',
    `interface Order { readonly cents: number }
     const charge = { kind: 'millrace.task' as const, name: 'charge',
       run: (order: Order) => ({ paid: order.cents }) };
     export default { kind: 'millrace.flow' as const, name: 'order', tasks: [charge],
       toDocument: (input: unknown) => ({ name: 'order', tasks: [{ id: 'charge', executor: 'charge', input }] }) };`,
  );
  const run = start(flow, '--input', '{"cents": 700}', '--json');
  expect(await ended(run)).toEqual({ code: 0, signal: null });
  expect(JSON.parse(lines(run, 'stdout'))).toMatchObject({
    ...{ name: 'order', state: 'succeeded', result: { paid: 700 } },
    tasks: [{ id: 'charge', state: 'succeeded' }],
  });
});

test('a job that fails says why and ends with 1', async () => {
  const document = file(
    'fail.yaml',
    'tasks: [{ id: print, executor: fail, retry: { maxAttempts: 1 } }]',
  );
  const run = start(document, '--module', handlers);
  expect(await ended(run)).toEqual({ code: 1, signal: null });
  expect(lines(run, 'stdout')).toBe('');
  expect(lines(run, 'stderr')).toMatch(/^ {2}print {2}\w+: .*the printer is on fire/m);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test.each(['process', 'group'] as const)(
  'Ctrl-C cancels the job, says so and leaves nothing (the signal goes to the %s)',
  async (whom) => {
    const { run, worker } = await atWork('wait');
    run.kill('SIGINT', whom);
    expect(await ended(run)).toEqual({ code: 130, signal: null });
    expect(lines(run, 'stderr')).toContain('Interrupted: cancelling the job.');
    expect(lines(run, 'stderr')).toMatch(/Job \S+ cancelled after/);
    expect(isAlive(worker)).toBe(false);
  },
);
