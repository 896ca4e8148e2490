/** No body and no name, however odd, is answered with a fault of the server. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ApiBench, openApi } from '../rig/api.ts';
import { readRequest } from '../../src/sql/planner/request.ts';

let bench: ApiBench;

beforeEach(async () => {
  const planner = {
    plan: (request: unknown) => {
      readRequest(request);
      return Promise.reject(new Error('none of these can be planned'));
    },
  };
  bench = await openApi({}, { planner });
});
afterEach(() => bench.close());

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const tasks = '[{"id":"a","executor":"echo"}]';

const BODIES: readonly [string, string, (inner: string) => string][] = [
  ['POST', '/jobs', (inner) => inner],
  ['POST', '/jobs', (inner) => `{"tasks":[{"id":"a","executor":"echo","input":${inner}}]}`],
  ['POST', '/jobs', (inner) => `[{"tasks":${tasks}},{"tasks":${tasks},"output":${inner}}]`],
  ['POST', '/jobs/j/signals/go', (inner) => inner],
  ['POST', '/jobs/j/signals/go', (inner) => `{"a":{"b":${inner}}}`],
  ['POST', '/jobs/j/cancel', (inner) => `{"reason":${inner}}`],
  ['POST', '/queries', (inner) => `{"sql":"select 1","params":${inner}}`],
  ['POST', '/queries', (inner) => `{"plan":${inner}}`],
  ['PUT', '/schedules/s', (inner) => `{"timing":{"at":1},"document":${inner}}`],
];

describe.each(BODIES)('%s %s', (method, path, around) => {
  test.each([500, 1_200, 100_000])('refuses nesting %d deep', async (levels) => {
    await bench.call('POST', '/api/v1/jobs?id=j', `{"tasks":${tasks}}`);
    const { status, body } = await bench.call(method, `/api/v1${path}`, around(deep(levels)));
    // A signal may be deeper than a document.
    const isSignal = path.includes('signals') && levels < 1_000;
    expect(status).toBe(isSignal ? 200 : levels === 500 && status === 207 ? 207 : 400);
    if (status === 400) expect(body.code).toBe('bad_input');
    expect(bench.faults).toEqual([]);
  });
});

test('a value that is nested too deeply is named by its path', async () => {
  await bench.call('POST', '/api/v1/jobs?id=j', `{"tasks":${tasks}}`);
  const signal = `{"a":{"b":${deep(20_000)}}}`;
  const { status, body } = await bench.call('POST', '/api/v1/jobs/j/signals/go', signal);
  expect([status, body.path]).toEqual([400, '/a/b/0']);
});

test('a body of millions of levels is refused before it is parsed', async () => {
  const parse = vi.spyOn(JSON, 'parse');
  const text = deep(5_000_000);
  const { status, body } = await bench.call('POST', '/api/v1/triggers', text);
  expect([status, body.code]).toEqual([400, 'bad_input']);
  expect(parse.mock.calls.filter(([given]) => given.length > 1_000_000)).toEqual([]);
});

const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype'];

test.each(NAMES)('%s is a name like any other', async (name) => {
  const document = `{"name":"${name}","idempotencyKey":"${name}","tasks":[
    {"id":"${name}","executor":"${name}","idempotencyKey":"${name}",
     "input":{"${name}":{"${name}":1}},"concurrency":{"key":"${name}","limit":1},
     "placement":{"executors":["${name}"],"capabilities":{"${name}":"${name}"}}},
    {"id":"b","executor":"echo","dependsOn":["${name}"],
     "input":{"$from":"${name}","path":"/${name}"}}]}`;
  const ids = name;
  const answers = [
    await bench.call('POST', `/api/v1/jobs?id=${ids}`, document),
    await bench.call('GET', `/api/v1/jobs/${ids}`),
    await bench.call('GET', `/api/v1/jobs/${ids}/tasks/${name}/explain`),
    await bench.call('POST', `/api/v1/jobs/${ids}/signals/${name}`, `{"${name}":1}`),
    await bench.call(
      'PUT',
      `/api/v1/schedules/${name}`,
      `{"timing":{"at":1},"document":{"tasks":${tasks}}}`,
    ),
    await bench.call('GET', `/api/v1/jobs?name=${name}`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 200]);
  const refused = [
    await bench.call('POST', '/api/v1/jobs', `{"${name}":1,"tasks":${tasks}}`),
    await bench.call('POST', '/api/v1/queries', `{"sql":"select 1","${name}":1}`),
    await bench.call('POST', '/api/v1/queries', `{"sql":"x","settings":{"${name}":1}}`),
    await bench.call('GET', `/api/v1/jobs?${name}=1`),
  ];
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  expect(bench.faults).toEqual([]);
});
