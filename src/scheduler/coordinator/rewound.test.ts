/** The store goes back to an earlier state while its leader lives. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkedSettings, MillraceError } from '../core/index.ts';
import type { TermId } from '../core/index.ts';
import type { MemoryStore } from '../store/index.ts';
import { gated } from '../../../test/rig/gated-store.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { cronCalendar } from './calendar.ts';
import { LeaderElection } from './leader-election.ts';
import { type Loss, lossText } from './history.ts';
import type { Leader } from './leader.ts';

const ECHO = { tasks: [{ id: 'a', executor: 'echo' }] };

let clock: VirtualClock;
let store: MemoryStore;
let electors: LeaderElection[];
let losses: Loss[];

beforeEach(() => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  electors = [];
  losses = [];
});

afterEach(async () => {
  await Promise.all(electors.map((each) => each.stop()));
});

async function elected(nodeId = 'one'): Promise<LeaderElection> {
  let terms = 0;
  const election = new LeaderElection({
    store,
    clock,
    settings: checkedSettings(),
    calendar: cronCalendar,
    shard: 0,
    nodeId,
    url: null,
    grpc: null,
    newTermId: () => `${nodeId}-${(terms += 1)}` as TermId,
    random: () => 0.5,
    onLoss: (loss) => losses.push(loss),
  });
  electors.push(election);
  election.start();
  await clock.advance(1);
  return election;
}

function leaderOf({ leader }: LeaderElection): Leader {
  if (leader === null) throw new Error('nobody leads here');
  return leader;
}

const submit = (leader: Leader, id: string): Promise<unknown> =>
  leader.jobs.submit({ name: id, ...ECHO }, { jobId: jobId(id) });

test('a job that has the number of a lost one is not given its result', async () => {
  const election = await elected();
  const worker = await ScriptedWorker.join(leaderOf(election), 'w', ['echo']);
  const rewind = store.snapshot();
  await submit(worker.leader, 'lost');
  const [given] = await worker.pollNow(1);
  if (given === undefined) throw new Error('the job was not assigned');
  rewind();
  await expect(submit(worker.leader, 'next')).rejects.toMatchObject({ code: 'rewound' });
  await clock.advance(3_000);
  worker.leader = leaderOf(election);
  await submit(worker.leader, 'next');
  // The same number, the same fence, the same worker: as far as these go, the same lease.
  const [again] = await worker.pollNow(1);
  expect(again?.lease).toMatchObject({ jobNo: given.lease.jobNo, fence: given.lease.fence });
  expect(await worker.complete(given.lease, 'of the lost job')).toMatchObject({
    verdicts: ['lost'],
  });
  if (again !== undefined) await worker.complete(again.lease, 'its own');
  const view = await store.job(0, jobId('next'));
  expect(view?.tasks[0]?.result).toBe('"its own"');
});

test('a leader without anything to write notices it when it renews its term', async () => {
  const election = await elected();
  const rewind = store.snapshot();
  await submit(leaderOf(election), 'lost');
  rewind();
  await clock.advance(10_000);
  expect(election.leader?.term).toMatchObject({ epoch: 2, id: 'one-2' });
  expect(losses).toMatchObject([{ jobs: 1, jobIds: ['lost'] }]);
});

test('does not acknowledge a repeated submission from memory when the store has lost the job', async () => {
  const election = await elected();
  const rewind = store.snapshot();
  await submit(leaderOf(election), 'lost');
  rewind();
  await expect(submit(leaderOf(election), 'lost')).rejects.toMatchObject({ code: 'rewound' });
  await clock.advance(3_000);
  await submit(leaderOf(election), 'lost');
  expect((await store.jobs(0, { limit: 9 })).map(({ id }) => id)).toEqual(['lost']);
});

test('a batch that is fed again event by event does not go on in another history', async () => {
  const gate = gated(store);
  const led = await lead(gate.store, clock);
  const rewind = store.snapshot();
  await submit(led.leader, 'lost');
  gate.failNext(new MillraceError({ code: 'bad_row', what: 'The store refused a row.' }));
  rewind();
  // Refused for its data, not by its number: the state is reloaded within the term.
  await expect(submit(led.leader, 'bad')).rejects.toMatchObject({ code: 'rewound' });
  expect(await led.ended).toMatchObject({ code: 'rewound' });
});

test('a loss is reported once, and recorded in the event log', async () => {
  const election = await elected();
  await submit(leaderOf(election), 'kept');
  const rewind = store.snapshot();
  for (const id of ['one', 'two']) await submit(leaderOf(election), id);
  rewind();
  await clock.advance(20_000);
  expect(losses).toMatchObject([{ jobs: 2, jobIds: ['one', 'two'], term: { epoch: 1 } }]);
  const [loss] = losses;
  expect(loss === undefined ? '' : lossText(loss)).toMatch(
    /2 acknowledged jobs are lost: one, two\./,
  );
  const events = await store.events(0, 0, 100);
  const details = events.flatMap(({ kind, detail }) =>
    kind === 'history.rewound' ? [JSON.parse(detail ?? '') as unknown] : [],
  );
  expect(details).toMatchObject([{ jobs: 2, commits: 2, events: expect.any(Number) as number }]);
  expect((await store.jobs(0, { limit: 9 })).map(({ id }) => id)).toEqual(['kept']);
});

test('a term that is gone as a whole is said to be lost, and its epoch does not come again', async () => {
  const before = await elected('one');
  const rewind = store.snapshot();
  await before.stop();
  const election = await elected('two');
  await clock.advance(5_000);
  expect(election.leader?.term.epoch).toBe(2);
  await submit(leaderOf(election), 'lost');
  // Back to the time when the first one led, who is gone.
  rewind();
  await clock.advance(60_000);
  expect(losses).toMatchObject([{ jobs: 1, jobIds: ['lost'], term: { epoch: 2, id: 'two-1' } }]);
  expect(election.leader?.term.epoch).toBeGreaterThan(2);
});

test('a normal change of terms reports no loss', async () => {
  const election = await elected();
  await submit(leaderOf(election), 'kept');
  const { term } = leaderOf(election);
  await store.resign(term);
  await clock.advance(20_000);
  expect(election.leader?.term.epoch).toBe(2);
  expect(losses).toEqual([]);
});
