/** A schedule on the harness: let time pass, and count what fired. */
import type { Harness } from '../harness.ts';
import { echo } from '../harness.ts';
import { parseJobDocument, parseScheduleSpec } from '../../../src/scheduler/core/index.ts';
import type { ReplyBody, ScheduleId } from '../../../src/scheduler/core/index.ts';
import { everyCalendar } from './every-calendar.ts';
import type { ScriptedNode } from './scripted-node.ts';

export const scheduled: Readonly<Record<string, unknown>> = { name: 'nightly', tasks: [echo('a')] };

export function every(everyMs: number, more: object = {}): Readonly<Record<string, unknown>> {
  return { timing: { everyMs }, document: scheduled, ...more };
}

/** Lets time pass bit by bit; the node runs whatever comes, at once. */
export function live(world: Harness, node: ScriptedNode, ms: number): void {
  for (let left = ms; left > 0; left -= 10_000) {
    world.advance(Math.min(left, 10_000));
    node.beat();
    for (const task of node.poll(99)) node.complete(task);
  }
}

export function fired(world: Harness): number {
  return world.log().filter(({ kind }) => kind === 'schedule.fired').length;
}

export function missed(world: Harness): number {
  const counts = world
    .log()
    .filter(({ kind }) => kind === 'schedule.missed')
    .map(({ detail }) => (JSON.parse(detail ?? '{}') as { missed: number }).missed);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** What a flow declares, each with its id. */
export function declared(
  world: Harness,
  flow: string,
  raws: readonly Readonly<Record<string, unknown>>[],
  forgets?: true,
): ReplyBody {
  const schedules = raws.map(({ id, ...raw }) => {
    const value = { ...raw, flow, declared: true };
    const spec = parseScheduleSpec(value, world.settings, everyCalendar);
    const document = parseJobDocument(spec.document, world.settings);
    return { id: id as ScheduleId, spec, document };
  });
  const event = { type: 'declareSchedules', flow, schedules, unusable: [] } as const;
  return world.ask({ ...event, ...(forgets && { forgets }) });
}
