import { Metadata, status as Status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode } from '../../scheduler/core/index.ts';
import { errorOfStatus, statusOf } from './status.ts';

function failure(code: Status, details: string, metadata = new Metadata()): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata });
}

/** Thrown at one end, caught at the other. */
function across(error: unknown): MillraceError {
  const { code, details, metadata } = statusOf(error);
  return errorOfStatus(failure(code, details, metadata), 'there:1');
}

test('an error arrives with all its parts', () => {
  const error = new MillraceError({
    code: 'not_leader',
    what: 'This node does not lead.',
    why: 'Another one does.',
    todo: 'Ask it.',
    path: '/tasks/3',
    leader: { nodeId: 'n', url: 'http://n', grpc: null, epoch: Number.MAX_SAFE_INTEGER },
  });
  const { code, what, why, todo, path, leader, message } = error;
  expect(across(error)).toMatchObject({ code, what, why, todo, path, leader, message });
});

test.each<[ErrorCode, Status]>([
  ['bad_input', Status.INVALID_ARGUMENT],
  ['too_large', Status.RESOURCE_EXHAUSTED],
  ['overloaded', Status.RESOURCE_EXHAUSTED],
  ['not_found', Status.NOT_FOUND],
  ['unknown_session', Status.NOT_FOUND],
  ['conflict', Status.FAILED_PRECONDITION],
  ['superseded', Status.FAILED_PRECONDITION],
  ['incompatible', Status.FAILED_PRECONDITION],
  ['not_leader', Status.UNAVAILABLE],
  ['loading', Status.UNAVAILABLE],
  ['store_unavailable', Status.UNAVAILABLE],
  ['shutting_down', Status.UNAVAILABLE],
  ['deposed', Status.UNAVAILABLE],
  ['outcome_unknown', Status.UNAVAILABLE],
  ['expired', Status.OUT_OF_RANGE],
  ['unauthenticated', Status.UNAUTHENTICATED],
  ['forbidden', Status.PERMISSION_DENIED],
  ['unimplemented', Status.UNIMPLEMENTED],
  ['invariant', Status.INTERNAL],
])('%s has its status and comes back', (code, status) => {
  const error = new MillraceError({ code, what: 'So.' });
  expect(statusOf(error).code).toBe(status);
  expect(across(error).code).toBe(code);
});

test('an unexpected error does not expose its details', () => {
  const back = across(new TypeError('secret of the house'));
  expect(back.code).toBe('invariant');
  const { details, metadata } = statusOf(new TypeError('secret of the house'));
  const trailer = String(metadata.get('millrace-error-bin')[0]);
  expect(details + trailer).not.toMatch(/secret|TypeError|at /);
  const cause = new Error('secret of the house');
  const wrapped = statusOf(new MillraceError({ code: 'invariant', what: 'Broken.', cause }));
  expect(String(wrapped.metadata.get('millrace-error-bin')[0])).not.toContain('secret');
});

test('a long text is cut to what a header holds', () => {
  const { metadata, details } = statusOf(
    new MillraceError({ code: 'bad_input', what: 'x'.repeat(100_000), todo: 'y'.repeat(100_000) }),
  );
  expect(details.length).toBeLessThan(3_000);
  expect(metadata.get('millrace-error-bin')[0]?.length).toBeLessThan(10_000);
});

describe('a status that Millrace did not create is mapped by its code', () => {
  test.each<[Status, string, ErrorCode]>([
    [Status.UNAVAILABLE, 'No connection established', 'unreachable'],
    [Status.DEADLINE_EXCEEDED, 'Deadline exceeded', 'unreachable'],
    [Status.CANCELLED, 'Cancelled', 'unreachable'],
    [Status.INTERNAL, 'Received RST_STREAM with code 2', 'unreachable'],
    [Status.INTERNAL, 'Response message parsing error', 'invariant'],
    [Status.RESOURCE_EXHAUSTED, 'Received message larger than max (5 vs 4)', 'too_large'],
    [Status.RESOURCE_EXHAUSTED, 'Bandwidth exhausted', 'overloaded'],
    [Status.UNIMPLEMENTED, 'The server does not implement', 'unimplemented'],
    [Status.INVALID_ARGUMENT, 'No', 'bad_input'],
    [Status.UNAUTHENTICATED, 'No', 'unauthenticated'],
    [Status.PERMISSION_DENIED, 'No', 'forbidden'],
    [Status.UNKNOWN, 'Odd', 'invariant'],
  ])('%s %s is %s', (status, details, code) => {
    const error = errorOfStatus(failure(status, details), 'there:1');
    expect(error.code).toBe(code);
    expect(error.what).toContain('there:1');
  });

  test('an unknown trailer is ignored', () => {
    const metadata = new Metadata();
    metadata.set('millrace-error-bin', Buffer.from([0xff, 0xff, 0xff]));
    const error = errorOfStatus(failure(Status.UNAVAILABLE, 'Gone', metadata), 'there:1');
    expect(error.code).toBe('unreachable');
  });

  test('an unknown code is an internal error, and keeps its message', () => {
    const { metadata, details } = statusOf(
      new MillraceError({ code: 'yet_to_come' as ErrorCode, what: 'From the future.' }),
    );
    const error = errorOfStatus(failure(Status.INTERNAL, details, metadata), 'there:1');
    expect(error).toMatchObject({ code: 'invariant', what: 'From the future.' });
  });
});
