import { afterEach, beforeEach, expect, test } from 'vitest';
import { MillraceError, checkedSettings } from '../core/index.ts';
import type { TermId } from '../core/index.ts';
import type { Candidacy, Store } from '../store/index.ts';
import { gated } from '../../../test/rig/gated-store.ts';
import { jobId, memoryStore, ScriptedWorker } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { cronCalendar } from './calendar.ts';
import { LeaderElection } from './leader-election.ts';

const ECHO = { tasks: [{ id: 'a', executor: 'echo' }] };
const TWO = {
  tasks: [
    { id: 'a', executor: 'echo' },
    { id: 'b', executor: 'echo' },
  ],
};
const away = new MillraceError({ code: 'store_unavailable', what: 'it is away' });

let clock: VirtualClock;
let store: Store;
let electors: LeaderElection[];
let history: string[];

beforeEach(() => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  electors = [];
  history = [];
});

afterEach(async () => {
  await Promise.all(electors.map((each) => each.stop()));
});

function candidate(nodeId: string, on: Store = store): LeaderElection {
  let terms = 0;
  const election = new LeaderElection({
    store: on,
    clock,
    settings: checkedSettings(),
    calendar: cronCalendar,
    shard: 0,
    nodeId,
    url: null,
    grpc: null,
    newTermId: () => {
      terms += 1;
      return `${nodeId}-${terms}` as TermId;
    },
    random: () => 0.5,
    isProcessGone: (process) => process === 'gone',
    onLead: (leader) => history.push(`${nodeId} leads ${leader.term.epoch}`),
    onFollow: (info) => info !== null && history.push(`${nodeId} follows ${info.nodeId}`),
  });
  electors.push(election);
  election.start();
  return election;
}

test('the first candidate leads and the second follows it', async () => {
  const first = candidate('one');
  await clock.advance(1);
  const second = candidate('two');
  await clock.advance(30_000);
  expect(first.leader?.term.epoch).toBe(1);
  expect(second.leader).toBeNull();
  expect(new Set(history)).toEqual(new Set(['one leads 1', 'two follows one']));
});

test('when the leader stops it gives its term back, and the other leads with the next epoch', async () => {
  const first = candidate('one');
  await clock.advance(1);
  const second = candidate('two');
  await clock.advance(100);
  await Promise.all([first.stop(), clock.advance(1)]);
  // Well before the term of ten seconds would have run out.
  await clock.advance(4_000);
  expect(second.leader?.term.epoch).toBe(2);
});

test('a leader that loses the store steps down, resigns when it is back, and leads again soon', async () => {
  const gate = gated(store);
  const only = candidate('one', gate.store);
  await clock.advance(1);
  const before = only.leader;
  gate.cutOff(away);
  const refused = before?.jobs.submit(ECHO, { jobId: jobId('lost') });
  await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(only.leader).toBeNull();
  gate.cutOff(null);
  await clock.advance(2_000);
  expect(only.leader?.term.epoch).toBe(2);
  await only.leader?.jobs.submit(ECHO, { jobId: jobId('kept') });
  expect(await store.jobs(0, { limit: 10 })).toHaveLength(1);
});

test('a leader that is paused beyond its term finds itself deposed and follows', async () => {
  const gate = gated(store);
  const paused = candidate('paused', gate.store);
  await clock.advance(1);
  const old = paused.leader;
  gate.hold();
  const late = old?.jobs.submit(ECHO, { jobId: jobId('late') });
  const other = candidate('other');
  await clock.advance(15_000);
  expect(other.leader?.term.epoch).toBe(2);
  gate.release();
  await expect(late).rejects.toMatchObject({ code: 'deposed' });
  expect(await store.jobRow(0, jobId('late'))).toBeNull();
  await clock.advance(5_000);
  expect(paused.leader).toBeNull();
  expect(history.at(-1)).toBe('paused follows other');
});

test('a candidate that is stopped before it hears that it has won gives the term back and does not lead', async () => {
  const gate = gated(store);
  const only = candidate('one', gate.store);
  await Promise.all([only.stop(), clock.advance(1)]);
  expect(gate.commits).toEqual([]);
  const next = candidate('two');
  await clock.advance(1);
  expect(next.leader?.term.epoch).toBe(2);
  expect(history).toEqual(['two leads 2']);
});

test('stopping twice is the same as once, and a stopped election serves nobody', async () => {
  const only = candidate('one');
  await clock.advance(1);
  const leader = only.leader;
  await Promise.all([only.stop(), only.stop(), clock.advance(1)]);
  const refused = leader?.jobs.submit(ECHO, { jobId: jobId('x') });
  await expect(refused).rejects.toMatchObject({ code: 'shutting_down' });
});

interface Telling {
  readonly store: Store;
  readonly tell: (epoch: number) => void;
  watches: number;
  /** Called when a campaign is lost, before the candidate hears of it. */
  onLost: () => void;
}

/** A store that can tell that a leader is gone: the test says which epoch. */
function telling(inner: Store): Telling {
  const tellers: ((epoch: number | null) => void)[] = [];
  const watched = {
    watches: 0,
    onLost: (): void => {},
    tell: (epoch: number) => {
      for (const each of tellers.splice(0)) each(epoch);
    },
    store: new Proxy(inner, {
      get(target, name) {
        if (name === 'whenVacant') {
          return (_: number, signal: AbortSignal) =>
            new Promise<number | null>((resolve) => {
              watched.watches += 1;
              tellers.push(resolve);
              signal.addEventListener('abort', () => resolve(null));
            });
        }
        if (name === 'campaign') {
          return async (candidacy: Candidacy) => {
            const leader = await target.leader(candidacy.shard);
            const isGone = leader !== null && leader.epoch === candidacy.vacated;
            if (isGone) await target.resign({ ...leader, shard: 0, id: leader.term });
            const campaign = await target.campaign(candidacy);
            if (!campaign.won) watched.onLost();
            if (!campaign.won || !isGone) return campaign;
            const previous = { nodeId: leader.nodeId, epoch: leader.epoch, isGone: true };
            return { ...campaign, previous };
          };
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    }),
  };
  return watched;
}

test('a candidate takes over as soon as the store tells that the leader is gone', async () => {
  const watched = telling(store);
  const first = candidate('one');
  await clock.advance(1);
  const second = candidate('two', watched.store);
  // One watch over many pauses.
  await clock.advance(30_000);
  expect(watched.watches).toBe(1);
  expect(second.leader).toBeNull();
  watched.tell(1);
  await clock.advance(0);
  expect(second.leader?.term.epoch).toBe(2);
  expect(first.leader).not.toBeNull();
  await clock.advance(10_000);
  expect(first.leader).toBeNull();
  expect(history.at(-1)).toBe('one follows two');
});

test('a notification during a lost campaign is not forgotten', async () => {
  const watched = telling(store);
  candidate('one');
  await clock.advance(1);
  const second = candidate('two', watched.store);
  await clock.advance(1);
  watched.onLost = () => watched.tell(1);
  while (watched.watches < 2) await clock.advance(100);
  expect(second.leader?.term.epoch).toBe(2);
});

test('a notification about a past epoch changes nothing, and the watch continues', async () => {
  const watched = telling(store);
  candidate('one');
  await clock.advance(1);
  const second = candidate('two', watched.store);
  await clock.advance(1);
  watched.tell(7);
  await clock.advance(1);
  expect(second.leader).toBeNull();
  expect(watched.watches).toBe(2);
  await Promise.all([second.stop(), clock.advance(1)]);
  watched.tell(1);
  await clock.advance(30_000);
  expect(second.leader).toBeNull();
});

test('the session of the dead leader’s own node ends with it, and no other', async () => {
  const watched = telling(store);
  const first = candidate('one');
  await clock.advance(1);
  const leader = first.leader;
  if (leader === null) throw new Error('one leads');
  await leader.jobs.submit(TWO, { jobId: jobId('j') });
  const own = await ScriptedWorker.join(leader, 'one', ['echo'], 'gone');
  const other = await ScriptedWorker.join(leader, 'w-1', ['echo']);
  await own.pollNow(1);
  await other.pollNow(1);
  const second = candidate('two', watched.store);
  await clock.advance(1);
  watched.tell(1);
  await clock.advance(1);
  const next = second.leader;
  if (next === null) throw new Error('two leads');
  await next.loaded;
  own.leader = next;
  other.leader = next;
  await expect(own.beat()).rejects.toMatchObject({ code: 'superseded' });
  await other.beat();
  const nodes = await store.nodes(0);
  expect(nodes.map(({ id, status, running }) => [id, status, running])).toEqual([
    ['one', 'stale', 0],
    ['w-1', 'healthy', 1],
  ]);
});

test('the session of the dead leader’s own node lasts while its process may be alive', async () => {
  const watched = telling(store);
  const first = candidate('one');
  await clock.advance(1);
  const leader = first.leader;
  if (leader === null) throw new Error('one leads');
  const own = await ScriptedWorker.join(leader, 'one', ['echo'], 'alive');
  const second = candidate('two', watched.store);
  await clock.advance(1);
  watched.tell(1);
  await clock.advance(1);
  const next = second.leader;
  if (next === null) throw new Error('two leads');
  own.leader = next;
  expect(await own.beat()).toMatchObject({ drain: false });
});

test('a leader that only ran out of time keeps its node’s session', async () => {
  const gate = gated(store);
  const first = candidate('one', gate.store);
  await clock.advance(1);
  const leader = first.leader;
  if (leader === null) throw new Error('one leads');
  const own = await ScriptedWorker.join(leader, 'one', ['echo']);
  gate.hold();
  const second = candidate('two');
  await clock.advance(15_000);
  const next = second.leader;
  if (next === null) throw new Error('two leads');
  own.leader = next;
  expect(await own.beat()).toMatchObject({ drain: false });
  gate.release();
});

test('a store that refuses every write changes leaders a few times and not a hundred', async () => {
  const gates = [gated(store), gated(store)];
  for (const [at, gate] of gates.entries()) {
    gate.refuseIf(() => away);
    candidate(`node-${at}`, gate.store);
  }
  await clock.advance(25_000);
  const { epoch = 0 } = (await store.leader(0)) ?? {};
  const changes = Math.max(epoch, await lastEpoch());
  expect(changes).toBeGreaterThan(2);
  expect(changes).toBeLessThan(20);
  // When it takes writes again, somebody leads within the TTL.
  for (const gate of gates) gate.refuseIf(() => null);
  await clock.advance(15_000);
  expect(electors.filter(({ leader }) => leader !== null)).toHaveLength(1);
});

test('a leader that lost its connection once after a long time is not kept waiting', async () => {
  const gate = gated(store);
  const election = candidate('one', gate.store);
  await clock.advance(60_000);
  gate.cutOff(away);
  await clock.advance(5_000);
  expect(election.leader).toBeNull();
  gate.cutOff(null);
  await clock.advance(4_000);
  expect(election.leader).not.toBeNull();
});

async function lastEpoch(): Promise<number> {
  const probe = { nodeId: 'probe', url: null, grpc: null, term: 'probe' as TermId };
  const campaign = await store.campaign({ shard: 0, ttlMs: 0, ...probe });
  return campaign.won ? campaign.term.epoch - 1 : campaign.leader.epoch;
}
