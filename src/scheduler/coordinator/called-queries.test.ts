import { expect, test } from 'vitest';
import { MillraceError } from '../core/index.ts';
import type { Ask, ErrorCode, JobId, ReplyBody, SchedulerEvent } from '../core/index.ts';
import { deferred } from '../../kit/index.ts';
import { sampleQuery } from '../../../test/rig/sample-query.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { CalledQueries } from './called-queries.ts';

/** Refuses a given number of times, then accepts. */
function reluctant(...refusals: ErrorCode[]) {
  const fed: SchedulerEvent[] = [];
  const taken = deferred<SchedulerEvent>();
  const ask = (make: (ask: Ask) => SchedulerEvent): Promise<ReplyBody> => {
    const event = make(1 as Ask);
    fed.push(event);
    const code = refusals.shift();
    if (code !== undefined) return Promise.reject(new MillraceError({ code, what: 'Not now.' }));
    taken.resolve(event);
    return Promise.resolve({ type: 'done' });
  };
  return { fed, taken, dispatcher: { ask, peek: () => false as never } };
}

const query = { jobId: 'one.q' as JobId, request: {}, name: null, priority: null, trace: null };
const planner = { plan: () => Promise.resolve(sampleQuery('x')) };

/** Lets enough time pass for all its tries. */
async function passing<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  for (let turn = 0; turn < 20; turn += 1) await clock.advance(100);
  return promise;
}

test('a planned query is brought in again and again while the leader has too much to do', async () => {
  const clock = new VirtualClock();
  const { fed, taken, dispatcher } = reluctant('overloaded', 'loading');
  new CalledQueries({ dispatcher, clock, planner }).begin(query);
  expect(await passing(clock, taken.promise)).toMatchObject({ made: { error: null } });
  expect(fed).toHaveLength(3);
});

test('one that the store cannot keep fails its job', async () => {
  const clock = new VirtualClock();
  const { taken, dispatcher } = reluctant('bad_input');
  new CalledQueries({ dispatcher, clock, planner }).begin(query);
  expect(await passing(clock, taken.promise)).toMatchObject({
    type: 'answerCall',
    jobId: 'one.q',
    made: { name: 'query', error: { code: 'bad_input' } },
  });
});

test('nothing is brought in any more when the leader term is over', async () => {
  const clock = new VirtualClock();
  const { fed, dispatcher } = reluctant('not_leader', 'not_leader', 'not_leader');
  const queries = new CalledQueries({ dispatcher, clock, planner });
  queries.begin(query);
  await clock.advance(1);
  queries.stop();
  await clock.advance(10_000);
  expect(fed.length).toBeLessThanOrEqual(2);
  queries.begin({ ...query, jobId: 'one.r' as JobId });
  await clock.advance(10_000);
  expect(fed.length).toBeLessThanOrEqual(2);
});
