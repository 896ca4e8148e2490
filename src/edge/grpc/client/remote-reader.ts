/** A node's reader, from far away. */
import { isMillraceError, isStartedAs } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';
import { fromWireEventPage, fromWireNode, fromWireSchedule } from '../codec/cluster.ts';
import { fromWireJob, fromWireSummary, toWireJobsQuery } from '../codec/jobs.ts';
import { fromWireAsOf, fromWireLeader } from '../codec/leader.ts';
import { fromWireLogPage, toWireLogsQuery } from '../codec/task-logs.ts';
import { jsonText, optionalText, parsedJson, present, wireNumber } from '../codec/values.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import type {
  Dated,
  EventPage,
  EventsQuery,
  JobsQuery,
  JobSummary,
  ReadJob,
  Reader,
  TaskDetail,
} from '../../../scheduler/contract/index.ts';
import type { CallOptions, LeaderChannel } from './leader-channel.ts';

/** All that goes over the wire. */
export type RemoteReader = Omit<Reader, 'deadTasks' | 'jobCounts'>;

/** No filter. */
const ALL_NODES = { executor: '', operator: '', capability: '' };
const READ: CallOptions = { deadlineMs: 10_000 };

export function remoteReader(channel: LeaderChannel): RemoteReader {
  const nodes: RemoteReader['nodes'] = async () => {
    const response = await channel.unary(ControlPlaneService.listNodes, ALL_NODES, READ);
    return { value: response.nodes.map(fromWireNode), asOf: fromWireAsOf(response.asOf) };
  };
  const job = async (id: JobId): Promise<Dated<ReadJob> | null> => {
    try {
      const response = await channel.unary(ControlPlaneService.getJob, { jobId: id }, READ);
      return {
        value: fromWireJob(present(response.job, 'job')),
        asOf: fromWireAsOf(response.asOf),
      };
    } catch (thrown) {
      if (isMillraceError(thrown, 'not_found')) return null;
      throw thrown;
    }
  };
  const head: RemoteReader['head'] = async () => (await nodes()).asOf;
  return {
    nodes,
    head,
    async leader() {
      const response = await channel.unary(ControlPlaneService.getLeader, {}, READ);
      return fromWireLeader(response.leader);
    },
    async jobs(query) {
      const request = toWireJobsQuery(query);
      const response = await channel.unary(ControlPlaneService.listJobs, request, READ);
      const items = asAsked(query, response.jobs.map(fromWireSummary));
      const cursor = optionalText<string>(response.cursor);
      return { value: { items, cursor }, asOf: fromWireAsOf(response.asOf) };
    },
    async job(id) {
      const found = await job(id);
      if (found !== null) return found;
      // That it is not there says nothing of when: it is asked again, after a moment that is known.
      const asOf = await head();
      return (await job(id)) ?? { value: null, asOf };
    },
    async task(id, task) {
      const asOf = await head();
      try {
        const request = { jobId: id, taskId: task };
        const response = await channel.unary(ControlPlaneService.getJobTask, request, READ);
        // Made by a node of this cluster for people to read: nothing is decided by what it says.
        const value = parsedJson(jsonText(response.taskJson, 'task_json'), 'task_json');
        return { value: value as unknown as TaskDetail, asOf: fromWireAsOf(response.asOf) };
      } catch (thrown) {
        if (isMillraceError(thrown, 'not_found')) return { value: null, asOf };
        throw thrown;
      }
    },
    async logs(query) {
      try {
        const request = toWireLogsQuery(query);
        return fromWireLogPage(
          await channel.unary(ControlPlaneService.readTaskLogs, request, READ),
        );
      } catch (thrown) {
        if (isMillraceError(thrown, 'not_found')) return null;
        throw thrown;
      }
    },
    async schedules() {
      const response = await channel.unary(ControlPlaneService.listSchedules, {}, READ);
      return { value: response.schedules.map(fromWireSchedule), asOf: fromWireAsOf(response.asOf) };
    },
    follow: (query, signal) => follow(channel, query, signal),
  };
}

/** A node of an earlier version lists all jobs, and says of none what it waits for. */
function asAsked(query: JobsQuery, jobs: JobSummary<Date>[]): JobSummary<Date>[] {
  const { waitingFor, schedule, startedBy, since = -Infinity, until = Infinity } = query;
  return jobs
    .filter(({ createdAt }) => +createdAt >= since && +createdAt < until)
    .filter(({ waitsFor }) => waitingFor === undefined || waitsFor !== undefined)
    .filter(({ scheduleId }) => schedule === undefined || scheduleId === schedule)
    .filter((job) => startedBy === undefined || isStartedAs(job.startedBy, startedBy));
}

async function* follow(
  channel: LeaderChannel,
  { after, history = '', job }: EventsQuery,
  signal: AbortSignal,
): AsyncIterable<EventPage> {
  const afterSeq = wireNumber(after, 'after_seq');
  const pages =
    job === undefined
      ? channel.stream(ControlPlaneService.watchEvents, { afterSeq, history }, signal)
      : channel.stream(ControlPlaneService.watchJob, { jobId: job, afterSeq, history }, signal);
  for await (const page of pages) yield fromWireEventPage(page);
}
