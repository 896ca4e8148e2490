/** Why a registration by a worker is refused. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { FragmentKey } from '../../scheduler/contract/index.ts';

export function noSession(): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    path: '/worker_id',
    what: 'The registration does not say who makes it.',
    todo: 'Give worker_id and session_id of the session that runs the task.',
  });
}

export function noSuchStage({ query, stage }: FragmentKey): MillraceError {
  return new MillraceError({ code: 'not_found', what: `Query ${query} has no stage ${stage}.` });
}

export function notTheLastStage(stage: number): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `Stage ${stage} is not the last one: other stages read its rows.`,
    todo: 'Register its output with ShuffleService.RegisterMapOutput.',
  });
}

export function tookTooLong(planMs: number): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `The query could not be planned within ${planMs} ms.`,
    todo: 'Make the query or its tables smaller, or raise planTimeoutMs; if the server is busy, submit it again.',
  });
}

export function tooManyWait(waitingMax: number): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `${waitingMax} queries are already waiting to be planned, which is the limit.`,
    todo: 'Submit it again later.',
  });
}
