/** Looking at jobs, and asking the leader to change them. */
import { randomUUID } from 'node:crypto';
import {
  ANY_SIGNAL,
  JOB_STATES,
  STARTER_LENGTH_MAX,
  awaitedEvent,
  readLabel,
  readMoment,
  readStarter,
  taskTrees,
} from '../../../scheduler/core/index.ts';
import type { JobId, JobState, TaskId } from '../../../scheduler/core/index.ts';
import { defined } from '../../../kit/index.ts';
import type { JobsQuery } from '../../../scheduler/contract/index.ts';
import { checkedId, jobIn, objectOf, taskIn, textIn, wholeIn } from '../fields.ts';
import { objectText } from '../json-text.ts';
import { badInput, notFound } from '../refusal.ts';
import { dated } from '../route.ts';
import type { Answer, ApiParts, Call, Parameter, Route } from '../route.ts';
import { chosenId } from './submit.ts';

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;

export const pageParameters: Readonly<Record<'limit' | 'cursor', Parameter>> = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: PAGE_MAX,
    description: `Page size; ${PAGE_DEFAULT} by default.`,
  },
  cursor: {
    type: 'string',
    maxLength: 200,
    description: 'The `cursor` of the previous page, unchanged.',
  },
};

export function pageOf({ query }: Call): Pick<JobsQuery, 'limit' | 'cursor'> {
  const limit = query['limit'] === undefined ? PAGE_DEFAULT : Number(query['limit']);
  return { limit, ...(query['cursor'] === undefined ? {} : { cursor: query['cursor'] }) };
}

const JOB_ANSWER = { 200: { description: 'The job.', schema: 'Job' } } as const;

export const jobRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/jobs',
    role: 'read',
    summary: 'List jobs, newest first',
    parameters: {
      state: { type: 'enum', values: JOB_STATES, description: 'Only jobs in this state.' },
      name: { type: 'string', maxLength: 1_000, description: 'Only jobs with exactly this name.' },
      label: {
        type: 'string',
        maxLength: 400,
        isRepeatable: true,
        description:
          'Only jobs with this label, `key:value`. Given several times, only jobs with all of them.',
      },
      waitingFor: {
        type: 'string',
        maxLength: 206,
        description:
          'Only jobs with a task that waits for a signal of this name, for an event (`event/NAME`), or `*` for any of them. `waitsFor` says which.',
      },
      schedule: { type: 'string', maxLength: 200, description: 'Only jobs of this schedule.' },
      startedBy: {
        type: 'string',
        maxLength: STARTER_LENGTH_MAX,
        description:
          'Only jobs that this event or task has started: `event/NAME`, `event/NAME/ID`, `job/ID` or `job/ID/TASK`.',
      },
      since: {
        type: 'string',
        maxLength: 40,
        description:
          'Only jobs that were created at this time or later, as `2026-11-15T02:00:00Z`.',
      },
      until: {
        type: 'string',
        maxLength: 40,
        description: 'Only jobs that were created before this time.',
      },
      ...pageParameters,
    },
    answers: { 200: { description: 'A page of jobs.', schema: 'JobPage' } },
    handle: listJobs,
  },
  {
    method: 'GET',
    path: '/api/v1/job-counts',
    role: 'read',
    summary: 'Count jobs by state',
    description:
      'Counted at most once a second, and less often where there are many; `asOf` says when.',
    answers: { 200: { description: 'The counts.', schema: 'JobCounts' } },
    async handle(_call, api) {
      const { asOf, value } = await api.reader.jobCounts();
      return dated(asOf, value);
    },
  },
  {
    method: 'GET',
    path: '/api/v1/jobs/:id',
    role: 'read',
    summary: 'Show a job with its tasks',
    answers: JOB_ANSWER,
    handle: (call, api) => showJob(api, jobIn(call)),
  },
  {
    method: 'GET',
    path: '/api/v1/jobs/:id/tasks/:task',
    role: 'read',
    summary: 'Show a task with its input, steps, placement and lease',
    answers: { 200: { description: 'The task.', schema: 'TaskDetail' } },
    async handle(call, api) {
      const [job, task] = [jobIn(call), taskIn(call)];
      const { asOf, value } = await api.reader.task(job, task);
      if (value === null) throw notFound(`There is no task ${task} in job ${job}.`);
      const { steps, ...shown } = value;
      const pieces = objectText({ ...shown, asOf }, { steps });
      return { kind: 'pieces', status: 200, pieces, asOf };
    },
  },
  {
    method: 'POST',
    path: '/api/v1/jobs/:id/cancel',
    role: 'submit',
    summary: 'Cancel a job',
    description: 'A finished job is not changed.',
    body: { schema: 'CancelRequest', required: false },
    answers: JOB_ANSWER,
    async handle(call, api) {
      const reason = textIn(objectOf(await call.body(), ['reason']), 'reason');
      const { jobs } = api.leader();
      const { jobId } = await jobs.cancel(jobIn(call), reason ?? 'asked for by HTTP');
      return showJob(api, jobId);
    },
  },
  {
    method: 'DELETE',
    path: '/api/v1/jobs/:id',
    role: 'submit',
    summary: 'Remove a job that has ended',
    description:
      'With its tasks, results, steps, signals and log lines. Its events stay in the log. A job that has not ended is ' +
      'refused with 409: cancel it first.',
    answers: { 204: { description: 'Removed.' } },
    async handle(call, api) {
      await api.leader().jobs.remove(jobIn(call));
      return { kind: 'empty', status: 204 };
    },
  },
  {
    method: 'POST',
    path: '/api/v1/jobs/:id/priority',
    role: 'submit',
    summary: 'Change the priority of a job',
    description:
      'All its tasks that have not ended get it, and those that wait for a node move. What runs goes on. A job that has ' +
      'ended, or has that priority, is not changed: `changed` says so.',
    body: { schema: 'PriorityRequest', required: true },
    answers: JOB_ANSWER,
    async handle(call, api) {
      const { jobs } = api.leader();
      const { priority } = objectOf(await call.body(), ['priority']);
      const { jobId, changed } = await jobs.setPriority(jobIn(call), priority);
      return showJob(api, jobId, 200, { changed });
    },
  },
  {
    method: 'POST',
    path: '/api/v1/jobs/:id/reschedule',
    role: 'submit',
    summary: 'Change the time at which a job starts, or start it now',
    description:
      'For a job whose `runAt` lies ahead. A time that has passed means now. A job that has begun or ended, or has that ' +
      'time, is not changed: `changed` says so, and `why` the reason.',
    body: { schema: 'RescheduleRequest', required: true },
    answers: JOB_ANSWER,
    async handle(call, api) {
      const { jobs } = api.leader();
      const { runAt } = objectOf(await call.body(), ['runAt']);
      const { jobId, changed, why } = await jobs.reschedule(jobIn(call), runAt);
      return showJob(api, jobId, 200, { changed, ...defined({ why }) });
    },
  },
  {
    method: 'POST',
    path: '/api/v1/jobs/:id/rerun',
    role: 'submit',
    summary: 'Rerun the tasks that did not succeed',
    body: { schema: 'RerunRequest', required: false },
    answers: JOB_ANSWER,
    async handle(call, api) {
      const expectedRun = wholeIn(objectOf(await call.body(), ['expectedRun']), 'expectedRun');
      const { jobId } = await api.leader().jobs.rerun(jobIn(call), expectedRun);
      return showJob(api, jobId);
    },
  },
  {
    method: 'POST',
    path: '/api/v1/jobs/:id/fork',
    role: 'submit',
    summary: 'Fork a job: create a new job that runs again from one task',
    description:
      'Results of tasks that succeeded and do not depend on that task are reused. `input` replaces the input of that ' +
      'task; it may refer to the same dependencies.',
    headers: { 'Millrace-Job-Id': 'The id of the new job, so that the call can be repeated.' },
    body: { schema: 'ForkRequest', required: true },
    answers: { 201: { description: 'The new job.', schema: 'Job' } },
    async handle(call, api) {
      const body = objectOf(await call.body(), ['from', 'input']);
      const from = textIn(body, 'from');
      if (from === undefined) throw badInput('/from', 'It is missing.', 'Give a task of the job.');
      const task = checkedId(from, '/from') as TaskId;
      const forkId = chosenId(call) ?? api.newJobId();
      const edited = Object.hasOwn(body, 'input') ? { input: body['input'] } : undefined;
      const { jobId } = await api.leader().jobs.fork(jobIn(call), task, forkId, edited);
      return showJob(api, jobId, 201);
    },
  },
  {
    method: 'POST',
    path: '/api/v1/jobs/:id/tasks/:task/redrive',
    role: 'submit',
    summary: 'Redrive a task that is out of attempts, and the tasks skipped because of it',
    answers: JOB_ANSWER,
    async handle(call, api) {
      const { jobId } = await api.leader().jobs.redrive(jobIn(call), taskIn(call));
      return showJob(api, jobId);
    },
  },
  {
    method: 'POST',
    path: '/api/v1/jobs/:id/signals/:name',
    role: 'submit',
    summary: 'Send a signal to a job',
    description:
      'The oldest task that waits for a signal of this name takes it; if none does, it is kept for ' +
      'the next one that does. `signal` in the response says which of the two happened.',
    headers: { 'Idempotency-Key': 'A repeated call with the same key has no effect.' },
    body: { schema: 'SignalRequest', required: false },
    answers: JOB_ANSWER,
    async handle(call, api) {
      // Before the body is read: a node that does not lead need not receive it.
      const { jobs } = api.leader();
      const signalId = signalIdIn(call);
      const body = JSON.stringify((await call.body()) ?? null);
      const name = call.path['name'] ?? '';
      const { jobId, signal } = await jobs.signal(jobIn(call), name, body, signalId);
      return showJob(api, jobId, 200, signal === undefined ? {} : { signal });
    },
  },
  {
    method: 'GET',
    path: '/api/v1/jobs/:id/tasks/:task/explain',
    role: 'read',
    summary: 'Explain why a task is waiting',
    description: 'Answered by the leader only; other nodes respond `not_leader`.',
    answers: { 200: { description: 'The reason.', schema: 'Explanation' } },
    handle: explainTask,
  },
];

function signalIdIn({ headers }: Call): string {
  const key = headers['idempotency-key'];
  return typeof key === 'string' ? checkedId(key, 'Idempotency-Key') : randomUUID();
}

async function listJobs(call: Call, api: ApiParts): Promise<Answer> {
  const { state, name, waitingFor, schedule, startedBy, since, until } = call.query;
  if (schedule !== undefined) checkedId(schedule, '?schedule');
  const labels = (call.lists['label'] ?? []).map((label) => readLabel(label, '?label'));
  const { asOf, value } = await api.reader.jobs({
    ...pageOf(call),
    // The table of routes lets only states through.
    ...(state === undefined ? {} : { state: state as JobState }),
    ...(name === undefined ? {} : { name }),
    ...(labels.length === 0 ? {} : { labels }),
    ...(waitingFor === undefined ? {} : { waitingFor: signalName(waitingFor) }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(startedBy === undefined ? {} : { startedBy: readStarter(startedBy, '?startedBy') }),
    ...(since === undefined ? {} : { since: readMoment(since, () => '?since') }),
    ...(until === undefined ? {} : { until: readMoment(until, () => '?until') }),
  });
  return dated(asOf, { jobs: value.items, cursor: value.cursor });
}

function signalName(name: string): string {
  if (name === ANY_SIGNAL) return name;
  checkedId(awaitedEvent(name) ?? name, '?waitingFor');
  return name;
}

async function showJob(
  api: ApiParts,
  id: JobId,
  status = 200,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  const { asOf, value } = await api.reader.job(id);
  if (value === null) throw notFound(`There is no job ${id}.`);
  const { tasks: all, history, ...job } = value;
  const trees = taskTrees(all);
  const tasks =
    trees.size === 0
      ? all
      : all.map((task) => ({ ...task, ...defined({ tree: trees.get(task.id) }) }));
  const pieces = objectText({ ...job, ...more, asOf }, { tasks, history });
  return { kind: 'pieces', status, pieces, asOf };
}

async function explainTask(call: Call, api: ApiParts): Promise<Answer> {
  const [jobId, taskId] = [jobIn(call), taskIn(call)];
  const { jobs } = api.leader();
  const asOf = await api.reader.head();
  const live = await jobs.explain(jobId, taskId);
  if (live !== null) return dated(asOf, live);
  // Not in the leader's memory: it has ended, or there never was one.
  const { value: job } = await api.reader.job(jobId);
  const task = job?.tasks.find(({ id }) => id === taskId);
  if (task === undefined) throw notFound(`There is no task ${taskId} in job ${jobId}.`);
  const { state, error } = task;
  const because = error === null ? '' : `: ${error.message}`;
  const why = `it ${state === 'cancelled' || state === 'skipped' ? 'was' : 'has'} ${state}${because}`;
  return dated(asOf, {
    jobId,
    taskId,
    state: task.state,
    code: 'ended',
    why,
    ageMs: null,
    nearest: [],
  });
}
