/** A leader sees the same through the journal as without one, at any moment and wherever its commits are. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Workload, operations } from '../../../../test/rig/harness/workload.ts';
import { deferred, VirtualClock } from '../../../kit/index.ts';
import { type Batch, instant, keyScope, type TaskRef, type TermId } from '../../core/index.ts';
import { type MemoryStore, openMemoryStore } from '../memory/memory.ts';
import type { Store, Term } from '../store.ts';
import { journaled } from './journaled-store.ts';

const TTL_MS = 60_000;

async function lead(store: Store): Promise<Term> {
  const term = 'term' as TermId;
  const candidacy = { shard: 0, nodeId: 'n', url: null, grpc: null, term, ttlMs: TTL_MS };
  const campaign = await store.campaign(candidacy);
  if (!campaign.won) throw new Error('nobody else is there');
  return campaign.term;
}

/** Everything that the batches have ever named. */
class Names {
  readonly jobs: Set<Batch['jobInserts'][number]['id']> = new Set();
  readonly jobKeys: Set<string> = new Set(['unknown']);
  readonly refs: TaskRef[] = [];
  readonly scopes: Set<string> = new Set(['unknown']);

  learn({ jobInserts, specInserts, keyUpserts }: Batch): void {
    for (const { id, idempotencyKey } of jobInserts) {
      this.jobs.add(id);
      if (idempotencyKey !== null) this.jobKeys.add(idempotencyKey);
    }
    for (const { jobNo, taskNo, executor, idempotencyKey } of specInserts) {
      this.refs.push({ jobNo, taskNo });
      if (idempotencyKey !== null) this.scopes.add(keyScope(executor, idempotencyKey));
    }
    for (const { scope } of keyUpserts) this.scopes.add(scope);
  }

  async seenThrough(store: Store): Promise<unknown> {
    const jobs = [...this.jobs];
    const rows = await store.taskRows(0, this.refs);
    const keys = await store.keys(0, [...this.scopes]);
    const { seq } = await store.lastSeq(0);
    return {
      // First those that may be answered without a fold.
      jobRows: await Promise.all(jobs.map((id) => store.jobRow(0, id))),
      jobIds: await Promise.all([...this.jobKeys].map((key) => store.jobIdForKey(0, key))),
      rows,
      keys: new Map(keys.map((row) => [row.scope, row])),
      inputs: await store.inputs(0, this.refs),
      results: await store.results(0, this.refs),
      steps: await Promise.all(
        this.refs.flatMap((ref) => [1, 2].map((run) => store.steps(0, ref, run))),
      ),
      views: await Promise.all(jobs.map((id) => store.job(0, id))),
      seq,
      newest: await store.events(0, Math.max(0, seq - 2), 9),
      events: await Promise.all([0, 7, 40].map((after) => store.events(0, after, 30))),
      eventsOf: await Promise.all(jobs.map((id) => store.events(0, 5, 20, id))),
      inbox: await store.inbox(0, 100),
    };
  }
}

/** The tables take in what is pending while an answer is read from them: the worst moment for it. */
function folding(tables: MemoryStore, fold: () => Promise<unknown>): MemoryStore {
  const slowly: (keyof Overlaid)[] = ['job', 'jobRow', 'steps', 'inputs', 'results', 'taskRows'];
  return new Proxy(tables, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        if (slowly.some((each) => each === name)) await fold();
        return (await member.apply(target, args)) as unknown;
      };
    },
  });
}

/** Commits are made at once, and answered when the test says so. */
function answering(tables: MemoryStore) {
  let go = deferred();
  return {
    answer: () => go.resolve(),
    keep: () => void (go = deferred()),
    tables: new Proxy(tables, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        if (name !== 'append') return member.bind(target) as unknown;
        return async (...args: Parameters<MemoryStore['append']>) => {
          const { promise } = go;
          const made = target.append(...args);
          await promise;
          return made;
        };
      },
    }),
  };
}

type Overlaid = Pick<Store, 'job' | 'jobRow' | 'steps' | 'inputs' | 'results' | 'taskRows'>;

const choicesOf = fc.array(fc.nat(9), { minLength: 5 });

test('every read shows what was committed, folded or not', async () => {
  await fc.assert(
    fc.asyncProperty(operations, choicesOf, fc.nat(7), async (each, choices, kind) => {
      const isFolding = kind % 2 === 1;
      const readableRows = kind % 4 < 2 ? 0 : 20;
      const defersJobs = kind >= 4;
      const batches: Batch[] = [];
      const ignore = (): void => {};
      Workload.run(each, ignore, (batch) => batches.push(batch));
      const clock = new VirtualClock();
      const options = { now: () => instant(0) };
      const plain = openMemoryStore(options);
      const tables = openMemoryStore(options);
      const racing = folding(tables, () => store.nodes(0));
      const timing = { clock, foldAfterMs: 100, foldWhenQuietMs: 150, readableRows, defersJobs };
      const late = answering(isFolding ? racing : tables);
      const store = journaled(late.tables, timing);
      const other = journaled(tables, timing);
      const terms = [await lead(plain), await lead(store)] as const;
      const names = new Names();
      const underWay: { readonly batch: Batch; readonly answer: Promise<unknown> }[] = [];
      let hasOther = false;
      const answered = async (): Promise<void> => {
        for (const { batch } of underWay) await plain.commit(terms[0], TTL_MS, batch);
        late.answer();
        for (const { answer } of underWay.splice(0)) await answer;
        late.keep();
      };
      for (const [at, batch] of batches.entries()) {
        const numbered = { ...batch, commitNo: at + 1 };
        underWay.push({ batch: numbered, answer: store.commit(terms[1], TTL_MS, numbered) });
        names.learn(batch);
        // Some are sent while others are not answered yet, and nobody sees those.
        const depth = (choices[(at + 1) % choices.length] ?? 0) % 4;
        if (underWay.length > depth) await answered();
        const choice = choices[at % choices.length] ?? 0;
        // Now and then the tables follow, or somebody looks.
        if (choice < 4) await clock.advance(100);
        if (choice > 7) {
          // One of them leads, the other one reads the journal of the first.
          const reader = choice === 8 ? store : other;
          // Others see what the journal has, and once they have folded it everybody does.
          hasOther ||= reader === other;
          if (hasOther) await answered();
          expect(await names.seenThrough(reader)).toEqual(await names.seenThrough(plain));
        }
      }
      await answered();
      expect(await names.seenThrough(store)).toEqual(await names.seenThrough(plain));
    }),
    { numRuns: 12 },
  );
});
