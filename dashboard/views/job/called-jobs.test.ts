import { expect, test } from 'vitest';
import { calledJobs, callerOf, submittedJobs } from './called-jobs.ts';

test('calls that have ended and calls that are waited for are listed once each', () => {
  const steps = [
    { name: 'charge', result: { jobId: 'not a call' } },
    { name: '$job/invoice', result: { jobId: 'j.0123456789ab', state: 'failed', result: null } },
    { name: '$job/broken', result: null },
  ];
  expect(calledJobs(steps, 'waits for job j.0123456789ab or j.ba9876543210; 2 h left')).toEqual([
    { id: 'j.0123456789ab', name: 'invoice', state: 'failed' },
    { id: 'j.ba9876543210', name: null, state: null },
  ]);
  expect(calledJobs([], 'waits for signal approve')).toEqual([]);
});

test('the caller is named by the id of a called job, and by no other id', () => {
  expect(callerOf('order-1.0123456789ab.ba9876543210')).toBe('order-1.0123456789ab');
  for (const id of ['order-1', 'order-1.0', 'list.123456789012345', '.0123456789ab'])
    expect(callerOf(id)).toBeNull();
});

test('jobs that were submitted are named by their steps', () => {
  const steps = [
    { name: '$submit/mail', result: { jobId: '0123456789abcdef0123456789abcdef' } },
    { name: '$submit/broken', result: null },
    { name: '$job/invoice', result: { jobId: 'j.0123456789ab', state: 'failed' } },
  ];
  expect(submittedJobs(steps)).toEqual(['0123456789abcdef0123456789abcdef']);
});
