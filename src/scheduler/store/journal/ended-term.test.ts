/** A term that ends while somebody waits for the tables. */
import { expect, test } from 'vitest';
import { aJob, anEvent } from '../../../../test/rig/conformance/rows.ts';
import { deferred, VirtualClock } from '../../../kit/index.ts';
import {
  type Batch,
  batchOf,
  instant,
  jobNo,
  MillraceError,
  type TermId,
} from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import { deposed } from '../refusals.ts';
import type { Term } from '../store.ts';
import { journaled } from './journaled-store.ts';
import type { JournalTables } from './port.ts';

const TTL_MS = 60_000;

const submission = (commitNo: number): Batch =>
  batchOf({
    ...{ commitNo, lastSeq: 0, nextJobNo: jobNo(commitNo + 1) },
    jobInserts: [aJob(commitNo)],
  });

test('a read that waits for a fold shows what was committed, although the term ends meanwhile', async () => {
  const memory: JournalTables = openMemoryStore({ now: () => instant(0) });
  const [began, go] = [deferred(), deferred()];
  const foldNow = memory.fold.bind(memory);
  const tables = Object.assign(memory, {
    fold: async (...fold: Parameters<JournalTables['fold']>) => {
      began.resolve();
      await go.promise;
      return foldNow(...fold);
    },
    renew: (term: Term) => Promise.reject(deposed(term)),
  });
  const store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  const candidacy = { shard: 0, nodeId: 'n', url: null, grpc: null };
  const campaign = await store.campaign({ ...candidacy, term: 'term' as TermId, ttlMs: TTL_MS });
  if (!campaign.won) throw new Error('nobody else is there');
  await store.commit(campaign.term, TTL_MS, submission(1));
  const first = store.jobs(0, { limit: 9 });
  await began.promise;
  await store.commit(campaign.term, TTL_MS, submission(2));
  const second = store.jobs(0, { limit: 9 });
  await expect(store.renew(campaign.term, TTL_MS, 2)).rejects.toMatchObject({ code: 'deposed' });
  go.resolve();
  await first;
  expect((await second).map(({ id }) => id)).toEqual(['job-2', 'job-1']);
});

test('a late commit of a term that was resigned does not make its reads stand still', async () => {
  const memory: JournalTables = openMemoryStore({ now: () => instant(0) });
  const store = journaled(memory, { clock: new VirtualClock(), foldAfterMs: 100 });
  const candidacy = { shard: 0, url: null, grpc: null, ttlMs: TTL_MS };
  const campaign = await store.campaign({ ...candidacy, nodeId: 'n', term: 'term' as TermId });
  if (!campaign.won) throw new Error('nobody else is there');
  await store.resign(campaign.term);
  const append = memory.append.bind(memory);
  const away = new MillraceError({ code: 'store_unavailable', what: 'away' });
  Object.assign(memory, { append: () => Promise.reject(away) });
  const late = store.commit(campaign.term, TTL_MS, submission(1));
  await expect(late).rejects.toMatchObject({ code: 'deposed' });
  Object.assign(memory, { append });
  const other = journaled(memory, { clock: new VirtualClock(), foldAfterMs: 100 });
  const next = await other.campaign({ ...candidacy, nodeId: 'm', term: 'next' as TermId });
  if (!next.won) throw new Error('the first term was resigned');
  const events = [anEvent(1, { kind: 'leader.elected' })];
  await other.commit(next.term, TTL_MS, batchOf({ ...submission(1), lastSeq: 1, events }));
  expect(await store.lastSeq(0)).toMatchObject({ seq: 1 });
  expect(await store.events(0, 0, 9)).toHaveLength(1);
});
