/** A worker and a program that reach their leader through message ports. */
import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { budgetFor, deferred } from '../../kit/index.ts';
import type { JobId, NodeOffer } from '../../scheduler/core/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import { ownHandshake } from '../../scheduler/contract/index.ts';
import type {
  AsOf,
  ReadJob,
  Reader,
  Session,
  WorkerService,
} from '../../scheduler/contract/index.ts';
import {
  PortCaller,
  jobMethods,
  localJobs,
  localWorker,
  servePort,
  workerMethods,
} from './index.ts';
import type { LocalJobs, LocalMethods, WhenEnded } from './index.ts';

const never = new AbortController().signal;
const AS_OF = { seq: 1, at: new Date(0) } satisfies AsOf<Date>;

let clock: VirtualClock;
let led: Led;
let polled: Session[];
let faults: unknown[];
let submitted: number;
let ends: (id: JobId) => Promise<void>;
let tells: WhenEnded;
let states: Map<string, string>;
const open: PortCaller[] = [];

beforeEach(async () => {
  clock = new VirtualClock();
  led = await lead(memoryStore(clock), clock);
  polled = [];
  faults = [];
  submitted = 0;
  ends = () => Promise.resolve();
  tells = () => null;
  states = new Map();
});

afterEach(() => {
  for (const caller of open.splice(0)) caller.close();
});

function serve(methods: LocalMethods['methods'], waits: LocalMethods['waits'] = {}): PortCaller {
  const { port1, port2 } = new MessageChannel();
  servePort({ port: port2, methods, waits, onFault: (error) => faults.push(error) });
  const caller = new PortCaller(port1);
  open.push(caller);
  return caller;
}

function worker(workers: () => WorkerService = () => led.leader.workers): WorkerService {
  const onPoll = (session: Session): void => void polled.push(session);
  const caller = serve(workerMethods({ workers, onPoll, onHeartbeat: () => {} }));
  return localWorker(caller, { clock, heartbeatMs: 1_000 });
}

function jobs(bytesMax = 1_000_000): LocalJobs {
  const reader: Pick<Reader, 'job' | 'resultOf'> = {
    resultOf: (id) => Promise.resolve(states.get(id) === 'succeeded' ? '{"n":1}' : null),
    job: (id) => {
      const state = states.get(id);
      const value = state === undefined ? null : ({ id, state } as unknown as ReadJob);
      return Promise.resolve({ asOf: AS_OF, value });
    },
  };
  const { methods, waits } = jobMethods({
    jobs: () => led.leader.jobs,
    reader,
    textOf: (job) => JSON.stringify(job),
    ended: (id) => ends(id),
    whenEnded: (...wait) => tells(...wait),
    intake: budgetFor(1e9, bytesMax),
    bytesMax,
    onSubmitted: (count) => (submitted += count),
  });
  const caller = serve(methods, waits);
  return localJobs(caller);
}

const offer = {
  ...{ id: 'w', sessionId: 's', slots: 2, prefetch: 0, executors: ['echo'] },
  ...{ capabilities: { gpu: true }, address: null, version: '0.1.0' },
} as unknown as NodeOffer;
const session = { nodeId: offer.id, sessionId: offer.sessionId };
const document = { tasks: [{ id: 'a', executor: 'echo', input: { n: 1 } }] };
const submit = (jobId: string, text = JSON.stringify(document)) => ({
  jobId: jobId as JobId,
  text,
  trace: {},
});

describe('a worker', () => {
  test('registers, takes a task, reports its steps and its result', async () => {
    const leader = worker();
    const { heartbeatMs } = await leader.register(offer, ownHandshake());
    expect(heartbeatMs).toBeGreaterThan(0);
    const asked = { ...session, pollNo: 1, capacity: 1, held: [] };
    const parked = leader.poll(asked, never);
    await led.leader.jobs.submit(document, { jobId: 'j' as JobId });
    const [assignment] = (await parked).assignments;
    expect(assignment).toMatchObject({ jobId: 'j', taskId: 'a', input: '{"n":1}' });
    expect(polled).toEqual([session]);
    const lease = assignment!.lease;
    const step = { kind: 'step', lease, name: 'x', body: '1' } as const;
    expect((await leader.report(session, [step])).verdicts).toEqual(['ok']);
    const completed = { kind: 'completed', lease, result: '2' } as const;
    expect((await leader.report(session, [completed])).verdicts).toEqual(['ok']);
    await leader.leave(session);
    await expect(
      leader.heartbeat({ ...session, held: [], seenPoll: 1, executors: ['echo'] }),
    ).rejects.toMatchObject({
      what: expect.stringContaining('This session of node w has') as string,
    });
  });

  test('cancels a parked poll, and the leader forgets it', async () => {
    const leader = worker();
    await leader.register(offer, ownHandshake());
    const life = new AbortController();
    const parked = leader.poll({ ...session, pollNo: 1, capacity: 1, held: [] }, life.signal);
    const other = deferred<readonly unknown[]>();
    life.abort();
    expect((await parked).assignments).toEqual([]);
    await led.leader.jobs.submit(document, { jobId: 'j' as JobId });
    const next = leader.poll({ ...session, pollNo: 2, capacity: 1, held: [] }, never);
    next.then(({ assignments }) => other.resolve(assignments), other.reject);
    expect(await other.promise).toHaveLength(1);
  });

  test('sends documents as JSON, whatever values a handler passes', async () => {
    const seen = deferred<unknown>();
    const report = (_session: Session, items: readonly unknown[]): Promise<never> => {
      seen.resolve(items[0]);
      return Promise.reject(new MillraceError({ code: 'bad_input', what: 'No.', path: '/x' }));
    };
    const leader = worker(() => ({ report }) as unknown as WorkerService);
    const tasks = [{ id: 'b', input: new Date(0), run: (): void => {} }];
    const item = { kind: 'suspended', lease: {} as never, until: { type: 'children', tasks } };
    await expect(leader.report(session, [item as never])).rejects.toMatchObject({
      ...{ code: 'bad_input', what: 'No.', path: '/x' },
    });
    expect(await seen.promise).toMatchObject({
      until: { type: 'children', tasks: [{ id: 'b', input: '1970-01-01T00:00:00.000Z' }] },
    });
    expect(faults).toEqual([]);
  });

  test('has a deadline for heartbeats when the leader is blocked', async () => {
    const silent = { heartbeat: () => new Promise(() => {}) } as unknown as WorkerService;
    const leader = worker(() => silent);
    const beat = leader.heartbeat({ ...session, held: [], seenPoll: 0, executors: [] });
    beat.catch(() => {});
    await clock.advance(1_000);
    await expect(beat).rejects.toMatchObject({ code: 'unreachable' });
  });

  test('is notified when the node has ended', async () => {
    const { port1, port2 } = new MessageChannel();
    const caller = new PortCaller(port1);
    const leader = localWorker(caller, { clock });
    const waiting = leader.leave(session);
    port2.close();
    await expect(waiting).rejects.toMatchObject({ code: 'unreachable' });
    await expect(leader.leave(session)).rejects.toMatchObject({ code: 'unreachable' });
  });
});

describe('a program', () => {
  test('submits a job once, however often the call is repeated', async () => {
    const port = jobs();
    expect(await port.submit(submit('j'), never)).toMatchObject({ id: 'j', isNew: true });
    expect(await port.submit(submit('j'), never)).toMatchObject({ id: 'j', isNew: false });
    expect(submitted).toBe(1);
  });

  test('is refused with a reason, and in a list only the invalid job is', async () => {
    const port = jobs();
    await expect(port.submit(submit('j', '{"tasks":[{}]}'), never)).rejects.toMatchObject({
      code: 'bad_input',
      path: expect.stringContaining('/tasks/0') as string,
    });
    await expect(port.submit(submit('not valid!'), never)).rejects.toMatchObject({
      code: 'bad_input',
    });
    const texts = [JSON.stringify(document), 'null'];
    const answers = await port.submitAll({ id: 'l' as JobId, texts, trace: {} }, never);
    expect(answers).toMatchObject([{ id: 'l.0', isNew: true }, { code: 'bad_input' }]);
    expect(answers[1]).toBeInstanceOf(MillraceError);
    expect(submitted).toBe(1);
  });

  test('may not exceed the limits on size and nesting', async () => {
    const port = jobs(1_000);
    const large = submit('j', JSON.stringify({ ...document, name: 'é'.repeat(500) }));
    await expect(port.submit(large, never)).rejects.toMatchObject({ code: 'too_large' });
    const deep = submit('j', `${'['.repeat(450)}1${']'.repeat(450)}`);
    await expect(port.submit(deep, never)).rejects.toMatchObject({ code: 'bad_input' });
    const deeper = `${'['.repeat(5_000)}1${']'.repeat(5_000)}`;
    await expect(jobs().submit(submit('j', deeper), never)).rejects.toMatchObject({
      code: 'bad_input',
    });
  });

  test('waits for the end of a job', async () => {
    const [again, end] = [deferred(), deferred()];
    let looks = 0;
    ends = () => {
      looks += 1;
      // Waited for long enough, and still running: it is waited for again.
      if (looks === 1) return Promise.resolve();
      again.resolve();
      return end.promise;
    };
    states.set('j', 'running');
    const ended = jobs().ended('j' as JobId, never);
    await again.promise;
    states.set('j', 'succeeded');
    end.resolve();
    expect(JSON.parse(await ended)).toEqual({ id: 'j', state: 'succeeded' });
    ends = () => Promise.resolve();
    await expect(jobs().ended('k' as JobId, never)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('stops waiting when its caller aborts', async () => {
    const [begun, stopped] = [deferred(), deferred()];
    const caller = serve({
      ended: async (_id: string, signal) => {
        begun.resolve();
        signal().addEventListener('abort', () => stopped.resolve());
        await stopped.promise;
      },
    });
    const life = new AbortController();
    const waiting = localJobs(caller).ended('j' as JobId, life.signal);
    await begun.promise;
    const reason = new Error('enough');
    life.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await stopped.promise;
  });
});

test('a call that cannot be cloned fails alone, and internal errors are logged', async () => {
  const caller = serve({ echo: (value: unknown) => Promise.resolve(value) });
  const good = caller.call('echo', 1);
  const bad = caller.call('echo', () => {});
  const other = caller.call('echo', 2);
  await expect(bad).rejects.toThrow('could not be cloned');
  expect(await Promise.all([good, other])).toEqual([1, 2]);
  const odd = serve({ odd: () => Promise.resolve(() => {}), fine: () => Promise.resolve(3) });
  const answers = await Promise.allSettled([odd.call('odd', null), odd.call('fine', null)]);
  expect(answers).toMatchObject([{ reason: { code: 'invariant' } }, { value: 3 }]);
  await expect(caller.call('none', 1)).rejects.toMatchObject({ code: 'invariant' });
  expect(faults).toHaveLength(1);
});

test('a program that waits for a result gets that alone, or the job that has none', async () => {
  states.set('good', 'succeeded').set('bad', 'failed');
  const port = jobs();
  expect(await port.result('good' as JobId, never)).toBe('{"n":1}');
  const { job = '' } = (await port.result('bad' as JobId, never)) as { job?: string };
  expect(JSON.parse(job)).toEqual({ id: 'bad', state: 'failed' });
  await expect(port.result('none' as JobId, never)).rejects.toMatchObject({ code: 'not_found' });
});

test('a signal ends all calls under it that have no answer, and no other', async () => {
  const parked = deferred<unknown>();
  let aborted = 0;
  const caller = serve({
    echo: (value: unknown) => Promise.resolve(value),
    wait: (_value: unknown, signal) => {
      signal().addEventListener('abort', () => (aborted += 1) === 2 && parked.resolve(null));
      return new Promise(() => {});
    },
  });
  const [one, other] = [new AbortController(), new AbortController()];
  const waits = [1, 2].map((no) => caller.call('wait', no, one.signal));
  expect(await caller.call('echo', 3, one.signal)).toBe(3);
  const kept = caller.call('echo', 4, other.signal);
  const reason = new Error('enough');
  one.abort(reason);
  for (const wait of waits) await expect(wait).rejects.toBe(reason);
  await parked.promise;
  expect(await kept).toBe(4);
  await expect(caller.call('echo', 5, one.signal)).rejects.toBe(reason);
});

test('the result of a job that goes on comes with its end, or looked for', async () => {
  const waiting = new Map<string, (result: string | null) => void>();
  const left: string[] = [];
  const parked = deferred<unknown>();
  tells = (id, tell) => {
    waiting.set(id, tell);
    if (waiting.size === 3) parked.resolve(null);
    return () => void left.push(id);
  };
  states.set('looked', 'succeeded');
  const port = jobs();
  const life = new AbortController();
  const heard = port.result('heard' as JobId, never);
  const looked = port.result('looked' as JobId, never);
  const gone = port.result('gone' as JobId, life.signal);
  await parked.promise;
  waiting.get('heard')?.('2');
  waiting.get('looked')?.(null);
  expect(await Promise.all([heard, looked])).toEqual(['2', '{"n":1}']);
  life.abort(new Error('enough'));
  await expect(gone).rejects.toThrow('enough');
  // In order behind it.
  await expect(port.ended('none' as JobId, never)).rejects.toMatchObject({ code: 'not_found' });
  expect(left).toEqual(['gone']);
});
