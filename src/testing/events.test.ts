/** Events that start flows, and jobs that tasks submit, in the test kit. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineFlow, defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const note = defineTask({
  name: 'note',
  input: z.object({ text: z.string() }),
  run: ({ text }) => text,
});
const order = z.object({ id: z.string(), cents: z.number().int() });

const charge = defineFlow({
  name: 'charge-order',
  input: order,
  on: ['order.created', 'order.retried'],
  build: ({ input, task }) => task('n', note, { text: input.id }),
});
const thank = defineFlow({
  name: 'thank',
  input: z.object({ id: z.string() }),
  on: ['order.created'],
  build: ({ input, task }) => task('n', note, { text: input.id }),
});
const refresh = defineFlow({
  name: 'refresh',
  on: ['order.created'],
  build: ({ task }) => task('n', note, { text: 'refreshed' }),
});
const flows = [charge, thank, refresh];

test('an event starts every flow that names it, with its data as the input', async () => {
  const runtime = await createTestRuntime({ flows });
  const labels = { of: 'event' };
  const sent = await runtime.send('order.created', { id: 'A-7', cents: 5 }, { id: 'e1', labels });
  expect(sent.map(({ flow }) => flow)).toEqual(['charge-order', 'refresh', 'thank']);
  const ids = sent.map(({ id }) => id ?? expect.fail('not started'));
  expect(await Promise.all(ids.map((id) => runtime.result(id)))).toEqual([
    'A-7',
    'refreshed',
    'A-7',
  ]);
  expect(await runtime.job(ids[0]!)).toMatchObject({
    name: 'charge-order',
    labels,
    startedBy: { event: 'order.created', id: 'e1' },
  });
});

test('the same event id starts nothing new, and another event with that id does', async () => {
  const runtime = await createTestRuntime({ flows });
  const data = { id: 'A-7', cents: 5 };
  const first = await runtime.send('order.created', data, { id: 'e1' });
  const second = await runtime.send('order.created', { id: 'B', cents: 1 }, { id: 'e1' });
  expect(second.map(({ id }) => id)).toEqual(first.map(({ id }) => id));
  expect(second).toMatchObject([{ isNew: false }, { isNew: false }, { isNew: false }]);
  const [other] = await runtime.send('order.retried', data, { id: 'e1' });
  expect(other).toMatchObject({ flow: 'charge-order', isNew: true });
  const [again] = await runtime.send('order.retried', data);
  const [third] = await runtime.send('order.retried', data);
  expect(again?.id).not.toBe(third?.id);
});

test('data that one flow does not accept does not prevent the others', async () => {
  const runtime = await createTestRuntime({ flows });
  const sent = await runtime.send('order.created', { id: 'A-7', cents: 'many' });
  expect(sent).toMatchObject([
    { flow: 'charge-order', error: { code: 'bad_input', path: '/input/cents' } },
    { flow: 'refresh', state: 'queued' },
    { flow: 'thank', state: 'queued' },
  ]);
});

test('data arrives as JSON, and what looks like a reference is data', async () => {
  const seen = defineFlow({
    name: 'seen',
    input: z.record(z.string(), z.unknown()),
    on: ['any'],
    build: ({ input, task }) => task('n', note, { text: input['at'] as never }),
  });
  const runtime = await createTestRuntime({ flows: [seen] });
  const at = new Date(0);
  const data = { at, $from: 'n', $input: '/x' };
  const [sent] = await runtime.send('any', data);
  expect(await runtime.result(sent?.id ?? '')).toBe(at.toISOString());
});

test('an event that no flow names starts nothing; what is not an event is refused', async () => {
  const runtime = await createTestRuntime({ flows });
  expect(await runtime.send('order.deleted', 1)).toEqual([]);
  const refused = { code: 'bad_input' };
  await expect(runtime.send('no name', 1)).rejects.toMatchObject(refused);
  await expect(runtime.send('', 1)).rejects.toMatchObject(refused);
  await expect(runtime.send('a', 1, { id: '' })).rejects.toMatchObject({ ...refused, path: '/id' });
  const labels = { 'no key': 'x' };
  await expect(runtime.send('a', 1, { labels })).rejects.toMatchObject(refused);
  const large = { text: 'x'.repeat(256 * 1024) };
  await expect(runtime.send('order.created', large)).rejects.toMatchObject({ code: 'too_large' });
});

test.each([
  ['a name that is none', ['a b'], "'on'"],
  ['text', 'order.created', "on: ['order.created']"],
  ['one name twice', ['a', 'a'], 'twice'],
  ['too many', Array.from({ length: 33 }, (_, at) => `e${at}`), 'limit is 32'],
])('a flow with %s as its events is refused', (_what, on, words) => {
  const given = on as unknown as string[];
  const flow = (): unknown =>
    defineFlow({
      name: 'f',
      on: given,
      build: ({ task }) => task('n', note, { text: 'x' }),
    });
  expect(flow).toThrow(words);
  expect(() => defineTask({ name: 't', on: given, run: () => 1 })).toThrow(words);
});

test('a task submits a job once, across crashes, and does not wait for it', async () => {
  const follow = defineTask({
    name: 'follow',
    run: async (_input, ctx) => {
      await ctx.step('before', () => 1);
      const id = await ctx.submit('thanks', thank, { id: 'A-7' }, { delay: '2d' });
      await ctx.step('after', () => 2);
      return id;
    },
  });
  const runtime = await createTestRuntime({ tasks: [follow] });
  runtime.crash({ task: 'follow', step: 'before', at: 'after' });
  runtime.crash({ task: 'follow', step: 'after', at: 'during' });
  const job = await runtime.submit(follow, null);
  const id = (await job.result()) as string;
  expect(runtime.ran('follow')).toHaveLength(3);
  expect(await runtime.job(id)).toMatchObject({
    name: 'thank',
    state: 'queued',
    startedBy: { job: job.id, task: 'follow' },
  });
  expect(runtime.ran('n')).toEqual([]);
  expect(await runtime.result(id)).toBe('A-7');
  expect(runtime.ran('n')).toHaveLength(1);
});

test('a job that submits its successor goes on for as long as it likes', async () => {
  const tick = defineTask({
    name: 'tick',
    input: z.number(),
    run: async (left: number, ctx): Promise<string | null> =>
      left === 0 ? null : ctx.submit('next', again, left - 1),
  });
  const again = { ...tick, toDocument: (left: number) => tick.toDocument(left) };
  const runtime = await createTestRuntime({ tasks: [tick] });
  let id: string | null = (await runtime.submit(tick, 40)).id;
  for (let jobs = 0; id !== null; jobs += 1) {
    expect(jobs).toBeLessThanOrEqual(40);
    id = (await runtime.result(id)) as string | null;
  }
  expect(runtime.ran('tick')).toHaveLength(41);
});

test('an event whose data does not match starts nothing, wherever it is sent from', async () => {
  const eu = defineFlow({
    name: 'eu',
    input: z.object({ region: z.string(), total: z.object({ cents: z.number() }).optional() }),
    on: [
      { event: 'sold', match: { region: 'eu', 'total.cents': 5 } },
      { event: 'sold', match: { region: 'de' } },
    ],
    build: ({ input, task }) => task('n', note, { text: input.region }),
  });
  const relay = defineTask({
    name: 'relay',
    run: async (data: { readonly region: string }, ctx) => ctx.send('tell', 'sold', data),
  });
  await using runtime = await createTestRuntime({ flows: [eu], tasks: [relay] });
  expect(await runtime.send('sold', { region: 'eu', total: { cents: 6 } })).toEqual([]);
  expect(await runtime.send('sold', { region: 'eu' })).toEqual([]);
  expect(await runtime.send('sold', { region: 'eu', total: { cents: '5' } })).toEqual([]);
  expect(await runtime.send('sold', { region: 'eu', total: { cents: 5 } })).toHaveLength(1);
  expect(await runtime.send('sold', { region: 'de' })).toHaveLength(1);
  await runtime.result(await runtime.submit(relay, { region: 'fr' }));
  expect(await runtime.jobs({ name: 'eu' })).toHaveLength(2);
  await runtime.result(await runtime.submit(relay, { region: 'de' }));
  expect(await runtime.jobs({ name: 'eu' })).toHaveLength(3);
});

test.each([
  ['a list that is none', 'x', /list of events/],
  ['a condition without an event', [{ match: { a: 1 } }], /'on'\/0.*event/],
  ['a field that is none', [{ event: 'a', if: 'b' }], /if/],
  ['a condition that is none', [{ event: 'a', match: 'id' }], /object of fields/],
  ['a value that is a list', [{ event: 'a', match: { b: [1] } }], /single values/],
  ['a condition beside none', ['a', { event: 'a', match: { b: 1 } }], /named twice/],
  ['one event twice', ['a', 'a'], /named twice/],
  ['an unknown end', [{ event: 'millrace.job.faild', match: { a: 1 } }], /Did you mean/],
])('what starts a flow is refused with %s', (_what, on, why) => {
  const define = (): unknown => defineTask({ name: 't', on: on as never, run: () => 1 });
  expect(define).toThrow(why);
});

test('several events are sent at once, and one that is refused does not affect the others', async () => {
  await using runtime = await createTestRuntime({ flows });
  const [first, second, third] = await runtime.sendMany([
    { event: 'order.retried', data: { id: 'A', cents: 1 }, id: 'e1' },
    { event: 'millrace.job.failed' },
    { event: 'order.retried', data: { id: 'A', cents: 1 }, id: 'e1' },
  ]);
  expect(first).toMatchObject([{ flow: 'charge-order', isNew: true }]);
  expect(second).toMatchObject({ code: 'bad_input' });
  expect(third).toMatchObject([{ isNew: false, because: 'sent_before' }]);
});
