import { afterEach, beforeEach, expect, test } from 'vitest';
import { MillraceError, checkedSettings } from '../core/index.ts';
import type { TermId } from '../core/index.ts';
import type { Store } from '../store/index.ts';
import { gated } from '../testing/gated-store.ts';
import { jobId, memoryStore } from '../testing/lead.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { cronCalendar } from './calendar.ts';
import { Elector } from './elector.ts';

const ECHO = { tasks: [{ id: 'a', executor: 'echo' }] };
const away = new MillraceError({ code: 'store_unavailable', what: 'it is away' });

let clock: VirtualClock;
let store: Store;
let electors: Elector[];
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

function candidate(nodeId: string, on: Store = store): Elector {
  let terms = 0;
  const elector = new Elector({
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
    onLead: (leader) => history.push(`${nodeId} leads ${leader.term.epoch}`),
    onFollow: (info) => info !== null && history.push(`${nodeId} follows ${info.nodeId}`),
  });
  electors.push(elector);
  elector.start();
  return elector;
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

test('stopping twice is the same as once, and a stopped elector serves nobody', async () => {
  const only = candidate('one');
  await clock.advance(1);
  const leader = only.leader;
  await Promise.all([only.stop(), only.stop(), clock.advance(1)]);
  const refused = leader?.jobs.submit(ECHO, { jobId: jobId('x') });
  await expect(refused).rejects.toMatchObject({ code: 'shutting_down' });
});
