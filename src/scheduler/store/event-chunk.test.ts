import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type EventRow, instant, jobNo, taskNo } from '../core/index.ts';
import * as any from '../../../test/rig/conformance/arbitraries.ts';
import { anEvent } from '../../../test/rig/conformance/rows.ts';
import { CHUNK_EVENTS, chunksOf, type EventChunk, eventsIn, storedChunk } from './event-chunk.ts';

test('events come out of a chunk as they went in', () => {
  fc.assert(
    fc.property(any.events(), fc.nat(), (rows, before) => {
      const events = rows.map((row, at) => ({ ...row, seq: before + at + 1 }));
      expect(chunksOf(events).flatMap(eventsIn)).toEqual(events);
      expect(chunksOf(events, 'blocks').flatMap(eventsIn)).toEqual(events);
      const brief = chunksOf(events, 'blocks', true);
      expect(brief.flatMap(eventsIn)).toEqual(events);
      expect(brief.map(storedChunk)).toEqual(chunksOf(events, 'blocks'));
    }),
  );
});

test('the tasks of a large job take a number in the journal, and a list in the tables', () => {
  const events = Array.from({ length: CHUNK_EVENTS }, (_, at) =>
    anEvent(at + 1, { jobNo: jobNo(7), taskNo: taskNo(3 + at), detail: '{"from":1}' }),
  );
  const [brief] = chunksOf(events, 'blocks', true);
  expect(brief?.body.length).toBeLessThan(100);
  expect(eventsIn(brief as EventChunk)).toEqual(events);
  const [stored] = chunksOf(events, 'blocks');
  expect(storedChunk(brief as EventChunk)).toEqual(stored);
  expect(storedChunk(stored as EventChunk)).toBe(stored);
});

/** What each of these jobs has had, one after the other. */
function eventsOf(jobs: readonly (number | null)[], kinds: readonly EventRow['kind'][]) {
  const all = jobs.flatMap((job) => kinds.map((kind) => ({ kind, job })));
  return all.map(({ kind, job }, at) =>
    anEvent(at + 1, { kind, jobNo: job === null ? null : jobNo(job) }),
  );
}

test('jobs that have had the same events share one block, wherever their numbers are', () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.integer({ min: 1, max: 9 }), { nil: null })),
      fc.subarray<EventRow['kind']>(['created', 'queued', 'assigned'], { minLength: 1 }),
      (jobs, kinds) => {
        const events = eventsOf(jobs, kinds);
        expect(chunksOf(events, 'blocks').flatMap(eventsIn)).toEqual(events);
      },
    ),
  );
  const jobs = Array.from({ length: 200 }, (_, at) => 1_000_000 + (at < 100 ? at : at * 7));
  const [chunk] = chunksOf(eventsOf(jobs.slice(0, 100), ['created', 'queued']), 'blocks');
  expect(JSON.parse(chunk?.body ?? '')).toMatchObject({
    blocks: [
      [
        [0, 100],
        [{}, {}],
      ],
    ],
  });
  expect(chunk?.body.length).toBeLessThan(100);
  const scattered = eventsOf(jobs, ['created', 'queued']);
  expect(chunksOf(scattered, 'blocks').flatMap(eventsIn)).toEqual(scattered);
});

test('jobs that have little in common are stored in columns', () => {
  const events = Array.from({ length: 90 }, (_, at) =>
    anEvent(at + 1, { jobNo: jobNo(at + 1), detail: `${at}` }),
  );
  const [chunk] = chunksOf(events, 'blocks');
  expect(chunk).toEqual(chunksOf(events)[0]);
});

test('a large commit is cut into chunks that follow on each other', () => {
  const events = Array.from({ length: 2 * CHUNK_EVENTS + 1 }, (_, at) => anEvent(at + 8));
  const chunks = chunksOf(events);
  expect(chunks.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])).toEqual([
    [8, 507],
    [508, 1_007],
    [1_008, 1_008],
  ]);
  expect(chunks.flatMap(eventsIn)).toEqual(events);
  expect(chunksOf([])).toEqual([]);
});

test('a chunk tells its newest time and its job numbers, or that it has none', () => {
  const [at, later] = [instant(1_000), instant(2_000)];
  const [chunk] = chunksOf([
    anEvent(1, { at, jobNo: jobNo(9) }),
    anEvent(2, { at: later }),
    anEvent(3, { at, jobNo: jobNo(7) }),
  ]);
  expect(chunk).toMatchObject({ at: 2_000, jobMin: 7, jobMax: 9 });
  expect(chunksOf([anEvent(1)])[0]).toMatchObject({ jobMin: null, jobMax: null });
});

test('what is the same for all events is stored once', () => {
  const events = Array.from({ length: CHUNK_EVENTS }, (_, at) => anEvent(at + 1));
  expect(chunksOf(events)[0]?.body.length).toBeLessThan(100);
});

test('a gap in the numbers is refused', () => {
  expect(() => chunksOf([anEvent(1), anEvent(3)])).toThrow(/the next event number is 2/);
});
