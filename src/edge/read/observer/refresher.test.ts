import { beforeEach, expect, test } from 'vitest';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type { Deferred } from '../../../kit/index.ts';
import type { Dated, ReadJob } from '../../../scheduler/contract/index.ts';
import { settled } from '../../../../test/rig/virtual-clock.ts';
import { CachedJobs } from './cached-jobs.ts';
import { Refresher } from './refresher.ts';

type Answer = Dated<ReadJob | null>;

const ONE = 'one' as JobId;
const TWO = 'two' as JobId;
const away = new MillraceError({ code: 'unreachable', what: 'Away.' });

let jobs: CachedJobs;
let refresher: Refresher;
/** Questions that nobody has answered yet, in order. */
let asked: { readonly id: JobId; readonly answer: Deferred<Answer> }[];

beforeEach(() => {
  jobs = new CachedJobs(10);
  asked = [];
  const job = (id: JobId): Promise<Answer> => {
    const answer = deferred<Answer>();
    asked.push({ id, answer });
    return answer.promise;
  };
  const none = { asOf: { seq: 0, at: new Date(0) }, value: { items: [], cursor: null } };
  refresher = new Refresher({ job, jobs: () => Promise.resolve(none) }, jobs);
});

function answerTo(at: number, seq: number): void {
  const { id, answer } = asked[at] ?? { id: ONE, answer: deferred<Answer>() };
  const value = { id, no: 1, name: `as of ${seq}`, result: null, tasks: [], history: [] };
  answer.resolve({ asOf: { seq, at: new Date(seq) }, value: value as unknown as ReadJob });
}

test('a slow answer from before a change does not count as current', async () => {
  const slow = refresher.read(ONE);
  refresher.changed(ONE, 11);
  const caughtUp = refresher.catchUp({ seq: 11, at: new Date(11) });
  answerTo(1, 11);
  await caughtUp;
  answerTo(0, 10);
  expect((await slow).asOf.seq).toBe(10);
  expect(jobs.get(ONE)).toMatchObject({ read: { value: { name: 'as of 11' } }, isStale: false });
});

test('a slow answer that comes while nothing better is here is kept, but as stale', async () => {
  const slow = refresher.read(ONE);
  refresher.changed(ONE, 11);
  answerTo(0, 10);
  await slow;
  expect(jobs.get(ONE)).toMatchObject({ read: { value: { name: 'as of 10' } }, isStale: true });
});

test('a failure is reported when all reads are done, and what is left is read the next time', async () => {
  refresher.changed(ONE, 1);
  refresher.changed(TWO, 2);
  const asOf = { seq: 2, at: new Date(2) };
  const outcomes: string[] = [];
  const catchingUp = refresher.catchUp(asOf).catch(() => void outcomes.push('failed'));
  expect(asked.map(({ id }) => id)).toEqual([ONE, TWO]);
  asked[0]?.answer.reject(away);
  await settled();
  expect(outcomes).toEqual([]);
  answerTo(1, 2);
  await settled();
  // The one who had read the second job has tried the first one again.
  asked[2]?.answer.reject(away);
  await catchingUp;
  expect(outcomes).toEqual(['failed']);
  expect(refresher.cleanAsOf).toBeNull();

  const again = refresher.catchUp(asOf);
  expect(asked.slice(3).map(({ id }) => id)).toEqual([ONE]);
  answerTo(3, 2);
  await again;
  expect(refresher.cleanAsOf).toEqual(asOf);
});
