/** What a worker says when a handler steps aside. Documents travel as JSON; the leader reads them. */
import { SHAPE_LENGTH_MAX, isEventMatch, readSignalShape } from '../../../scheduler/core/index.ts';
import type { JobWait, Sleep, TaskSuspended, TaskWait } from '../gen/millrace/v1/task.ts';
import type { CalledJob, WorkerSuspension } from '../../../scheduler/contract/index.ts';
import {
  jsonBytes,
  jsonText,
  parsedJson,
  present,
  refuse,
  requiredText,
  safeNumber,
  wireNumber,
} from './values.ts';

type Wait = Extract<WorkerSuspension, { type: 'wait' }>;

export function toWireSuspension(until: WorkerSuspension): TaskSuspended {
  if (until.type === 'wait') return { until: { $case: 'wait', value: toWireWait(until) } };
  const value = documentBytes(until.tasks, 'suspended/children_json');
  return { until: { $case: 'childrenJson', value } };
}

export function fromWireSuspension({ until: given }: TaskSuspended): WorkerSuspension {
  const until = present(given, 'suspended/until');
  switch (until.$case) {
    case 'forMs':
      return refuse('suspended/for_ms', 'A sleep has a name: send it as a wait.');
    case 'childrenJson':
      return { type: 'children', tasks: fromWireChildren(until.value) };
    case 'wait':
      return fromWireWait(until.value);
  }
}

/** Room for what stands around the documents is not counted. */
export function suspensionBytes({ until }: TaskSuspended): number {
  if (until?.$case === 'childrenJson') return until.value.length;
  if (until?.$case !== 'wait') return 0;
  const { sleeps, signals, jobs } = until.value;
  let bytes = 0;
  for (const { step } of sleeps) bytes += step.length * 3 + THING_BYTES;
  for (const { step, name, shapeJson, matchJson } of signals) {
    const length = step.length + name.length + shapeJson.length + matchJson.length;
    bytes += length * 3 + THING_BYTES;
  }
  for (const { step, jobId, documentJson } of jobs) {
    bytes += (step.length + jobId.length) * 3 + documentJson.length + THING_BYTES;
  }
  return bytes;
}

/** About what a sleep, a signal or a job needs beside its texts. */
const THING_BYTES = 24;

function toWireWait({ sleeps, signals, jobs }: Wait): TaskWait {
  return {
    sleeps: sleeps.map(({ step, forMs }) => ({ step, forMs: wireDuration(forMs) })),
    signals: signals.map(({ step, name, shape, match }) => ({
      step,
      name,
      shapeJson: shape === undefined ? '' : JSON.stringify(shape),
      matchJson: match === undefined ? '' : JSON.stringify(match),
    })),
    jobs: jobs.map(({ step, jobId, document }) => {
      return { step, jobId, documentJson: documentBytes(document, 'jobs/document_json') };
    }),
  };
}

function fromWireWait({ sleeps, signals, jobs }: TaskWait): Wait {
  return {
    type: 'wait',
    sleeps: sleeps.map(fromWireSleep),
    signals: signals.map(({ step, name, shapeJson, matchJson }) => ({
      step: requiredText(step, 'signals/step'),
      name: requiredText(name, 'signals/name'),
      ...fromWireShape(shapeJson),
      ...fromWireMatch(matchJson),
    })),
    jobs: jobs.map(fromWireCalledJob),
  };
}

/** A hint that cannot be read is none: the worker looks at every signal itself. */
function fromWireShape(text: string): Pick<Wait['signals'][number], 'shape'> {
  if (text === '' || text.length > SHAPE_LENGTH_MAX) return {};
  try {
    const shape = readSignalShape(JSON.parse(text));
    return shape === null ? {} : { shape };
  } catch {
    return {};
  }
}

/** Unlike a shape it decides who is woken: one that cannot be read is refused. */
function fromWireMatch(text: string): Pick<Wait['signals'][number], 'match'> {
  if (text === '') return {};
  const field = 'signals/match_json';
  const match = parsedJson(text, field);
  return isEventMatch(match) ? { match } : refuse(field, 'It is not a list of fields and values.');
}

function fromWireSleep({ step, forMs }: Sleep): Wait['sleeps'][number] {
  return { step: requiredText(step, 'sleeps/step'), forMs: safeNumber(forMs, 'sleeps/for_ms') };
}

function fromWireCalledJob({ step, jobId, documentJson }: JobWait): CalledJob {
  const field = 'jobs/document_json';
  return {
    step: requiredText(step, 'jobs/step'),
    jobId: requiredText(jobId, 'jobs/job_id'),
    document: parsedJson(jsonText(documentJson, field), field),
  };
}

function fromWireChildren(bytes: Buffer): readonly unknown[] {
  const field = 'suspended/children_json';
  const tasks = parsedJson(jsonText(bytes, field), field);
  return Array.isArray(tasks) ? (tasks as unknown[]) : refuse(field, 'It is not a list.');
}

/** The generated code would fail with an error of its own for a number below 0. */
function wireDuration(forMs: number): bigint {
  if (forMs < 0) refuse('sleeps/for_ms', `${forMs} ms is negative.`);
  return wireNumber(forMs, 'sleeps/for_ms');
}

/** What a handler made may be no JSON at all: a circle, a function, a BigInt. */
export function documentBytes(document: unknown, field: string): Buffer {
  let text: string | undefined;
  try {
    text = JSON.stringify(document) as string | undefined;
  } catch {
    return refuse(field, 'The document is not a valid JSON value.');
  }
  return text === undefined
    ? refuse(field, 'The document is not a valid JSON value.')
    : jsonBytes(text);
}
