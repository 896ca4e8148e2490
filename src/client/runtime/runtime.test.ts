import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { TaskLog } from '../../tasks/executors/index.ts';
import { deferred } from '../../kit/index.ts';
import {
  FatalError,
  JobError,
  connect,
  createRuntime,
  defineFlow,
  defineTask,
} from '../millrace.ts';
import type { Client, Document, Runtime, RuntimeOptions } from '../millrace.ts';

const SILENT: TaskLog = { debug() {}, info() {}, warn() {}, error() {} };

const double = defineTask({
  name: 'double',
  input: z.object({ value: z.number() }),
  output: z.object({ value: z.number() }),
  run: ({ value }) => ({ value: value * 2 }),
});
const fail = defineTask({
  name: 'fail',
  input: z.object({ code: z.string() }),
  run: ({ code }): never => {
    throw Object.assign(new FatalError('it failed on purpose'), { code });
  },
});
const approve = defineTask({
  name: 'approve',
  run: async (_input, ctx) => ({ by: await ctx.waitFor<string>('approved') }),
});

const four = defineFlow({
  name: 'four',
  input: z.object({ value: z.number() }),
  build: ({ input, task }) => {
    const once = task('once', double, { value: input.value });
    const twice = task('twice', double, { value: once.value });
    return { twice: twice.value };
  },
});
const failing = defineFlow({
  name: 'failing',
  build: ({ task }) => {
    task('first', fail, { code: 'planned' });
  },
});

const defineTick = () =>
  defineTask({ name: 'tick-task', on: ['tick'], run: (input: unknown) => input });

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-sdk-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function linkTo(path: string): string {
  const link = join(folder(), 'link');
  symlinkSync(path, link);
  return link;
}

async function started(options: RuntimeOptions = {}): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory', log: SILENT, ...options });
  onTestFinished(() => runtime.close());
  return runtime;
}

describe('a runtime', () => {
  let runtime: Runtime;
  let connected: Client;
  const data = mkdtempSync(join(tmpdir(), 'millrace-sdk-'));

  beforeAll(async () => {
    runtime = await createRuntime({ data, log: SILENT, tasks: [fail] });
    connected = connect(runtime.url, { token: runtime.token ?? '' });
  });
  afterAll(async () => {
    await connected.close();
    await runtime.close();
    rmSync(data, { recursive: true, force: true });
  });

  test('runs a flow to its typed result, and reports its events from the beginning', async () => {
    const handle = await runtime.submit(four, { value: 3 });
    expect(handle.isNew).toBe(true);
    const result: { readonly twice: number } = await handle.result();
    expect(result).toEqual({ twice: 12 });
    const kinds: string[] = [];
    for await (const event of handle.watch()) kinds.push(event.kind);
    expect(kinds[0]).toBe('job.created');
    expect(kinds.at(-1)).toBe('job.succeeded');
    expect(await handle.job()).toMatchObject({ name: 'four', state: 'succeeded', result });
    expect(await runtime.result(handle.id)).toEqual(result);
    expect(await runtime.handle(handle.id, four).result()).toEqual(result);
  });

  test('gives the first job to a second submission with its key or its id', async () => {
    const first = await runtime.submit(four, { value: 1 }, { idempotencyKey: 'once' });
    const second = await runtime.submit(four, { value: 1 }, { idempotencyKey: 'once' });
    expect([first.isNew, second.isNew]).toEqual([true, false]);
    expect(second.id).toBe(first.id);
    await expect(second.result()).resolves.toEqual({ twice: 4 });
    const named = await runtime.submit(double, { value: 1 }, { jobId: 'mine', name: 'named' });
    const again = await runtime.submit(double, { value: 1 }, { jobId: 'mine' });
    expect([named.id, named.isNew, again.isNew]).toEqual(['mine', true, false]);
    expect(await again.job()).toMatchObject({ name: 'named' });
  });

  test('throws what the failed task said when its job is waited for', async () => {
    const handle = await runtime.submit(failing);
    const error = await handle.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(JobError);
    expect(error).toMatchObject({
      code: 'planned',
      state: 'failed',
      jobId: handle.id,
      task: { id: 'first', error: { code: 'planned', message: 'it failed on purpose' } },
      message: `Job ${handle.id} (failing) failed at task first: it failed on purpose (planned)`,
    });
  });

  test('accepts many jobs at once, and refuses only invalid ones', async () => {
    const wrong: unknown = { value: 'three' };
    const [good, bad, raw] = await runtime.submitAll([
      { what: four, input: { value: 5 } },
      { what: four, input: wrong },
      { what: { tasks: [{ id: 'a', executor: 'echo', input: 1 }] }, options: { name: 'raw' } },
    ]);
    if (good instanceof Error || raw instanceof Error) throw new Error('refused');
    await expect(good?.result()).resolves.toEqual({ twice: 20 });
    expect(bad).toMatchObject({ code: 'bad_input' });
    await expect(raw?.result()).resolves.toBe(1);
    const names: string[] = [];
    for await (const { name } of runtime.jobs({ name: 'raw' })) names.push(name);
    expect(names).toEqual(['raw']);
  });

  test('an event starts its flows once, and a task submits a job that nobody waits for', async () => {
    const follow = defineTask({
      name: 'follow',
      input: z.object({ value: z.number() }),
      run: async (input, ctx) => ctx.submit('four', four, input, { labels: { by: 'follow' } }),
    });
    const flow = defineFlow({
      name: 'on-tick',
      input: z.object({ value: z.number() }),
      on: ['tick'],
      build: ({ input, task }) => task('f', follow, { value: input.value }),
    });
    const ask = defineFlow({
      name: 'ask',
      on: ['ask'],
      singleton: { key: 'one' },
      build: ({ task }) => task('approve', approve),
    });
    const own = await started({ flows: [flow, ask], tasks: [defineTick()] });
    const sent = await own.send('tick', { value: 3 }, { id: 'once' });
    expect(sent).toMatchObject([
      { flow: 'on-tick', state: 'queued', isNew: true },
      { flow: 'tick-task', state: 'queued', isNew: true },
    ]);
    const again = await own.send('tick', { value: 3 }, { id: 'once' });
    expect(again.map(({ id }) => id)).toEqual(sent.map(({ id }) => id));
    const submitted = (await own.result(sent[0]?.id ?? '')) as string;
    expect(await own.result(submitted)).toEqual({ twice: 12 });
    expect(await own.job(submitted)).toMatchObject({
      labels: { by: 'follow' },
      startedBy: { job: sent[0]?.id, task: 'f' },
    });
    const [bad] = await own.send('tick', { value: 'x' });
    expect(bad?.error).toMatchObject({ code: 'bad_input', path: '/input/value' });
    expect(await own.send('tock', 1)).toEqual([]);
    const alone = await own.submit(approve, undefined, { singleton: { key: 'one' } });
    const [asked, wrong] = await own.sendMany([{ event: 'ask' }, { event: 'a b' }]);
    expect(asked).toMatchObject([{ id: alone.id, isNew: false, because: 'singleton' }]);
    expect(wrong).toMatchObject({ code: 'bad_input' });
    expect(await own.send('ask')).toMatchObject([
      { id: alone.id, isNew: false, because: 'singleton' },
    ]);
    await expect(own.send('tick', () => 1)).rejects.toMatchObject({ code: 'bad_input' });
    expect(await own.flows()).toMatchObject([{ on: ['ask'] }, { on: ['tick'] }, { on: ['tick'] }]);
  });

  test('accepts any number of concurrent calls without a warning', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const values = Array.from({ length: 40 }, (_, value) => value);
    const results = values.map(async (value) =>
      (await runtime.submit(double, { value })).result({ signal: new AbortController().signal }),
    );
    expect(await Promise.all(results)).toEqual(values.map((value) => ({ value: value * 2 })));
    expect(warnings).toEqual([]);
  });

  test('refuses an input that does not fit before anything is sent', async () => {
    const wrong = { value: 'three' } as unknown as { value: number };
    const refused = await runtime.submit(four, wrong).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'bad_input' });
    const nothing: unknown = 'flow.ts';
    expect(
      await runtime.submit(nothing as Document).catch((error: unknown) => error),
    ).toMatchObject({
      code: 'bad_input',
      what: expect.stringContaining('not string') as string,
    });
  });

  test('sends signals to a task that waits without a slot', async () => {
    const handle = await runtime.submit(approve);
    for await (const { kind } of handle.watch()) if (kind === 'suspended') break;
    expect((await runtime.explain(handle, 'approve')).why).toContain('approved');
    await handle.signal('approved', 'Ada');
    await expect(handle.result()).resolves.toEqual({ by: 'Ada' });
    const late = await handle.signal('approved', 'Bob').catch((error: unknown) => error);
    expect(late).toMatchObject({ code: 'conflict' });
  });

  test('cancels, reruns and forks', async () => {
    const waiting = await runtime.submit(approve);
    await waiting.cancel('changed my mind');
    await expect(waiting.result()).rejects.toMatchObject({ state: 'cancelled' });
    const again = await runtime.rerun(waiting);
    expect(again.run).toBe(2);
    await runtime.signal(waiting, 'approved', 'Ada');
    await expect(waiting.result()).resolves.toEqual({ by: 'Ada' });
    const done = await runtime.submit(four, { value: 2 });
    await done.result();
    const fork = await runtime.fork(done, 'twice');
    expect(fork.isNew).toBe(true);
    const result: { readonly twice: number } = await fork.result();
    expect(result).toEqual({ twice: 8 });
    const tasks = (await fork.job()).tasks.map(({ id, attempt }) => [id, attempt]);
    expect(tasks).toEqual([
      ['once', 0],
      ['twice', 1],
    ]);
  });

  test('keeps schedules', async () => {
    const { schedules } = runtime;
    const put = await schedules.put('nightly', {
      cron: '0 2 * * *',
      zone: 'Europe/Berlin',
      flow: four,
      input: { value: 10 },
      overlap: 'queue',
    });
    expect(put.upcoming).toHaveLength(5);
    expect((await schedules.pause('nightly')).paused).toBe(true);
    expect((await schedules.resume('nightly')).paused).toBe(false);
    const { lastJob } = await schedules.trigger('nightly');
    await expect(runtime.result(String(lastJob))).resolves.toEqual({ twice: 40 });
    const at = new Date(Date.now() + 86_400_000);
    await schedules.put('once', { at, document: { tasks: [{ id: 'a', executor: 'echo' }] } });
    const all = await schedules.list();
    expect(all.map(({ id, nextAt }) => [id, nextAt === at.toISOString()])).toEqual([
      ['nightly', false],
      ['once', true],
    ]);
    await schedules.delete('nightly');
    await schedules.delete('once');
    expect(await schedules.list()).toEqual([]);
  });

  test('is reached by others under its address, with the same client', async () => {
    const handle = await connected.submit(four, { value: 4 });
    await expect(connected.result(handle)).resolves.toEqual({ twice: 16 });
    const [node] = await connected.nodes();
    expect(node).toMatchObject({ id: 'embedded', slots: expect.any(Number) as number });
    expect(node?.executors).toContain('double');
  });

  test.each([
    ['name', (): string => data],
    ['link', (): string => linkTo(data)],
  ])('locks its data folder, by any %s of it', async (_, path) => {
    const error = await createRuntime({ data: path(), log: SILENT }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'store_locked' });
    expect((error as Error).message).toContain('is already in use by this process');
    expect((error as Error).message).toContain('connect(');
  });
});

test('tasks that are submitted later are registered without losing running ones', async () => {
  const gate = deferred<number>();
  const begun = deferred();
  const slow = defineTask({
    name: 'slow',
    run: async (_input, { attempt }) => {
      begun.resolve();
      return (await gate.promise) + attempt;
    },
  });
  const runtime = await started();
  const running = await runtime.submit(slow);
  await begun.promise;
  await expect((await runtime.submit(four, { value: 1 })).result()).resolves.toEqual({ twice: 4 });
  gate.resolve(10);
  await expect(running.result()).resolves.toBe(11);
  const other = defineTask({ name: 'slow', run: () => 0 });
  expect(await runtime.submit(other).catch((error: unknown) => error)).toMatchObject({
    code: 'bad_input',
    what: expect.stringContaining('slow') as string,
  });
});

test('pending calls are rejected when a runtime is closed, and its data stays', async () => {
  const data = folder();
  const first = await createRuntime({ data, log: SILENT, tasks: [approve] });
  const handle = await first.submit(approve);
  const waiting = handle.result().catch((error: unknown) => error);
  await first.close();
  expect(await waiting).toMatchObject({ code: 'shutting_down' });
  expect(await first.submit(approve).catch((error: unknown) => error)).toMatchObject({
    code: 'shutting_down',
  });
  await first.close();
  const second = await createRuntime({ data, log: SILENT, tasks: [approve] });
  onTestFinished(() => second.close());
  await second.signal(handle.id, 'approved', 'Ada');
  await expect(second.result(handle.id)).resolves.toEqual({ by: 'Ada' });
});

test('a wrong setting or module stops the start and leaves nothing behind', async () => {
  const data = folder();
  const wrong = { data, settings: { sessionTtlMs: 1 }, log: SILENT };
  await expect(createRuntime(wrong)).rejects.toMatchObject({ code: 'bad_setting' });
  const missing = { data, modules: [join(data, 'none.js')], log: SILENT };
  await expect(createRuntime(missing)).rejects.toMatchObject({ code: 'bad_input' });
  const runtime = await createRuntime({ data, log: SILENT });
  await runtime.close();
});
