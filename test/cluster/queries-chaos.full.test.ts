import { describe, expect, test, vi } from 'vitest';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { RefusedCall } from '../rig/cluster/client.ts';
import { pauseMs } from '../rig/cluster/deadline.ts';
import type { CorpusQuery } from '../sql/corpus.ts';
import type { Answer } from '../sql/contract-values.ts';
import { Dice } from '../sql/random/dice.ts';
import { scratch } from '../sql/scratch.ts';
import { inLanes, knownQueries, tryKnown } from '../sql/trial.ts';
import { QueryCluster, SLOW, damage, enginesOf, isLinux } from '../rig/cluster/query-cluster.ts';
import { until } from '../rig/until.ts';

vi.setConfig({ testTimeout: 2 * 3_600_000 });
const here = scratch();

const SEED = Number(process.env['TEST_SQL_SEED'] ?? 1);
const ROUNDS = Number(process.env['TEST_SQL_ROUNDS'] ?? 25);
/** Queries that are under way at the same time. */
const TOGETHER = 3;
const FAULT_WITHIN_MS = 1_500;
/** How often rows may be gone before they are read. */
const LOST_MAX = 5;

/** Nobody is sent away for faults that are not his. */
const PATIENT = {
  ...{ maxLosses: 50, maxAttempts: 50, maxBackoffMs: 1_000 },
  ...{ quarantineFailures: 1_000_000, quarantineJobs: 1_000_000 },
};

const FAULTS = ['worker', 'engine', 'sleep', 'leader', 'damage'] as const;
type Fault = (typeof FAULTS)[number];

function queries(): readonly CorpusQuery[] {
  const slow: CorpusQuery = {
    ...{ name: 'slow', sql: SLOW, leeway: { order: [1] } },
    ...{ fails: null, isRefused: false, volatile: false },
  };
  return [slow, ...knownQueries().filter(({ name }) => /^q\d\d$/.test(name))];
}

/** As a user would: who loses his rows asks again. */
async function answerOf(fixture: QueryCluster, sql: string, live: Set<string>): Promise<Answer> {
  for (let lost = 0; ; lost += 1) {
    const id = await fixture.submit(sql);
    live.add(id);
    try {
      const { state, error } = await fixture.ended(id);
      if (state !== 'succeeded') throw new Error(`${state}: ${error?.code} ${error?.message}`);
      return await fixture.rows(id);
    } catch (error) {
      const code = error instanceof RefusedCall ? codeIn(error.problem) : null;
      if (code !== 'result_lost' || lost === LOST_MAX) throw error;
    } finally {
      live.delete(id);
    }
  }
}

function codeIn(problem: unknown): string | undefined {
  return (problem as { readonly code?: string } | null)?.code;
}

class FaultInjector {
  readonly counts: Record<Fault, number> = { worker: 0, engine: 0, sleep: 0, leader: 0, damage: 0 };
  readonly #fixture: QueryCluster;
  readonly #dice: Dice;

  constructor(fixture: QueryCluster, dice: Dice) {
    this.#fixture = fixture;
    this.#dice = dice;
  }

  async strike(live: ReadonlySet<string>): Promise<void> {
    await pauseMs(this.#dice.below(FAULT_WITHIN_MS));
    const fault = this.#dice.pick(FAULTS);
    const worker = this.#dice.pick(this.#fixture.cluster.workers);
    this.counts[fault] += 1;
    switch (fault) {
      case 'worker':
        return restarted(worker);
      case 'engine':
        for (const pid of enginesOf(worker)) process.kill(pid, 'SIGKILL');
        return;
      case 'sleep':
        worker.process.pause();
        // Sometimes past its TTL.
        await pauseMs(this.#dice.below(8_000));
        return worker.process.resume();
      case 'leader':
        return restarted(await this.#fixture.cluster.leading());
      case 'damage':
        for (const id of live)
          for (const folder of await this.#fixture.outputs(worker, id))
            // It may be removed at this very moment.
            await damage(folder).catch(() => {});
    }
  }
}

async function restarted(node: ClusterNode): Promise<void> {
  await node.process.crash();
  await node.start();
}

describe.runIf(isLinux)('queries under faults', () => {
  test('are right, whatever is killed, stopped or damaged, and leave nothing behind', async () => {
    const dice = new Dice(SEED);
    const options = { leaders: 2, workers: 3, slots: 2, settings: PATIENT };
    const fixture = await QueryCluster.start(here, options);
    const faultInjector = new FaultInjector(fixture, dice);
    const live = new Set<string>();
    const all = queries();
    const wrong: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const chosen = [all[0]!, ...Array.from({ length: TOGETHER - 1 }, () => dice.pick(all))];
      const answers = inLanes(chosen, TOGETHER, (query) =>
        tryKnown(here.oracle, query, (sql) => answerOf(fixture, sql, live)),
      );
      await faultInjector.strike(live);
      await faultInjector.strike(live);
      wrong.push(...(await answers));
    }
    console.log(
      `seed ${SEED}: ${ROUNDS * TOGETHER} queries, ${JSON.stringify(faultInjector.counts)}`,
    );
    expect(wrong).toEqual([]);
    for (const worker of fixture.cluster.workers) {
      const drafts = async (): Promise<boolean> =>
        (await fixture.leftovers(worker)).every((name) => !/\/(tmp|shared)\//.test(name));
      await until(drafts, `something stays on ${worker.id}`, 30_000);
    }
    await fixture.end();
  });
});
