import { Heap } from './memory/heap.ts';
import type { Instant, JobNo, NodeId, ScheduleId, SessionId, TaskNo } from './ids.ts';

/**
 * What is to happen at a time. Nothing is ever disarmed: a timer that no longer fits the state
 * when it comes due (other stamp, other fence, other session) is dropped.
 */
export type Timer = { readonly at: Instant } & (
  | {
      readonly type: 'wake' | 'queueTimeout';
      readonly jobNo: JobNo;
      readonly taskNo: TaskNo;
      readonly stamp: number;
    }
  | {
      readonly type: 'runTimeout';
      readonly jobNo: JobNo;
      readonly taskNo: TaskNo;
      readonly fence: number;
    }
  | {
      readonly type: 'taskTimeout';
      readonly jobNo: JobNo;
      readonly taskNo: TaskNo;
      readonly run: number;
    }
  | { readonly type: 'jobTimeout'; readonly jobNo: JobNo; readonly run: number }
  | {
      readonly type: 'session' | 'nodeDead' | 'nodeForget';
      readonly nodeId: NodeId;
      readonly sessionId: SessionId;
    }
  | { readonly type: 'outputs'; readonly jobNo: JobNo }
  | { readonly type: 'stragglers'; readonly jobNo: JobNo; readonly stage: number }
  | { readonly type: 'admission' }
  | { readonly type: 'limit'; readonly limitId: string }
  | { readonly type: 'quarantine'; readonly nodeId: NodeId }
  | { readonly type: 'schedule'; readonly scheduleId: ScheduleId; readonly timerNo: number }
);

/** Below this many it is not worth looking for stale ones. */
const CROWD_MIN = 1_024;

export class Timers {
  #heap: Heap<Timer> = new Heap(sooner);
  #crowd = CROWD_MIN;

  get size(): number {
    return this.#heap.size;
  }

  /** Twice as many as the last sweep left: a task that ended long before its timeout leaves a
   * timer behind, and those must not outnumber the others for long. */
  get isCrowded(): boolean {
    return this.#heap.size >= this.#crowd;
  }

  sweep(fits: (timer: Timer) => boolean): void {
    const kept: Heap<Timer> = new Heap(sooner);
    for (let timer = this.#heap.pop(); timer !== undefined; timer = this.#heap.pop()) {
      if (fits(timer)) kept.push(timer);
    }
    this.#heap = kept;
    this.#crowd = Math.max(CROWD_MIN, 2 * kept.size);
  }

  arm(timer: Timer): void {
    this.#heap.push(timer);
  }

  nextAt(): Instant | null {
    return this.#heap.peek()?.at ?? null;
  }

  /** The next timer due by `now`, taken out. */
  due(now: Instant): Timer | null {
    const next = this.#heap.peek();
    if (next === undefined || next.at > now) return null;
    return this.#heap.pop() ?? null;
  }
}

function sooner(a: Timer, b: Timer): boolean {
  return a.at < b.at;
}
