/** Whatever clients and workers send, the leader never reloads its state because of it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import {
  isMillraceError,
  parseJobDocument,
  checkedSettings,
  taskNo,
} from '../../../src/scheduler/core/index.ts';
import type { JobId } from '../../../src/scheduler/core/index.ts';
import type { QueryPlanner } from '../../../src/scheduler/coordinator/index.ts';
import { openDuckdbStore } from '../../../src/scheduler/store/index.ts';
import type { Store } from '../../../src/scheduler/store/index.ts';
import { ScriptedWorker, lead, memoryStore } from '../../rig/lead.ts';
import type { Led } from '../../rig/lead.ts';
import { VirtualClock } from '../../rig/virtual-clock.ts';
import { openTestStore } from '../../rig/millrace-database.ts';
import { hostileCalls, type HostileCall, type Target } from './hostile-calls.ts';

const settings = checkedSettings({});

/** Makes a job of whatever it gets: what gets past the real one must not hurt either. */
const planner: QueryPlanner = {
  plan: (request) => {
    const { sql } = request as { readonly sql: string };
    const document = parseJobDocument({ tasks: [{ id: 't', executor: 'echo' }] }, settings);
    const seeds = new Map([[taskNo(0), { state: 'succeeded' as const, result: `"${sql}"` }]]);
    return Promise.resolve({ document: { ...document, name: `sql: ${sql}` }, seeds });
  },
};

async function duckdbStore(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-hostile-'));
  const store = await openDuckdbStore({ path: join(folder, 'store.db') });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  return store;
}

const STORES: readonly [string, (clock: VirtualClock) => Promise<Store>, number][] = [
  ['memory', (clock) => Promise.resolve(memoryStore(clock)), 40],
  ['DuckDB', () => duckdbStore(), 12],
  ['PostgreSQL', async () => (await openTestStore()).store, 25],
];

/** Errors that a caller may see; all others are faults of ours. */
const FAULTS = new Set(['invariant', 'bad_row', 'store_unavailable', 'not_leader', 'loading']);

class HostileRound {
  readonly led: Led;
  readonly worker: ScriptedWorker;
  readonly faults: string[] = [];
  #round = 0;

  constructor(led: Led, worker: ScriptedWorker) {
    this.led = led;
    this.worker = worker;
  }

  async round(calls: readonly HostileCall[]): Promise<void> {
    this.#round += 1;
    const { leader } = this.led;
    const jobId = `innocent-${this.#round}` as JobId;
    const document = { tasks: [{ id: 'a', executor: 'echo' }] };
    this.worker.held.length = 0;
    const leases = (await this.worker.pollNow(6)).map(({ lease }) => lease);
    const target: Target = { leader, worker: this.worker, leases };
    const answers = calls.map((call) => this.#judge(call, target));
    const innocent = leader.jobs.submit(document, { jobId });
    await Promise.all(answers);
    expect(await innocent).toMatchObject({ jobId, changed: true });
    await leader.jobs.cancel(jobId, 'it was only to see');
  }

  async #judge({ name, make }: HostileCall, target: Target): Promise<void> {
    try {
      await make(target);
    } catch (thrown) {
      if (isMillraceError(thrown) && !FAULTS.has(thrown.code)) return;
      const { stack, message } = thrown as Error;
      this.faults.push(`${name}: ${message} ${stack?.split('\n').slice(1, 4).join('')}`);
    }
  }
}

test.each(STORES)('hostile calls to a leader on %s', async (_name, open, numRuns) => {
  const clock = new VirtualClock();
  const store = await open(clock);
  let loads = 0;
  const counted: Store = new Proxy(store, {
    get(of, key) {
      if (key === 'loadCluster') loads += 1;
      const value: unknown = Reflect.get(of, key, of);
      return typeof value === 'function' ? (value.bind(of) as unknown) : value;
    },
  });
  const led = await lead(counted, clock, { planner });
  let end: string | null = null;
  void led.ended.then(({ message }) => (end = message));
  await led.leader.loaded;
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo', 'constructor']);
  const rounds = new HostileRound(led, worker);
  await fc.assert(
    fc.asyncProperty(hostileCalls, async (calls) => {
      await rounds.round(calls);
      // Each event, and the tick that follows it, was written as it came.
      expect({ loads, end, faults: rounds.faults }).toEqual({ loads: 1, end: null, faults: [] });
    }),
    { numRuns, endOnFailure: true },
  );
});
