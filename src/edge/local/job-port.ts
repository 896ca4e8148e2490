/** What a program asks all the time of the node in another thread of its process: to take jobs in, and their ends. */
import {
  type ErrorParts,
  isFinished,
  isMillraceError,
  type JobId,
  type JobState,
  parseShallow,
  MillraceError,
  readTrace,
} from '../../scheduler/core/index.ts';
import { type ByteBudget, requestBytes } from '../../kit/index.ts';
import type {
  AsOf,
  JobReply,
  JobService,
  ReadJob,
  Reader,
} from '../../scheduler/contract/index.ts';
import { errorParts } from './messages.ts';
import type { PortCaller } from './port-caller.ts';
import type { LocalMethods, Method } from './port-server.ts';

/** Documents are JSON text: what is copied between threads need not be JSON. */
export interface LocalSubmit {
  readonly jobId: JobId;
  readonly text: string;
  /** As headers of HTTP have it. */
  readonly trace: LocalTrace;
}

export interface LocalTrace {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** The jobs get the id with `.0`, `.1` and so on behind it. */
export interface LocalList {
  readonly id: JobId;
  readonly texts: readonly string[];
  readonly trace: LocalTrace;
}

export interface LocalSubmitted {
  readonly id: JobId;
  readonly state: JobState;
  readonly isNew: boolean;
}

export interface LocalJobs {
  submit(submit: LocalSubmit, signal: AbortSignal): Promise<LocalSubmitted>;
  submitAll(
    list: LocalList,
    signal: AbortSignal,
  ): Promise<readonly (LocalSubmitted | MillraceError)[]>;
  /** Settles when the job has ended, with the text that `GET /api/v1/jobs/:id` answers. */
  ended(id: JobId, signal: AbortSignal): Promise<string>;
  /** Settles when the job has ended: with its result alone if it has succeeded. */
  result(id: JobId, signal: AbortSignal): Promise<LocalResult>;
}

/** JSON text: the result alone, or within an object the job that has none. */
export type LocalResult = string | { readonly job: string };

/** Calls `tell` when the job has ended, with its result where that is known: see `JobMethodsOptions`. */
export type WhenEnded = (id: JobId, tell: (result: string | null) => void) => (() => void) | null;

export function localJobs(caller: PortCaller): LocalJobs {
  return {
    submit: (submit, signal) => caller.call('submit', submit, signal) as Promise<LocalSubmitted>,
    async submitAll(list, signal) {
      const answers = (await caller.call('submitAll', list, signal)) as readonly ListItem[];
      return answers.map((item) => ('code' in item ? new MillraceError(item) : item));
    },
    ended: (id, signal) => caller.call('ended', id, signal) as Promise<string>,
    result: (id, signal) => caller.call('result', id, signal) as Promise<LocalResult>,
  };
}

type ListItem = LocalSubmitted | ErrorParts;

export interface JobMethodsOptions {
  /** Throws `not_leader` where this node does not lead. */
  readonly jobs: () => JobService;
  readonly reader: Pick<Reader, 'job' | 'resultOf'>;
  /** The job as the HTTP API shows it. */
  readonly textOf: (job: ReadJob, asOf: AsOf<Date>) => string;
  /** Settles when the job has ended or is unknown, at the latest after `ms` or when the signal aborts. */
  readonly ended: (id: JobId, ms: number, signal: AbortSignal) => Promise<void>;
  /**
   * Tells once, with the result of a job that has succeeded, or with null when somebody has to look at the job. Returns how
   * to wait no longer; null when somebody has to look at once.
   */
  readonly whenEnded: WhenEnded;
  /** What submissions may take in memory together, here and at other listeners of the process. */
  readonly intake: ByteBudget;
  /** Of one submission. */
  readonly bytesMax: number;
  /** So many new jobs were taken in. */
  readonly onSubmitted: (count: number) => void;
}

/** It is looked at again after this long, whatever was heard of it. */
const WAIT_MS = 20_000;
/** As deep as a signal or a result may be. What is deeper cannot be written again by the platform. */
const DEPTH_MAX = 1_000;

export function jobMethods(options: JobMethodsOptions): Required<LocalMethods> {
  const { jobs, onSubmitted } = options;
  const methods: Record<string, Method> = {
    submit: async ({ jobId, text, trace }: LocalSubmit) => {
      const service = jobs();
      const place = readTrace(trace.traceparent, trace.tracestate);
      return admitted(options, [text], async () => {
        const reply = await service.submit(parsed(text), { jobId, trace: place });
        if (reply.changed) onSubmitted(1);
        return submitted(reply);
      });
    },
    submitAll: async ({ id, texts, trace }: LocalList) => {
      const service = jobs();
      const place = readTrace(trace.traceparent, trace.tracestate);
      return admitted(options, texts, async () => {
        const list = texts.map((text, at) => ({
          document: parsed(text),
          jobId: `${id}.${at}` as JobId,
          trace: place,
        }));
        const replies = await service.submitAll(list);
        onSubmitted(replies.filter((reply) => !isMillraceError(reply) && reply.changed).length);
        return replies.map((reply) =>
          isMillraceError(reply) ? errorParts(reply) : submitted(reply),
        );
      });
    },
    ended: (id: JobId, signal) => endOf(options, id, signal()),
  };
  return {
    methods,
    waits: { result: (id: JobId, ...settle) => whenResult(options, id, ...settle) },
  };
}

/** A list of jobs is mostly waited for to be done: the commit that ends a job brings its result. */
function whenResult(
  options: JobMethodsOptions,
  id: JobId,
  answer: (result: LocalResult) => void,
  refuse: (error: unknown) => void,
): () => void {
  let looking: AbortController | null = null;
  const look = (): void => {
    looking = new AbortController();
    resultOf(options, id, looking.signal).then(answer, refuse);
  };
  const leave = options.whenEnded(id, (result) => (result === null ? look() : answer(result)));
  if (leave === null) look();
  return () => {
    leave?.();
    looking?.abort();
  };
}

async function endOf(
  { reader, ended, textOf }: JobMethodsOptions,
  id: JobId,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    await ended(id, WAIT_MS, signal);
    // The caller has left: nobody reads the answer.
    if (signal.aborted) return '';
    const { value, asOf } = await reader.job(id);
    if (value === null)
      throw new MillraceError({ code: 'not_found', what: `There is no job ${id}.` });
    if (isFinished(value.state)) return textOf(value, asOf);
  }
}

/** The whole of each job would cost more than to run it. */
async function resultOf(
  options: JobMethodsOptions,
  id: JobId,
  signal: AbortSignal,
): Promise<LocalResult> {
  await options.ended(id, WAIT_MS, signal);
  const result = signal.aborted ? null : ((await options.reader.resultOf?.(id)) ?? null);
  return result ?? { job: await endOf(options, id, signal) };
}

const submitted = ({ jobId: id, state, changed: isNew }: JobReply): LocalSubmitted => ({
  id,
  state,
  isNew,
});

/** Holds the memory for it from here to the answer. */
async function admitted<T>(
  { intake, bytesMax }: JobMethodsOptions,
  texts: readonly string[],
  act: () => Promise<T>,
): Promise<T> {
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  // Bytes are counted only where they may be too many.
  const bytes =
    chars * 3 <= bytesMax ? chars : texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > bytesMax) {
    throw new MillraceError({
      code: 'too_large',
      what: `The body is larger than ${bytesMax} bytes.`,
      todo: 'Send less at a time; store large data elsewhere and pass its location.',
    });
  }
  const share = intake.share();
  if (!share.hold(requestBytes(bytes, texts.length))) {
    throw new MillraceError({
      code: 'overloaded',
      what: 'The server has reached its memory limit for pending requests.',
      todo: 'Retry shortly, with fewer or smaller requests at a time.',
    });
  }
  try {
    return await act();
  } finally {
    share.release();
  }
}

function parsed(text: string): unknown {
  return parseShallow(text, DEPTH_MAX);
}
