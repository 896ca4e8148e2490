/** Schedules: jobs that are submitted automatically. */
import { instant, upcomingOccurrences, isObject } from '../../../scheduler/core/index.ts';
import type {
  Calendar,
  JobId,
  Json,
  ScheduleId,
  ScheduleSpec,
} from '../../../scheduler/core/index.ts';
import type { ScheduleShape } from '../../../scheduler/contract/index.ts';
import { checkedId, scheduleIn } from '../fields.ts';
import { objectText } from '../json-text.ts';
import { badInput, notFound } from '../refusal.ts';
import { dated, ok } from '../route.ts';
import type { Answer, ApiParts, Route } from '../route.ts';

/** How many of the next times are shown. */
const UPCOMING = 5;

const SCHEDULE_ANSWER = { 200: { description: 'The schedule.', schema: 'Schedule' } } as const;

export const scheduleRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/schedules',
    role: 'read',
    summary: 'List schedules with their next runs',
    answers: { 200: { description: 'All schedules.', schema: 'ScheduleList' } },
    async handle(_call, { reader, calendar }) {
      const { asOf, value } = await reader.schedules();
      // Each holds a document and asks the calendar, and there may be thousands.
      const schedules = allWithUpcoming(value, calendar);
      return { kind: 'pieces', status: 200, pieces: objectText({ asOf }, { schedules }), asOf };
    },
  },
  {
    method: 'POST',
    path: '/api/v1/schedules',
    role: 'submit',
    summary: 'Create a schedule, or replace the one with that id',
    body: { schema: 'NamedScheduleDocument', required: true },
    answers: { 201: { description: 'The schedule.', schema: 'Schedule' } },
    async handle(call, api) {
      const body = await call.body();
      if (!isObject(body)) {
        throw badInput('', 'The body must be an object.');
      }
      const { id, ...spec } = body as { readonly id?: unknown };
      if (typeof id !== 'string') throw badInput('/id', 'A schedule needs an id.');
      const name = checkedId(id, '/id') as ScheduleId;
      await api.leader().schedules.put(name, spec);
      return showSchedule(api, name, 201);
    },
  },
  {
    method: 'GET',
    path: '/api/v1/schedules/:id',
    role: 'read',
    summary: 'Show a schedule',
    answers: SCHEDULE_ANSWER,
    handle: (call, api) => showSchedule(api, scheduleIn(call)),
  },
  {
    method: 'PUT',
    path: '/api/v1/schedules/:id',
    role: 'submit',
    summary: 'Create or change a schedule',
    body: { schema: 'ScheduleDocument', required: true },
    answers: SCHEDULE_ANSWER,
    async handle(call, api) {
      await api.leader().schedules.put(scheduleIn(call), await call.body());
      return showSchedule(api, scheduleIn(call));
    },
  },
  {
    method: 'DELETE',
    path: '/api/v1/schedules/:id',
    role: 'submit',
    summary: 'Delete a schedule',
    description: 'Jobs that it has started are not affected.',
    answers: { 204: { description: 'Deleted.' } },
    async handle(call, api) {
      await api.leader().schedules.change(scheduleIn(call), 'delete');
      return { kind: 'empty', status: 204 };
    },
  },
  changing('pause', 'Pause a schedule until it is resumed'),
  changing('resume', 'Resume a schedule; occurrences during the pause are skipped'),
  {
    method: 'POST',
    path: '/api/v1/schedules/:id/trigger',
    role: 'submit',
    summary: 'Trigger a schedule now; `lastJob` is the id of the job',
    description:
      'With `at`, a time that has passed, the job has that as its scheduled time, and a second call for it answers the same job.',
    body: { schema: 'ScheduleTrigger', required: false },
    answers: SCHEDULE_ANSWER,
    async handle(call, api) {
      const [id, body] = [scheduleIn(call), (await call.body()) ?? {}];
      if (!isObject(body)) throw badInput('', 'The body must be an object.', 'Send {"at": ...}.');
      const { schedules } = api.leader();
      const other = Object.keys(body).find((name) => name !== 'at');
      if (other !== undefined) throw badInput(`/${other}`, 'There is no such field.');
      const { at } = body;
      const jobId =
        at === undefined
          ? (await schedules.change(id, 'trigger')).jobId
          : (await schedules.backfill(id, { at }))[0]?.jobId;
      return showSchedule(api, id, 200, jobId ?? null);
    },
  },
  {
    method: 'POST',
    path: '/api/v1/schedules/:id/backfill',
    role: 'submit',
    summary: 'Run a schedule for times that have passed',
    description:
      'One job for each scheduled time from `from` to `to`, both included, at most 1,000. Asked again it starts nothing new. ' +
      'Neither the next time of the schedule nor `maxRuns` is affected.',
    body: { schema: 'ScheduleBackfill', required: true },
    answers: { 200: { description: 'The jobs, oldest time first.', schema: 'Backfill' } },
    async handle(call, api) {
      const id = scheduleIn(call);
      const body = await call.body();
      if (!isObject(body) || 'at' in body)
        throw badInput('', 'The body must be a range.', 'Send {"from": ..., "to": ...}.');
      const jobs = await api.leader().schedules.backfill(id, body);
      return ok({
        id,
        started: jobs.filter(({ isNew }) => isNew).length,
        jobs: jobs.map(({ at, jobId, isNew }) => ({ at: new Date(at), id: jobId, isNew })),
      });
    },
  },
];

function changing(change: 'pause' | 'resume', summary: string): Route {
  return {
    method: 'POST',
    path: `/api/v1/schedules/:id/${change}`,
    role: 'submit',
    summary,
    answers: SCHEDULE_ANSWER,
    async handle(call, api) {
      const { jobId } = await api.leader().schedules.change(scheduleIn(call), change);
      return showSchedule(api, scheduleIn(call), 200, jobId);
    },
  };
}

async function showSchedule(
  { reader, calendar }: ApiParts,
  id: ScheduleId,
  status = 200,
  startedJob: JobId | null = null,
): Promise<Answer> {
  const { asOf, value } = await reader.schedules();
  const found = value.find((schedule) => schedule.id === id);
  if (found === undefined) throw notFound(`There is no schedule ${id}.`);
  const shown = withUpcoming(found, calendar);
  // It may have fired again since: the caller gets the job that it asked for.
  return dated(asOf, startedJob === null ? shown : { ...shown, lastJob: startedJob }, status);
}

type Shown = ScheduleShape<Date> & {
  readonly state: 'active' | 'paused' | 'ended';
  readonly upcoming: readonly Date[];
};

/** One by one, as they are sent. */
function* allWithUpcoming(
  schedules: readonly ScheduleShape<Date>[],
  calendar: Calendar | null,
): Iterable<Shown> {
  for (const schedule of schedules) yield withUpcoming(schedule, calendar);
}

function withUpcoming(schedule: ScheduleShape<Date>, calendar: Calendar | null): Shown {
  const { nextAt, paused } = schedule;
  if (nextAt === null) return { ...schedule, state: 'ended', upcoming: [] };
  if (paused) return { ...schedule, state: 'paused', upcoming: [] };
  return { ...schedule, state: 'active', upcoming: upcomingOf(schedule.spec, nextAt, calendar) };
}

function upcomingOf(spec: Json, nextAt: Date, calendar: Calendar | null): readonly Date[] {
  const timing = timingIn(spec);
  if (calendar === null || timing === null) return [nextAt];
  // A node of another version may have taken what this one cannot read.
  const isRead = !('cron' in timing) || calendar.check(timing.cron, timing.zone) === null;
  if (!isRead) return [nextAt];
  const { endAt, maxRuns, runs } = fieldsOf(spec);
  const end = {
    ...(typeof endAt === 'number' ? { endAt: instant(endAt) } : {}),
    ...(typeof maxRuns === 'number' ? { maxRuns } : {}),
  };
  const from = instant(nextAt.getTime());
  const ran = typeof runs === 'number' ? runs : 0;
  const times = upcomingOccurrences({ timing, ...end }, from, UPCOMING, calendar, ran);
  return times.map((time) => new Date(time));
}

/** The timing of a stored schedule; null if a newer version has put something else there. */
function timingIn(spec: Json): ScheduleSpec['timing'] | null {
  const { cron, zone, everyMs, at } = fieldsOf(fieldsOf(spec)['timing'] ?? null);
  if (typeof cron === 'string' && typeof zone === 'string') return { cron, zone };
  if (typeof everyMs === 'number') return { everyMs };
  return typeof at === 'number' ? { at: instant(at) } : null;
}

function fieldsOf(value: Json): { readonly [name: string]: Json } {
  return isObject(value) ? value : {};
}
