/** Schedules that a flow or a task declares of itself. */
import {
  FLOW_SCHEDULES_MAX,
  isMillraceError,
  parseScheduleSpec,
} from '../../scheduler/core/index.ts';
import type { Calendar, Json, JsonObject, ScheduleSpec } from '../../scheduler/core/index.ts';
import { refuse, refuseUnknownFields, shown } from './fault.ts';
import { jsonCopy } from './json-copy.ts';
import { CHECK_SETTINGS } from './options.ts';
import type { Maybe } from './schema.ts';

export type ScheduleTiming =
  | {
      /** Five fields, or six with seconds first. */
      readonly cron: string;
      /** An IANA name such as `Europe/Berlin`; UTC if not given. */
      readonly zone?: string;
    }
  | {
      readonly everyMs: number;
      /** Runs are whole intervals away from here; without it, from now. */
      readonly anchorAt?: Date | string;
    }
  | { readonly at: Date | string };

/** How a schedule handles missed and overlapping occurrences, and when it ends. */
export interface SchedulePolicies {
  /** Occurrences that were missed: drop them, run once for all of them (the default), run each. */
  readonly misfire?: ScheduleSpec['misfire'];
  /** The last job still runs: leave this time out (the default), start after it, or cancel it. */
  readonly overlap?: ScheduleSpec['overlap'];
  /** No occurrence after this time is started; without it there is no such time. */
  readonly endAt?: Date | string;
  /** So many occurrences are started, not counting those by hand; without it there is no such limit. */
  readonly maxRuns?: number;
}

/** A schedule that is there while the current version of its flow declares it. */
export type OwnSchedule<Input> = ScheduleTiming &
  SchedulePolicies & {
    /** Unique in the cluster; the name of the flow or task if not given. */
    readonly id?: string;
  } & (null extends Input
    ? { readonly input?: Input }
    : undefined extends Input
      ? { readonly input?: Input }
      : { readonly input: Input });

export interface ScheduleParts<Input> {
  /**
   * Starts a job at each of its times, once a worker has published the flow: `{ cron: '0 2 * * *', zone, input }`, or a
   * list of these. It goes when a version without it is deployed. To pause one is not undone by a deployment.
   */
  readonly schedule?: OwnSchedule<Input> | readonly OwnSchedule<Input>[];
}

const FIELDS = [
  ...['id', 'input', 'cron', 'zone', 'everyMs', 'anchorAt', 'at'],
  ...['misfire', 'overlap', 'endAt', 'maxRuns'],
];

/** The pattern itself is for the leader to check: it has the calendar. */
const ANY_PATTERN: Calendar = { next: () => null, check: () => null };

/** As they are published. `sample` is a job of the flow without its input; `checkInput` throws for one that does not fit. */
export function ownSchedules(
  flow: { readonly about: string; readonly name: string; readonly sample: JsonObject },
  given: unknown,
  checkInput: (input: Json | undefined) => Maybe<unknown>,
): readonly JsonObject[] {
  if (given === undefined) return [];
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length > FLOW_SCHEDULES_MAX) {
    const what = `it has ${list.length} schedules; the limit is ${FLOW_SCHEDULES_MAX}.`;
    refuse(`${flow.about}, 'schedule'`, what, 'Create the others with `client.schedules`.');
  }
  const ids = new Set<string>();
  return list.map((each, at) => {
    const about = `${flow.about}, 'schedule${list.length > 1 ? `[${at}]` : ''}'`;
    if (typeof each !== 'object' || each === null) {
      refuse(about, `it must be an object, not ${shown(each)}.`, "Write { cron: '0 2 * * *' }.");
    }
    refuseUnknownFields(about, each, FIELDS);
    const schedule = jsonCopy(each, about) as JsonObject;
    const { id = flow.name, input, ...rest } = schedule;
    const isId = typeof id === 'string' && SCHEDULE_ID.test(id);
    if (!isId) refuse(about, `${shown(id)} is not a valid id.`, ID_TODO);
    if (ids.has(id))
      refuse(about, `two schedules have the id '${id}'.`, 'Give one of them an `id`.');
    ids.add(id);
    within(about, () => {
      checkTiming(about, rest);
      parseScheduleSpec({ ...rest, document: flow.sample }, CHECK_SETTINGS, ANY_PATTERN);
      const outcome = checkInput(input);
      // A schema that has to wait is asked again by the job.
      if (outcome instanceof Promise) outcome.catch(() => {});
    });
    return schedule;
  });
}

const SCHEDULE_ID = /^[\w.:@+=-]{1,160}$/u;
const ID_TODO = 'Give it an `id` of up to 160 letters, digits and _ . : @ + = -';
/** Five or six fields, or a nickname. */
const CRON = /^\s*(@[a-z]+|\S+(\s+\S+){4,5})\s*$/u;

function checkTiming(about: string, { cron, everyMs, at }: JsonObject): void {
  if ((cron ?? everyMs ?? at) === undefined) {
    refuse(about, 'it has no timing.', 'Give it `cron`, `everyMs` or `at`.');
  }
  if (typeof cron === 'string' && !CRON.test(cron)) {
    refuse(about, `'${cron.slice(0, 80)}' is not a cron pattern.`, "Write '0 2 * * 1-5'.");
  }
}

function within(about: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!isMillraceError(error) || error.message.startsWith(about)) throw error;
    const where = error.path === undefined || error.path === '' ? '' : `${error.path}: `;
    refuse(about, where + error.what, error.todo, error);
  }
}
