/** From moments to places on a line. Long stretches in which nothing but waiting happens are cut short. */
import type { Span } from './spans.ts';

export interface TimeScale {
  /** 0 at the left, 1 at the right. */
  at(ms: number): number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Where time was left out, and how much. */
  readonly breaks: readonly { readonly at: number; readonly ms: number }[];
  readonly ticks: readonly { readonly at: number; readonly ms: number }[];
}

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A cut takes this part of the busy time. */
const BREAK = 0.06;
/** That of a job that waits now takes this part of what is shown besides: it is what people look for. */
const LAST_BREAK = 0.5;
const CUT_AT_LEAST_MS = 5_000;

export function timeScale(
  spans: readonly Span[],
  fromMs: number,
  toMs: number,
  isOpen = false,
): TimeScale {
  const end = Math.max(toMs, fromMs + 1);
  const busy = joined(
    spans
      .filter(({ kind }) => kind === 'running' || kind === 'backoff')
      .map((span) => ({
        fromMs: Math.max(fromMs, span.fromMs),
        toMs: Math.min(end, span.toMs ?? end),
      })),
  );
  const busyMs = busy.reduce((sum, { fromMs: a, toMs: b }) => sum + b - a, 0);
  const longMs = Math.max(CUT_AT_LEAST_MS, busyMs);
  const cuts = gaps(busy, fromMs, end).filter(
    (gap) => busyMs > 0 && gap.toMs - gap.fromMs > longMs,
  );
  const cutMs = cuts.reduce((sum, cut) => sum + cut.toMs - cut.fromMs, 0);
  const lastMs = (end - fromMs - cutMs) * LAST_BREAK;
  const breakMs = (cut: Stretch): number =>
    isOpen && cut.toMs === end ? lastMs : Math.max(1, busyMs * BREAK);
  const leftOut = cuts.reduce((sum, cut) => sum + (cut.toMs - cut.fromMs) - breakMs(cut), 0);
  const lengthMs = end - fromMs - leftOut;
  const at = (ms: number): number => {
    let passed = Math.min(Math.max(ms, fromMs), end) - fromMs;
    for (const cut of cuts) {
      if (ms <= cut.fromMs) break;
      const inside = Math.min(ms, cut.toMs) - cut.fromMs;
      passed -= inside - (inside / (cut.toMs - cut.fromMs)) * breakMs(cut);
    }
    return passed / lengthMs;
  };
  const breaks = cuts.map((cut) => ({
    at: at((cut.fromMs + cut.toMs) / 2),
    ms: cut.toMs - cut.fromMs,
  }));
  return { at, fromMs, toMs: end, breaks, ticks: cuts.length > 0 ? [] : ticksOf(end - fromMs) };
}

function joined(stretches: readonly Stretch[]): readonly Stretch[] {
  const joint: { fromMs: number; toMs: number }[] = [];
  for (const { fromMs, toMs } of stretches.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = joint.at(-1);
    if (last !== undefined && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, toMs);
    else joint.push({ fromMs, toMs });
  }
  return joint;
}

function gaps(busy: readonly Stretch[], fromMs: number, toMs: number): readonly Stretch[] {
  const edges = [{ fromMs, toMs: fromMs }, ...busy, { fromMs: toMs, toMs }];
  return edges
    .slice(1)
    .map((next, at) => ({ fromMs: edges[at]?.toMs ?? fromMs, toMs: next.fromMs }));
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000,
  300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
];

/** The text of a tick is centred on it: one at the very end would run into the next column. */
const LAST_TICK = 0.92;

function ticksOf(lengthMs: number): TimeScale['ticks'] {
  const step = STEPS.find((each) => lengthMs / each <= 5) ?? 604_800_000;
  const ticks = [];
  for (let ms = step; ms < lengthMs * LAST_TICK; ms += step) ticks.push({ at: ms / lengthMs, ms });
  return ticks;
}
