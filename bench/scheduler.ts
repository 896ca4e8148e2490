/** What the core costs by itself: no store, no network, single-task jobs (the dearest kind). */
import {
  Effects,
  SchedulerState,
  checkedSettings,
  instant,
  parseJobDocument,
  step,
} from '../src/scheduler/core/index.ts';
import type {
  Ask,
  Assignment,
  JobId,
  NodeId,
  ReportItem,
  SchedulerEvent,
  SessionId,
  TermId,
} from '../src/scheduler/core/index.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const settings = checkedSettings();
const NOW = instant(Date.now());
const SESSION = { nodeId: 'w' as NodeId, sessionId: 's' as SessionId };
const DOCUMENT = { name: 'bench', tasks: [{ id: 'a', executor: 'echo', input: { n: 1 } }] };
/** As many as a busy batch holds. */
const BATCH = 500;

export const scheduler: Benchmark = {
  name: 'scheduler',
  summary: 'tasks a second in the core alone, by queue length; memory a queued task',
  run(quick, say) {
    const few = quick ? 1_000 : 10_000;
    const many = quick ? 10_000 : 1_000_000;
    const rounds = quick ? 1 : 3;
    const done = quick ? 500 : 10_000;
    const short: number[] = [];
    const long: number[] = [];
    const bytes: number[] = [];
    // The first, short round warms up.
    new Bench(few).cyclesPerSecond(few);
    for (let round = 1; round <= rounds; round += 1) {
      short.push(new Bench(few).cyclesPerSecond(done));
      const crowded = measureCrowded(many, done);
      long.push(crowded.rate);
      bytes.push(crowded.bytes);
      say(`  round ${round} of ${rounds}`);
    }
    const figures: Figure[] = [
      figure(`assign and complete, ${few} queued`, 'tasks/s', short),
      figure(`assign and complete, ${many} queued`, 'tasks/s', long),
      ratio(`${many} queued / ${few} queued`, long, short),
      figure(`memory a queued task, ${many} queued`, 'bytes', bytes),
    ];
    return Promise.resolve(figures);
  },
};

/** A function of its own: its state must be out of reach when the next round weighs the heap. */
function measureCrowded(
  queued: number,
  done: number,
): { readonly rate: number; readonly bytes: number } {
  const before = heldBytes();
  const bench = new Bench(queued);
  const bytes = (heldBytes() - before) / queued;
  return { rate: bench.cyclesPerSecond(done), bytes };
}

/** What is really held: the process's own size never shrinks, so later rounds would look free. */
function heldBytes(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** A state with some jobs queued and one node that can run them. */
class Bench {
  readonly #state: SchedulerState;
  #ask = 0;
  #pollNo = 0;

  constructor(queued: number) {
    const calendar = { next: () => null, check: () => null };
    this.#state = new SchedulerState({ settings, calendar, term: 'bench' as TermId });
    for (let at = 0; at < queued; at += 1) {
      const document = parseJobDocument(DOCUMENT, settings);
      const jobId = `0193-2f5c-6a10-7c3e-9b7a-${at}` as JobId;
      this.#feed({ type: 'submit', ask: this.#nextAsk(), jobId, document });
    }
    const offer = { id: SESSION.nodeId, sessionId: SESSION.sessionId, slots: BATCH, prefetch: 0 };
    this.#feed({
      type: 'register',
      ask: this.#nextAsk(),
      offer: { ...offer, executors: ['echo'], capabilities: {}, address: null, version: '0' },
    });
  }

  /** Polls and completes in batches, rows included. */
  cyclesPerSecond(count: number): number {
    const startedMs = performance.now();
    let done = 0;
    while (done < count) {
      const effects = new Effects();
      this.#pollNo += 1;
      const poll = { pollNo: this.#pollNo, capacity: BATCH, held: [] };
      step(this.#state, { type: 'poll', ask: this.#nextAsk(), ...SESSION, ...poll }, NOW, effects);
      step(this.#state, { type: 'assign' }, NOW, effects);
      const leases = assignmentsIn(effects).map(({ lease }) => lease);
      const items = leases.flatMap((lease): ReportItem[] => [
        { kind: 'started', lease },
        { kind: 'completed', lease, result: '1' },
      ]);
      step(this.#state, { type: 'report', ask: this.#nextAsk(), ...SESSION, items }, NOW, effects);
      effects.check(this.#state);
      effects.batch(this.#state);
      done += leases.length;
      if (leases.length === 0) throw new Error('the queue ran dry');
    }
    return (done * 1_000) / (performance.now() - startedMs);
  }

  #feed(event: SchedulerEvent): void {
    step(this.#state, event, NOW, new Effects());
  }

  #nextAsk(): Ask {
    this.#ask += 1;
    return this.#ask as Ask;
  }
}

function assignmentsIn(effects: Effects): readonly Assignment[] {
  return effects
    .takeReplies()
    .flatMap(({ body }) => (body.type === 'assignments' ? body.assignments : []));
}
