/** Accepting jobs: one, or many in one call. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isMillraceError, MillraceError, readTrace } from '../../../scheduler/core/index.ts';
import type { JobId, JobState } from '../../../scheduler/core/index.ts';
import type { JobReply, JobService, SubmitOptions } from '../../../scheduler/contract/index.ts';
import { checkedId } from '../fields.ts';
import { problemOf } from '../problem.ts';
import type { Problem } from '../problem.ts';
import { badInput } from '../refusal.ts';
import type { Answer, ApiParts, Call, Route } from '../route.ts';

interface Submitted {
  readonly id: JobId;
  readonly state: JobState;
}

export const TRACE_HEADERS: Readonly<Record<string, string>> = {
  traceparent: 'W3C Trace Context of the caller; ignored when it is not valid.',
  tracestate: 'Belongs to traceparent.',
};

export const ID_HEADERS: Readonly<Record<string, string>> = {
  'Millrace-Job-Id': 'The id of what is new, so that the call can be repeated.',
  ...TRACE_HEADERS,
};

export const submitRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/v1/jobs',
    role: 'submit',
    summary: 'Submit a job, or a list of jobs',
    description:
      'Every document of a list is accepted or rejected independently: a rejected one does not affect ' +
      'the others, and then the status is 207. An id that the caller chooses makes the call safe to ' +
      'repeat; the jobs of a list get that id with `.0`, `.1` and so on behind it.',
    parameters: {
      id: {
        type: 'string',
        maxLength: 200,
        description: 'The id of the job, like the header `Millrace-Job-Id`.',
      },
    },
    headers: ID_HEADERS,
    body: { schema: 'JobDocumentOrList', required: true },
    answers: {
      200: {
        description: 'Nothing was created: the `idempotencyKey` or id was used before.',
        schema: 'SubmittedOrList',
      },
      201: { description: 'Accepted.', schema: 'SubmittedOrList' },
      207: { description: 'Some documents of the list were rejected.', schema: 'SubmittedOrList' },
    },
    async handle(call, api) {
      const ids = newIds(call, api);
      // Before the body is read: a node that does not lead need not receive it.
      const { jobs } = api.leader();
      const body = await call.body();
      return Array.isArray(body)
        ? submitList(api, jobs, body, ids)
        : submitOne(api, jobs, body, ids());
    },
  },
];

/** The id that the caller wants its new job to have. */
export function chosenId(call: Call): JobId | null {
  const header = call.headers['millrace-job-id'];
  const inQuery = call.query['id'];
  if (typeof header === 'string' && inQuery !== undefined && header !== inQuery) {
    throw badInput(
      '?id',
      'It differs from the id in the header Millrace-Job-Id.',
      'Send one of the two.',
    );
  }
  const id = typeof header === 'string' ? header : inQuery;
  const path = typeof header === 'string' ? 'Millrace-Job-Id' : '?id';
  return id === undefined ? null : (checkedId(id, path) as JobId);
}

export async function submitOne(
  api: ApiParts,
  jobs: JobService,
  document: unknown,
  id: SubmitOptions,
): Promise<Answer> {
  const { jobId, state, changed } = await jobs.submit(document, id);
  // The same commit may have given it to a worker, and that one has the shorter answer: it goes first.
  await nextTurn();
  if (changed) api.metrics.countSubmitted();
  const status = changed ? 201 : 200;
  const value: Submitted = { id: jobId, state };
  return { kind: 'json', status, value, headers: { location: `/api/v1/jobs/${jobId}` } };
}

async function submitList(
  api: ApiParts,
  jobs: JobService,
  documents: readonly unknown[],
  ids: (at: number) => SubmitOptions,
): Promise<Answer> {
  const { listMax } = api.limits;
  if (documents.length === 0) throw badInput('', 'The list is empty.');
  if (documents.length > listMax) {
    throw new MillraceError({
      code: 'too_large',
      what: `The list has ${documents.length} documents, and ${listMax} is the limit.`,
      todo: 'Send it in several requests.',
    });
  }
  const replies = await jobs.submitAll(documents.map((document, at) => ({ document, ...ids(at) })));
  return answerOf(api, replies, replies.map(itemOf));
}

/** The answer about several jobs, of which some may have been refused. */
export function answerOf(
  api: ApiParts,
  replies: readonly (JobReply | MillraceError)[],
  value: unknown,
): Answer {
  const refusals = replies.filter((reply) => isMillraceError(reply));
  // None of it was the documents' fault: the caller should ask again, perhaps elsewhere.
  const [first] = refusals;
  const isOurFault = refusals.every((error) => problemOf(error).status >= 500);
  if (first !== undefined && refusals.length === replies.length && isOurFault) throw first;
  const made = replies.filter((reply) => !isMillraceError(reply) && reply.changed);
  api.metrics.countSubmitted(made.length);
  const status = refusals.length > 0 ? 207 : made.length > 0 ? 201 : 200;
  return { kind: 'json', status, value };
}

export function itemOf(reply: JobReply | MillraceError): Submitted | { readonly error: Problem } {
  if (isMillraceError(reply)) return { error: problemOf(reply) };
  return { id: reply.jobId, state: reply.state };
}

/** The id of a new job; in a list, by the job's place in it. A caller that chooses ids may be repeating a call whose
 * answer was lost. */
export function newIds(call: Call, api: ApiParts): (at?: number) => SubmitOptions {
  const id = chosenId(call);
  const { traceparent, tracestate } = call.headers;
  const trace = readTrace(traceparent, tracestate);
  if (id === null) return () => ({ jobId: api.newJobId(), isFresh: true, trace });
  return (at) => ({ jobId: at === undefined ? id : (`${id}.${at}` as JobId), trace });
}
