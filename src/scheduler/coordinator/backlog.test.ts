import { describe, expect, test } from 'vitest';
import { checkedSettings, parseJobDocument } from '../core/index.ts';
import type { Ask, JobId, SchedulerEvent, Submit } from '../core/index.ts';
import { Backlog } from './backlog.ts';
import { CommitBatch, type Input } from './commit-batch.ts';
import { weightOf } from './weight.ts';

const MIB = 1024 * 1024;
const LIMITS = { eventsMax: 100, smallBytesMax: 5 * MIB, largeBytesMax: 10 * MIB };
const settings = checkedSettings({});

/** A submission of about so many bytes. */
function event(name: string, bytes: number): Submit {
  const document = parseJobDocument({ tasks: [{ id: 't', executor: 'echo' }] }, settings);
  const [task] = document.tasks;
  const tasks = [{ ...task!, input: 'x'.repeat(bytes) }];
  return { type: 'submit', ask: 1 as Ask, jobId: name as JobId, document: { ...document, tasks } };
}

function input(of: SchedulerEvent): Input {
  return { kind: 'event', event: of, ask: null, images: [], bytes: weightOf(of) };
}

const [SMALL, LARGE] = [1_000, 4 * MIB];

/** The next batch, by the names of its jobs. */
function nextBatch(backlog: Backlog): string[] {
  const batch = new CommitBatch();
  for (let next = backlog.take(batch); next !== null; next = backlog.take(batch)) batch.add(next);
  backlog.closed(batch);
  return batch.inputs.map((each) => (each.kind === 'event' ? (each.event as Submit).jobId : ''));
}

describe('a backlog', () => {
  test('small events wait for at most one large one, and large ones for each other', () => {
    const backlog = new Backlog({ ...LIMITS, largeBytesMax: 100 * MIB });
    for (const name of ['L1', 'L2', 'L3', 'L4']) backlog.push(input(event(name, LARGE)));
    expect(nextBatch(backlog)).toEqual(['L1']);
    // Both came while L1 was written: the batch after it has no large one.
    backlog.push(input(event('a', SMALL)));
    backlog.push(input(event('b', SMALL)));
    expect(nextBatch(backlog)).toEqual(['a', 'b']);
    backlog.push(input(event('c', SMALL)));
    expect([nextBatch(backlog), nextBatch(backlog)]).toEqual([['L2'], ['c']]);
    expect([nextBatch(backlog), nextBatch(backlog)]).toEqual([['L3'], ['L4']]);
    expect(backlog.isEmpty).toBe(true);
  });

  test('ends a batch when it has enough bytes', () => {
    const backlog = new Backlog({ ...LIMITS, smallBytesMax: 100 * MIB });
    for (let at = 0; at < 10; at += 1) backlog.push(input(event(`${at}`, 900_000)));
    expect(nextBatch(backlog)).toEqual(['0', '1', '2', '3', '4']);
    expect(nextBatch(backlog)).toEqual(['5', '6', '7', '8', '9']);
  });

  test('refuses more bytes than may wait or be written, small and large apart', () => {
    const backlog = new Backlog(LIMITS);
    const [none, writing] = [new CommitBatch(), new CommitBatch()];
    writing.add(input(event('w', LARGE)));
    const large = event('x', LARGE);
    expect(backlog.refusal(large, none, writing)).toBeNull();
    backlog.push(input(large));
    expect(backlog.refusal(large, none, writing)?.code).toBe('overloaded');
    expect(backlog.refusal(large, none, none)).toBeNull();
    const small = event('s', 900_000);
    for (let at = 0; at < 5; at += 1) {
      expect(backlog.refusal(small, none, none)).toBeNull();
      backlog.push(input(small));
    }
    expect(backlog.refusal(small, none, none)?.code).toBe('overloaded');
  });

  test('accepts session events when clients have used up their share', () => {
    const backlog = new Backlog(LIMITS);
    const open = new CommitBatch();
    for (let at = 0; at < 5; at += 1) backlog.push(input(event('s', 900_000)));
    const session = { ask: 1 as Ask, nodeId: 'n' as never, sessionId: 's' as never };
    const lease = { jobNo: 1, taskNo: 0, fence: 1, term: 't' } as never;
    const result = 'x'.repeat(2 * MIB);
    const items = [{ kind: 'completed', lease, result } as const];
    expect(backlog.refusal({ type: 'report', ...session, items }, open, open)).toBeNull();
  });

  test('accepts one event that exceeds its limit when nothing else waits', () => {
    const backlog = new Backlog(LIMITS);
    expect(backlog.refusal(event('x', 20 * MIB), new CommitBatch(), new CommitBatch())).toBeNull();
  });
});
