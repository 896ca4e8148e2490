/** What the log says of a schedule: which of its times have fired, and how many were left out. */
import { openPostgresStore } from '../../src/scheduler/store/index.ts';
import type { TestClient } from '../rig/cluster/client.ts';

export interface Firing {
  /** The time that was meant, in milliseconds since 1970. */
  readonly at: number;
  readonly jobNo: number;
  readonly byHand: boolean;
}

export interface Firings {
  readonly fired: readonly Firing[];
  readonly missed: number;
}

/** As a schedule is shown. */
export interface ScheduleSeen {
  readonly id: string;
  readonly paused: boolean;
  readonly nextAt: string | null;
  readonly lastJob: string | null;
  readonly upcoming: readonly string[];
}

/** All schedules by their id, from the log in the database. */
export async function firings(database: string): Promise<ReadonlyMap<string, Firings>> {
  const store = await openPostgresStore({ url: database });
  const found = new Map<string, { fired: Firing[]; missed: number }>();
  try {
    for await (const dumped of store.dump()) {
      if (dumped.table !== 'event') continue;
      const { kind, jobNo, detail } = dumped.row;
      if (kind !== 'schedule.fired' && kind !== 'schedule.missed') continue;
      const firing = JSON.parse(detail ?? '{}') as FiringDetail;
      const of = found.get(firing.schedule) ?? { fired: [], missed: 0 };
      found.set(firing.schedule, of);
      if (kind === 'schedule.missed') of.missed += firing.missed;
      else of.fired.push({ at: firing.at, jobNo: jobNo ?? 0, byHand: firing.byHand === true });
    }
    return found;
  } finally {
    await store.close();
  }
}

interface FiringDetail {
  readonly schedule: string;
  readonly at: number;
  readonly byHand?: boolean;
  readonly missed: number;
}

export async function firingsOf(database: string, schedule: string): Promise<Firings> {
  return (await firings(database)).get(schedule) ?? { fired: [], missed: 0 };
}

export async function putSchedule(
  client: TestClient,
  id: string,
  body: object,
): Promise<ScheduleSeen> {
  return (await client.call({
    method: 'PUT',
    path: `/api/v1/schedules/${id}`,
    body,
  })) as ScheduleSeen;
}

export async function changeSchedule(
  client: TestClient,
  id: string,
  change: 'pause' | 'resume' | 'trigger',
): Promise<ScheduleSeen> {
  const path = `/api/v1/schedules/${id}/${change}`;
  return (await client.call({ method: 'POST', path, body: {} })) as ScheduleSeen;
}

export async function deleteSchedule(client: TestClient, id: string): Promise<void> {
  await client.call({ method: 'DELETE', path: `/api/v1/schedules/${id}` });
}
