import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { defaultSettings } from '../settings.ts';
import { JOB_STATES } from '../task/chart.ts';
import { KEEPS, type Keep } from './document.ts';
import {
  NewJobOptions,
  NO_JOB_OPTIONS,
  decodeJobOptions,
  encodeJobOptions,
  isUnkept,
} from './job-options.ts';
import { parseJobDocument } from './parse.ts';

const parse = (fields: object) =>
  parseJobDocument({ tasks: [{ id: 'a', executor: 'echo' }], ...fields }, defaultSettings);
const stored = (keep: Keep, fairnessKey: string | null = null): string | null =>
  encodeJobOptions({
    ...NO_JOB_OPTIONS,
    keep,
    fairnessKey,
    firstAt: null,
    batchOf: null,
    priority: null,
    runAt: null,
    startedBy: null,
  });

test('a job is kept unless its document says otherwise', () => {
  expect(parse({}).options.keep).toBe('all');
  expect(KEEPS.map((keep) => parse({ keep }).options.keep)).toEqual([...KEEPS]);
});

test.each([['some'], [null], [true], [['none']], [{ keep: 'none' }]])(
  '%j is not something to keep',
  (keep) => {
    expect(refusalOf(() => parse({ keep }))).toMatchObject({ code: 'bad_input', path: '/keep' });
  },
);

test('it is stored only if it is not the default', () => {
  expect(stored('all')).toBeNull();
  for (const keep of KEEPS) expect(decodeJobOptions(stored(keep, 'k')).keep).toBe(keep);
});

test('jobs that come one after the other have the options of their own documents', () => {
  const options = new NewJobOptions();
  const nothing = { firstAt: null, batchOf: null, startedBy: null };
  const startedBy = { event: 'paid', id: 'e1' };
  const [none, failed] = [parse({ keep: 'none' }).options, parse({ keep: 'failed' }).options];
  const turns = [none, none, NO_JOB_OPTIONS, none, failed, failed, NO_JOB_OPTIONS];
  for (const given of turns) {
    for (const more of [nothing, { ...nothing, startedBy }, nothing]) {
      const { options: made, text } = options.of(given, more);
      expect(made).toEqual({ ...given, ...more, priority: null, runAt: null });
      expect(text).toBe(encodeJobOptions(made));
      expect(decodeJobOptions(text)).toEqual(made);
    }
  }
  const first = options.of(none, nothing);
  expect(options.of(none, nothing)).toBe(first);
});

describe('what does not remain', () => {
  const gone = (options: string | null) =>
    JOB_STATES.filter((state) => isUnkept({ state, options }));

  test('depends on how the job ended', () => {
    expect(gone(stored('all', 'k'))).toEqual([]);
    expect(gone(stored('failed'))).toEqual(['succeeded']);
    expect(gone(stored('none'))).toEqual(['succeeded', 'failed', 'cancelled']);
  });

  test.each(['"keep":"none"', 'keep', '\\"keep":"none"', '","keep":"none'])(
    'is not decided by %j in another value',
    (text) => {
      expect(gone(stored('all', text))).toEqual([]);
    },
  );
});
