/**
 * Whatever clients and a worker do while the store goes back to earlier states again and again: nobody is given the
 * result of another job, and what was acknowledged and not lost is there and comes to its end.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkedSettings, isMillraceError } from '../core/index.ts';
import type { ErrorCode, JobId, TermId } from '../core/index.ts';
import type { ReadyAssignment } from '../contract/index.ts';
import type { MemoryStore } from '../store/index.ts';
import { ScriptedWorker, jobId, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { cronCalendar } from './calendar.ts';
import { LeaderElection } from './leader-election.ts';

type Action = 'submit' | 'poll' | 'complete' | 'snapshot' | 'rewind' | 'wait' | 'rejoin';

/** What a caller may hear while the leader changes. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'rewound',
  'deposed',
  'not_leader',
  'loading',
  'unknown_session',
  'superseded',
  'shutting_down',
]);

class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly store: MemoryStore = memoryStore(this.clock);
  readonly election: LeaderElection;
  #acknowledged: Set<JobId> = new Set();
  readonly #pictures: { readonly restore: () => void; readonly jobs: ReadonlySet<JobId> }[] = [];
  #held: { readonly worker: ScriptedWorker; readonly assignment: ReadyAssignment }[] = [];
  #worker: ScriptedWorker | null = null;
  #names = 0;

  constructor() {
    let terms = 0;
    this.election = new LeaderElection({
      store: this.store,
      clock: this.clock,
      settings: checkedSettings(),
      calendar: cronCalendar,
      shard: 0,
      nodeId: 'leader',
      url: null,
      grpc: null,
      newTermId: () => `term-${(terms += 1)}` as TermId,
      random: () => 0.5,
    });
    this.election.start();
  }

  async act(action: Action): Promise<void> {
    try {
      await this.#try(action);
    } catch (error) {
      if (!isMillraceError(error) || !PASSING.has(error.code)) throw error;
      // As real workers do.
      if (error.code === 'unknown_session' || error.code === 'superseded') this.#worker = null;
    }
    await this.clock.advance(1);
  }

  async #try(action: Action): Promise<void> {
    const { leader } = this.election;
    if (action === 'wait' || leader === null) return this.clock.advance(2_000);
    for (const { worker } of this.#held) worker.leader = leader;
    if (this.#worker !== null) this.#worker.leader = leader;
    switch (action) {
      case 'submit': {
        const id = jobId(`job-${(this.#names += 1)}`);
        await leader.jobs.submit({ tasks: [{ id: 'a', executor: 'echo' }] }, { jobId: id });
        this.#acknowledged.add(id);
        return;
      }
      case 'rejoin':
        this.#worker = null;
        return;
      case 'poll': {
        const name = `w-${(this.#names += 1)}`;
        const worker = (this.#worker ??= await ScriptedWorker.join(leader, name, ['echo']));
        const given = await worker.pollNow(2);
        this.#held.push(...given.map((assignment) => ({ worker, assignment })));
        return;
      }
      case 'complete': {
        const [first, ...rest] = this.#held;
        this.#held = rest;
        if (first === undefined) return;
        const { worker, assignment } = first;
        const { held } = worker;
        held.splice(0, held.length, ...held.filter((lease) => lease !== assignment.lease));
        await worker.complete(assignment.lease, assignment.jobId);
        return;
      }
      case 'snapshot':
        this.#pictures.push({
          restore: this.store.snapshot(),
          jobs: new Set(this.#acknowledged),
        });
        return;
      case 'rewind': {
        const picture = this.#pictures[this.#names % Math.max(1, this.#pictures.length)];
        if (picture === undefined) return;
        picture.restore();
        this.#acknowledged = new Set(picture.jobs);
      }
    }
  }

  async expectOwnResults(): Promise<void> {
    for (const { id } of await this.store.jobs(0, { limit: 1_000 })) {
      const result = (await this.store.job(0, id))?.tasks[0]?.result ?? null;
      if (result !== null) expect(result).toBe(JSON.stringify(id));
    }
  }

  async expectAllDone(): Promise<void> {
    for (let round = 0; round < 200; round += 1) {
      const live = await this.store.jobs(0, { limit: 1_000, state: 'queued' });
      const running = await this.store.jobs(0, { limit: 1_000, state: 'running' });
      if (live.length + running.length === 0) break;
      for (const action of ['poll', 'complete', 'complete', 'wait'] as const)
        await this.act(action);
    }
    for (const id of this.#acknowledged) {
      expect(await this.store.jobRow(0, id)).toMatchObject({ state: 'succeeded' });
    }
  }
}

const action = fc.constantFrom<Action>(
  ...(['submit', 'submit', 'submit', 'poll', 'poll', 'complete', 'complete'] as const),
  ...(['snapshot', 'rewind', 'wait', 'rejoin'] as const),
);

test('the result of a lost job is never returned, and what was acknowledged after a rewind holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 80 }), async (actions) => {
      const world = new World();
      await world.clock.advance(1);
      for (const each of actions) {
        await world.act(each);
        await world.expectOwnResults();
      }
      await world.expectAllDone();
      await world.expectOwnResults();
      await world.election.stop();
    }),
    { numRuns: 250 },
  );
});
