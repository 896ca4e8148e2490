/** Log lines of tasks, from workers and to readers. */
import type { JobId, TaskId } from '../../../scheduler/core/index.ts';
import type {
  LogLevel,
  LogPage,
  LogShape,
  LogsQuery,
  Session,
  TaskLogLine,
} from '../../../scheduler/contract/index.ts';
import type { ReadTaskLogsRequest, ReadTaskLogsResponse } from '../gen/millrace/v1/job.ts';
import type { WriteTaskLogsRequest } from '../gen/millrace/v1/task.ts';
import { fromWireJobState, toWireJobState } from './change.ts';
import { fromWireSession } from './session.ts';
import {
  jsonBytes,
  jsonText,
  parsedJson,
  refuse,
  requiredText,
  soughtText,
  safeNumber,
  wireNumber,
} from './values.ts';

const LINES_MAX = 1_000;
const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'];

export function toWireLogs(
  { nodeId, sessionId }: Session,
  lines: readonly TaskLogLine[],
): WriteTaskLogsRequest {
  return {
    workerId: nodeId,
    sessionId,
    lines: lines.map(({ jobId, taskId, attempt, at, level, message, fields }) => ({
      ...{ jobId, taskId, attempt, level, message },
      atMs: wireNumber(Math.max(0, Math.round(at)), 'lines/at_ms'),
      fieldsJson: fields === null ? Buffer.alloc(0) : jsonBytes(fields),
    })),
  };
}

export function fromWireLogs(request: WriteTaskLogsRequest): {
  readonly session: Session;
  readonly lines: readonly TaskLogLine[];
} {
  if (request.lines.length > LINES_MAX) refuse('lines', `${request.lines.length} are too many.`);
  const lines = request.lines.map((line) => {
    if (!LEVELS.includes(line.level))
      refuse('lines/level', `'${line.level}' is not a valid level.`);
    return {
      jobId: requiredText<JobId>(line.jobId, 'lines/job_id'),
      taskId: requiredText<TaskId>(line.taskId, 'lines/task_id'),
      attempt: line.attempt,
      at: safeNumber(line.atMs, 'lines/at_ms'),
      level: line.level as LogLevel,
      message: line.message,
      fields: line.fieldsJson.length === 0 ? null : jsonText(line.fieldsJson, 'lines/fields_json'),
    };
  });
  return { session: fromWireSession(request), lines };
}

export function toWireLogsQuery(query: LogsQuery): ReadTaskLogsRequest {
  const { job, after, limit, task = '', attempt = 0 } = query;
  return { jobId: job, after: wireNumber(after, 'after'), limit, taskId: task, attempt };
}

/** A column of four bytes in the databases. No attempt has this number. */
const ATTEMPT_MAX = 2 ** 31 - 1;

export function fromWireLogsQuery(request: ReadTaskLogsRequest): LogsQuery {
  const { limit, taskId, attempt } = request;
  return {
    job: soughtText<JobId>(request.jobId, 'job_id'),
    after: safeNumber(request.after, 'after'),
    limit: Math.min(Math.max(1, limit), LINES_MAX),
    ...(taskId === '' ? {} : { task: soughtText<TaskId>(taskId, 'task_id') }),
    ...(attempt === 0 ? {} : { attempt: Math.min(attempt, ATTEMPT_MAX) }),
  };
}

export function toWireLogPage({ lines, state }: LogPage): ReadTaskLogsResponse {
  return { linesJson: jsonBytes(JSON.stringify(lines)), state: toWireJobState(state) };
}

/** Made by a node of this cluster for people to read: nothing is decided by what it says. */
export function fromWireLogPage({ linesJson, state }: ReadTaskLogsResponse): LogPage {
  const lines = parsedJson(jsonText(linesJson, 'lines_json'), 'lines_json');
  return {
    lines: lines as unknown as readonly LogShape[],
    state: fromWireJobState(state, 'state'),
  };
}
