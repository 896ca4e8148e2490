/** Schedules of a test runtime: what a client has, answered by the leader itself. */
import { MillraceError } from '../scheduler/core/index.ts';
import type { JobId, ScheduleId } from '../scheduler/core/index.ts';
import { schedulesOver } from '../client/index.ts';
import type { Backfill, Schedules } from '../client/index.ts';
import type { BackfilledJob, ScheduleService, ScheduleShape } from '../scheduler/contract/index.ts';

export interface ScheduleParts {
  readonly service: ScheduleService;
  readonly read: () => Promise<readonly ScheduleShape[]>;
  /** Learns the tasks of what is scheduled. */
  readonly offer: (what: unknown) => Promise<void>;
}

export function testSchedules({ service, read, offer }: ScheduleParts): Schedules {
  const shown = async (id: ScheduleId, lastJob?: JobId | null): Promise<ScheduleShape> => {
    const found = (await read()).find((each) => each.id === id);
    if (found === undefined)
      throw new MillraceError({ code: 'not_found', what: `There is no schedule ${id}.` });
    const upcoming = found.nextAt === null || found.paused ? [] : [found.nextAt];
    return {
      ...found,
      ...(lastJob === undefined || lastJob === null ? {} : { lastJob }),
      ...{ upcoming },
    };
  };
  return schedulesOver(
    {
      async putSchedule(id, spec) {
        await service.put(id, spec);
        return shown(id);
      },
      async listSchedules() {
        const ids = (await read()).map(({ id }) => id);
        return { schedules: await Promise.all(ids.map((id) => shown(id))) };
      },
      async changeSchedule<Answer>(
        id: ScheduleId,
        change: 'pause' | 'resume' | 'trigger' | 'backfill',
        _options?: object,
        body?: object,
      ): Promise<Answer> {
        if (change === 'backfill') return answered(id, await service.backfill(id, body)) as Answer;
        const jobId =
          body === undefined
            ? (await service.change(id, change)).jobId
            : (await service.backfill(id, body))[0]?.jobId;
        return (await shown(id, jobId)) as Answer;
      },
      async deleteSchedule(id) {
        await service.change(id, 'delete');
      },
    },
    offer,
  );
}

function answered(id: ScheduleId, jobs: readonly BackfilledJob[]): Backfill {
  return {
    id,
    started: jobs.filter(({ isNew }) => isNew).length,
    jobs: jobs.map(({ at, jobId, isNew }) => ({
      at: new Date(at).toISOString(),
      id: jobId,
      isNew,
    })),
  };
}
