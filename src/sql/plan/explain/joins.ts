/** Joins that are decided by the size of one side, as text for people. */
import type { QueryPlan } from '../physical/plan.ts';
import { bytesText, counted } from './figures.ts';

export interface MeasuredJoin {
  readonly build: number;
  readonly rows: number;
  readonly bytes: number;
  readonly thresholdBytes: number;
  readonly probe: number;
  readonly isBroadcast: boolean;
}

/** What may be decided of a stage. */
export function plannedJoinLines({ joins = [] }: QueryPlan, id: number): readonly string[] {
  return joins.flatMap(({ stage, build, probe, thresholdBytes }) => {
    const limit = `at most ${bytesText(thresholdBytes)}`;
    if (stage === id)
      return [`runs stage ${probe} itself, with all of stage ${build}, if that has ${limit}`];
    return probe === id ? [`waits for stage ${build}, and is left out if that has ${limit}`] : [];
  });
}

/** What was decided, and from what. */
export function joinLines(join: MeasuredJoin): readonly string[] {
  const { build, rows, bytes, thresholdBytes, probe, isBroadcast } = join;
  const size = `stage ${build} has ${counted(rows, 'row')} of ${bytesText(bytes)}`;
  if (isBroadcast) return [`${size}: broadcast, stage ${probe} is not exchanged`];
  const why = bytes > thresholdBytes ? `, over ${bytesText(thresholdBytes)}` : '';
  return [`${size}${why}: both sides are exchanged`];
}
