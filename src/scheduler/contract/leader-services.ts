import type { FlowService } from './flow-service.ts';
import type { JobService } from './job-service.ts';
import type { QueueService } from './queue-service.ts';
import type { ScheduleService } from './schedule-service.ts';
import type { NodeService, OperatorService, WorkerService } from './worker-service.ts';

/** The leader of this moment, as the edges serve it. Each of its calls may throw `not_leader` later on. */
export interface LeaderServices {
  readonly jobs: JobService;
  readonly workers: WorkerService & NodeService;
  readonly schedules: ScheduleService;
  readonly queues: QueueService;
  readonly operators: OperatorService;
  readonly flows: FlowService;
}
