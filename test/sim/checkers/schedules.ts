import type { StoredEvidence } from './evidence.ts';

interface Fired {
  readonly schedule: string;
  readonly at: number;
  readonly byHand?: true;
}

/** A schedule fires once an occurrence, and each firing is one job. */
export function checkSchedules({ tables, findings }: StoredEvidence): void {
  const fired = new Set<string>();
  for (const { kind, detail, jobNo } of tables.events) {
    if (kind !== 'schedule.fired' || detail === null) continue;
    const { schedule, at, byHand } = JSON.parse(detail) as Fired;
    const name = `${schedule} at ${at}`;
    const job = jobNo === null ? undefined : tables.jobs.get(jobNo);
    if (job?.scheduleId !== schedule) findings.add('schedules', `${name} made no job of its own`);
    // By hand it may be fired as often as one likes.
    if (byHand === true) continue;
    if (fired.has(name)) findings.add('schedules', `${name} fired twice`);
    fired.add(name);
  }
}
