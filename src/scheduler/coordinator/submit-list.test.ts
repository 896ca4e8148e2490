import { beforeEach, expect, test, vi } from 'vitest';
import { MillraceError } from '../core/index.ts';
import type { NewJob } from '../contract/index.ts';
import type { Store } from '../store/index.ts';
import { gated } from '../../../test/rig/gated-store.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';

let store: Store;
let led: Led;

beforeEach(async () => {
  const clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  await led.leader.loaded;
});

const job = (id: string, more: object = {}): NewJob => ({
  jobId: jobId(id),
  document: { tasks: [{ id: 't', executor: 'echo' }], ...more },
});

/** What became of each: true for a new job, false for one that was there, the code of a refusal. */
async function outcomes(jobs: readonly NewJob[]): Promise<(boolean | string)[]> {
  const replies = await led.leader.jobs.submitAll(jobs);
  return replies.map((reply) => (reply instanceof MillraceError ? reply.code : reply.changed));
}

test('one look-up serves a whole list, in the order of the list', async () => {
  const rows = vi.spyOn(store, 'jobRow');
  const taken = vi.spyOn(store, 'takenIds');
  const names = ['a', 'b', 'c', 'd'];
  expect(await outcomes(names.map((name) => job(name)))).toEqual([true, true, true, true]);
  expect([rows.mock.calls.length, taken.mock.calls.length]).toEqual([0, 1]);
  const stored = await store.jobs(0, { limit: 10 });
  expect(stored.map(({ id }) => id).toReversed()).toEqual(names);
});

test('ids that are taken, repeated or invalid are answered for themselves', async () => {
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  await outcomes([job('old'), job('live')]);
  for (const { lease } of await worker.pollNow(1)) await worker.complete(lease, null);
  const key = { idempotencyKey: 'k' };
  const list = [job('new'), job('old'), job('live'), job('new'), job('bad', { tasks: 7 })];
  expect(await outcomes([...list, job('x', key), job('y', key), job('no id!')])).toEqual([
    ...[true, false, false, false, 'bad_input'],
    ...[true, false, 'bad_input'],
  ]);
  expect((await store.jobs(0, { limit: 10 })).map(({ id }) => id).toSorted()).toEqual([
    ...['live', 'new', 'old', 'x'],
  ]);
});

test('two lists with the same ids make each job once', async () => {
  const list = ['a', 'b', 'c'].map((name) => job(name));
  const both = await Promise.all([outcomes(list), outcomes(list.toReversed())]);
  expect(both).toEqual([
    [true, true, true],
    [false, false, false],
  ]);
  expect(await store.jobs(0, { limit: 10 })).toHaveLength(3);
});

test('a store that does not answer refuses each of them, and the next try finds nothing taken', async () => {
  const away = new MillraceError({ code: 'store_unavailable', what: 'It is away.' });
  const all = vi.spyOn(store, 'takenIds').mockRejectedValueOnce(away);
  const one = vi.spyOn(store, 'jobRow').mockRejectedValue(away);
  const list = [job('a'), job('b')];
  expect(await outcomes(list)).toEqual(['store_unavailable', 'store_unavailable']);
  all.mockRestore();
  one.mockRestore();
  expect(await outcomes(list)).toEqual([true, true]);
});

test('one that the store refuses refuses no other of its list', async () => {
  const clock = new VirtualClock();
  const gate = gated(memoryStore(clock));
  gate.refuseIf(({ jobInserts }) =>
    jobInserts.some(({ name }) => name === 'poison')
      ? new MillraceError({ code: 'bad_row', what: 'A row is bad.' })
      : null,
  );
  led = await lead(gate.store, clock);
  await led.leader.loaded;
  const list = [job('a'), job('b', { name: 'poison' }), job('c')];
  expect(await outcomes(list)).toEqual([true, 'bad_input', true]);
  expect(await outcomes([job('a'), job('c')])).toEqual([false, false]);
});

test('a list that is more than the leader can take is taken as far as it can', async () => {
  const clock = new VirtualClock();
  led = await lead(memoryStore(clock), clock, { backlogMax: 3 });
  await led.leader.loaded;
  const names = ['a', 'b', 'c', 'd', 'e'];
  const answers = await outcomes(names.map((name) => job(name)));
  expect(answers.slice(0, 3)).toEqual([true, true, true]);
  expect(answers.slice(3)).toEqual(['overloaded', 'overloaded']);
});

test('each job of a list hears that the leader has stepped down', async () => {
  const why = new MillraceError({ code: 'shutting_down', what: 'The leader goes.' });
  const answers = outcomes([job('a'), job('b')]);
  await led.leader.end(why);
  expect(await outcomes([job('c'), job('d')])).toHaveLength(2);
  expect((await answers).every((each) => each !== false)).toBe(true);
});

test('a list with much to carry is several commits', async () => {
  const clock = new VirtualClock();
  const gate = gated(memoryStore(clock));
  led = await lead(gate.store, clock);
  await led.leader.loaded;
  const input = 'x'.repeat(900_000);
  const names = Array.from({ length: 20 }, (_, no) => `job${no}`);
  const list = names.map((name) => job(name, { tasks: [{ id: 't', executor: 'echo', input }] }));
  expect(await outcomes(list)).toEqual(names.map(() => true));
  const sizes = gate.commits.map(({ specInserts }) => specInserts.length);
  expect(Math.max(...sizes)).toBeLessThan(8);
  const numbers = gate.commits.flatMap(({ jobInserts }) => jobInserts.map(({ id }) => id));
  expect(numbers).toEqual(names);
});
