import { expect, test } from 'vitest';
import { jobId } from '../../../test/rig/lead.ts';
import type { JobId, JobRow } from '../core/index.ts';
import { type IdStore, StoredIds } from './stored-ids.ts';

/** Notes what is looked up. */
class FakeStore implements Required<IdStore> {
  readonly ids: Set<JobId>;
  readonly asked: string[] = [];
  portions = 0;
  failsAt = Infinity;

  constructor(ids: Iterable<string>) {
    this.ids = new Set([...ids].map(jobId));
  }

  jobRow = async (_shard: number, id: JobId): Promise<JobRow | null> => {
    this.asked.push(id);
    return this.ids.has(id) ? ({ id } as JobRow) : null;
  };

  takenIds = async (_shard: number, ids: readonly JobId[]): Promise<ReadonlySet<JobId>> => {
    this.asked.push(...ids);
    return new Set(ids.filter((id) => this.ids.has(id)));
  };

  jobIds = async (after: string, limit: number): Promise<readonly JobId[]> => {
    this.portions += 1;
    if (this.portions === this.failsAt) throw new Error('the store is away');
    const later = [...this.ids].toSorted().filter((id) => id > after);
    return later.slice(0, limit);
  };
}

const many = Array.from({ length: 12_000 }, (_, no) => `old-${no}`);
const insert = (...ids: string[]) => ({ jobInserts: ids.map((id) => ({ id }) as JobRow) });

test('looks up whatever may be stored, and nothing that cannot be', async () => {
  const store = new FakeStore(many);
  const stored = new StoredIds(store, 0);
  await stored.load();
  expect(store.portions).toBe(3);
  for (const id of ['old-0', 'old-11999']) expect(await stored.row(jobId(id))).toEqual({ id });
  expect([...(await stored.taken([jobId('old-7'), jobId('new-1')]))]).toEqual(['old-7']);
  const news = Array.from({ length: 1_000 }, (_, no) => jobId(`new-${no}`));
  store.asked.length = 0;
  expect((await stored.taken(news)).size).toBe(0);
  expect(await stored.row(jobId('another'))).toBeNull();
  // It may take a few for others.
  expect(store.asked.length).toBeLessThan(20);
});

test('knows what was committed in this term, also while the rest is read', async () => {
  const store = new FakeStore(many);
  const stored = new StoredIds(store, 0);
  const loading = stored.load();
  stored.learn(insert('mine'));
  store.ids.add(jobId('mine'));
  await loading;
  stored.learn(insert('later'));
  store.ids.add(jobId('later'));
  expect(await stored.row(jobId('mine'))).not.toBeNull();
  expect([...(await stored.taken([jobId('later')]))]).toEqual(['later']);
});

test.each([
  ['before it has read them', (_stored: StoredIds, _store: FakeStore) => Promise.resolve()],
  [
    'when it could not read them all',
    async (stored: StoredIds, store: FakeStore) => {
      store.failsAt = 2;
      await expect(stored.load()).rejects.toThrow('away');
    },
  ],
  ['when there are too many', (stored: StoredIds) => stored.load(10_000)],
])('looks up every id %s', async (_when, prepare) => {
  const store = new FakeStore(many);
  const stored = new StoredIds(store, 0);
  await prepare(stored, store);
  expect(await stored.row(jobId('new'))).toBeNull();
  expect((await stored.taken([jobId('new-1')])).size).toBe(0);
  expect(store.asked).toEqual(['new', 'new-1']);
});

test('looks up every id where a store says that this costs nothing', async () => {
  const { jobRow, takenIds, asked } = new FakeStore([]);
  const stored = new StoredIds({ jobRow, takenIds }, 0);
  await stored.load();
  expect(await stored.row(jobId('new'))).toBeNull();
  expect(asked).toEqual(['new']);
});
