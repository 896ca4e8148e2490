import type { Route } from '../route.ts';
import { bulkRoutes } from './bulk.ts';
import { dashboardRoutes } from './dashboard.ts';
import { eventRoutes } from './events.ts';
import { flowRoutes } from './flows.ts';
import { healthRoutes } from './health.ts';
import { jobRoutes } from './jobs.ts';
import { logRoutes } from './logs.ts';
import { callerRoutes } from './me.ts';
import { nodeRoutes } from './nodes.ts';
import { operatorRoutes } from './operators.ts';
import { queryRoutes } from './queries.ts';
import { queueRoutes } from './queues.ts';
import { scheduleRoutes } from './schedules.ts';
import { submitRoutes } from './submit.ts';
import { taskRoutes } from './tasks.ts';
import { triggerRoutes } from './triggers.ts';

/** Everything that is served. */
export const ROUTES: readonly Route[] = [
  ...submitRoutes,
  ...flowRoutes,
  ...triggerRoutes,
  ...jobRoutes,
  ...bulkRoutes,
  ...taskRoutes,
  ...logRoutes,
  ...eventRoutes,
  ...nodeRoutes,
  ...queueRoutes,
  ...operatorRoutes,
  ...scheduleRoutes,
  ...queryRoutes,
  ...callerRoutes,
  ...healthRoutes,
  ...dashboardRoutes,
];
