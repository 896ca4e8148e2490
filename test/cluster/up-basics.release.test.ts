import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { single, expectCleanFolder } from './up-setup.ts';
import { stderrLine, millrace } from '../rig/cluster/command.ts';

test('`up` is a whole system on one machine, to be used from the command line', async () => {
  const solo = await single();
  const up = solo.start();
  expect((await up.line(/^millrace ready (\S+)$/))[1]).toBe(solo.url);
  const document = solo.file('job.yaml');
  writeFileSync(document, 'name: nightly\ntasks: [{ id: a, executor: note, input: { value: 7 } }]');
  const submitted = await solo.run('submit', document);
  expect(submitted).toMatchObject({ code: 0, err: '' });
  const id = submitted.out.trim();
  solo.client.acknowledged.add(id);
  expect(await solo.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'solo', result: { value: 7 } }],
  });
  expect((await solo.run('jobs')).out).toMatch(/nightly.*succeeded|succeeded.*nightly/);
  const shown = await solo.run('job', id, '--json');
  expect(JSON.parse(shown.out)).toMatchObject({ id, state: 'succeeded' });
  const log = await solo.run('events', '--job', id, '--json');
  const kinds = log.out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { kind: string }).kind);
  expect(kinds).toEqual(expect.arrayContaining(['job.created', 'assigned', 'completed']));
  expect((await solo.run('nodes')).out).toMatch(/solo +healthy/);

  const file = solo.file('go');
  const slow = await solo.client.submit({
    tasks: [{ id: 'b', executor: 'waitForFile', input: { file } }],
  });
  await solo.effects.wait({ job: slow.id, what: 'begin' });
  expect(await solo.run('drain', 'solo')).toMatchObject({ code: 0 });
  expect((await solo.run('nodes')).out).toMatch(/solo +healthy \(draining\)/);
  writeFileSync(file, '');
  expect(await solo.client.waitForJob(slow.id)).toMatchObject({ state: 'succeeded' });
  await stderrLine(up, /The worker of this node was drained and has exited/);
  expect(await up.stop()).toEqual({ code: 0, signal: null });
  await expectCleanFolder(solo);
});

test('jobs of an `up` that was killed go on when it is started again', async () => {
  const solo = await single();
  const first = solo.start();
  await first.line(/^millrace ready/);
  const file = solo.file('go');
  const { id } = await solo.client.submit({
    tasks: [
      { id: 'a', executor: 'note' },
      { id: 'b', executor: 'waitForFile', input: { file }, dependsOn: ['a'] },
      { id: 'c', executor: 'note', dependsOn: ['b'] },
    ],
  });
  const [before] = await solo.effects.wait({ job: id, task: 'b', what: 'begin' });
  await first.crash();
  const second = solo.start();
  await second.line(/^millrace ready/);
  const [, after] = await solo.effects.wait({ job: id, task: 'b', what: 'begin' }, 2);
  expect(after?.key).toBe(before?.key);
  writeFileSync(file, '');
  expect(await solo.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  expect(solo.effects.all({ job: id, task: 'a', what: 'begin' })).toHaveLength(1);
  expect(await second.stop()).toEqual({ code: 0, signal: null });
  await expectCleanFolder(solo);
});

test('a cluster is not to be had on DuckDB, and `serve` says so', async () => {
  for (const args of [[], ['--database', './work/millrace.duckdb'], ['--database', 'duckdb://x']]) {
    const refused = await millrace(['serve', ...args], { MILLRACE_DATABASE: '' });
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toMatch(/postgres/i);
  }
});
