import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { defaultSettings } from '../settings.ts';
import type { Calendar } from './schedule.ts';
import { decodeScheduleSpec, encodeScheduleSpec, parseScheduleSpec } from './spec.ts';

/** Knows two zones and takes any pattern of five fields. */
const calendar: Calendar = {
  next: () => null,
  check(cron, zone) {
    if (zone !== 'UTC' && zone !== 'Europe/Berlin') return `'${zone}' is not a valid time zone.`;
    return cron.split(' ').length === 5 ? null : `'${cron}' is not a cron pattern.`;
  },
};
const parse = (value: unknown): ReturnType<typeof parseScheduleSpec> =>
  parseScheduleSpec(value, defaultSettings, calendar);

const document = { name: 'nightly', tasks: [{ id: 'a', executor: 'echo', input: { x: 1 } }] };

describe('a schedule', () => {
  test('takes a cron pattern in UTC, fires a missed run once and does not overlap, by default', () => {
    expect(parse({ timing: { cron: '0 2 * * *' }, document })).toEqual({
      timing: { cron: '0 2 * * *', zone: 'UTC' },
      misfire: 'once',
      overlap: 'skip',
      document,
    });
  });

  test('takes an interval with an anchor, and times as text', () => {
    const timing = { everyMs: 60_000, anchorAt: '1970-01-01T00:00:10Z' };
    expect(parse({ timing, misfire: 'all', overlap: 'cancel', document })).toMatchObject({
      timing: { everyMs: 60_000, anchorAt: 10_000 },
      misfire: 'all',
      overlap: 'cancel',
    });
    expect(parse({ cron: '0 2 * * *', zone: 'Europe/Berlin', document }).timing).toEqual({
      cron: '0 2 * * *',
      zone: 'Europe/Berlin',
    });
    expect(parse({ everyMs: 60_000, document }).timing).toEqual({ everyMs: 60_000 });
    expect(parse({ timing: { at: '1970-01-01T00:00:01Z' }, document }).timing).toEqual({
      at: 1_000,
    });
  });

  test('that runs every missed time runs them one after the other, by default', () => {
    const timing = { everyMs: 60_000 };
    const overlap = (more: object): string => parse({ timing, document, ...more }).overlap;
    expect(overlap({ misfire: 'all' })).toBe('queue');
    expect(overlap({ misfire: 'all', overlap: 'skip' })).toBe('skip');
    expect(overlap({ misfire: 'once' })).toBe('skip');
  });

  test('survives being stored', () => {
    for (const timing of [
      { cron: '* * * * *', zone: 'Europe/Berlin' },
      { everyMs: 100, anchorAt: 5 },
      { everyMs: 100 },
      { at: 7 },
    ]) {
      const spec = parse({ timing, misfire: 'skip', overlap: 'queue', document });
      expect(decodeScheduleSpec(encodeScheduleSpec(spec), calendar)).toEqual(spec);
    }
  });

  test('keeps a copy of its document', () => {
    const own = structuredClone(document);
    const spec = parse({ timing: { everyMs: 100 }, document: own });
    own.name = 'changed';
    expect(spec.document).toEqual(document);
  });

  const timing = { everyMs: 1_000 };
  test.each([
    ['that is a list', [], undefined, 'must be an object'],
    ['without timing', { document }, '/timing', 'missing'],
    ['with two timings', { timing, cron: '0 2 * * *', document }, '/cron', 'already'],
    ['with two kinds beside each other', { cron: '* * * * *', at: 5, document }, '/at', 'no field'],
    [
      'with a wrong zone beside the others',
      { cron: '* * * * *', zone: 'X', document },
      '/zone',
      '',
    ],
    ['with a zone alone', { zone: 'UTC', document }, undefined, 'required'],
    ['without a document', { timing }, '/document', 'missing'],
    ['with an unknown field', { timing, document, catchUp: true }, '/catchUp', 'no field'],
    [
      'with an empty timing',
      { timing: {}, document },
      '/timing',
      'One of cron, everyMs and at is required',
    ],
    [
      'with two timings',
      { timing: { cron: '* * * * *', everyMs: 5 }, document },
      '/timing/everyMs',
      'no field',
    ],
    [
      'with a zone for an interval',
      { timing: { everyMs: 500, zone: 'UTC' }, document },
      '/timing/zone',
      'no field',
    ],
    ['with an interval of 0', { timing: { everyMs: 0 }, document }, '/timing/everyMs', 'from 100'],
    [
      'with half a millisecond',
      { timing: { everyMs: 100.5 }, document },
      '/timing/everyMs',
      'not 100.5',
    ],
    [
      'with a bad anchor',
      { timing: { everyMs: 100, anchorAt: 'noon' }, document },
      '/timing/anchorAt',
      'not a valid point in time',
    ],
    [
      'with a bad time',
      { timing: { at: '2026-02-30T00:00:00Z' }, document },
      '/timing/at',
      'not a valid point in time',
    ],
    [
      'with a bad pattern',
      { timing: { cron: '* *' }, document },
      '/timing/cron',
      'not a cron pattern',
    ],
    [
      'with a bad zone',
      { timing: { cron: '* * * * *', zone: 'Berlin' }, document },
      '/timing/zone',
      'not a valid time zone',
    ],
    [
      'with an unknown policy',
      { timing, misfire: 'never', document },
      '/misfire',
      "one of 'skip', 'once', 'all'",
    ],
    ['with an unknown overlap', { timing, overlap: 'allow', document }, '/overlap', 'one of'],
    [
      'with a bad document',
      { timing, document: { tasks: [{ id: 'a' }] } },
      '/document/tasks/0/executor',
      'missing',
    ],
    [
      'with a time at which all its jobs start',
      { timing, document: { ...document, runAt: '2030-01-01T00:00:00Z' } },
      '/document/runAt',
      'the schedule says when it runs',
    ],
    [
      'with a key for all its jobs',
      { timing, document: { ...document, idempotencyKey: 'k' } },
      '/document/idempotencyKey',
      'second run',
    ],
    [
      'with a key for a task of all its jobs',
      {
        timing,
        document: {
          tasks: [
            { id: 'a', executor: 'echo' },
            { id: 'b', executor: 'echo', idempotencyKey: 'k' },
          ],
        },
      },
      '/document/tasks/1/idempotencyKey',
      'second run',
    ],
  ])('%s is refused', (_, value, path, words) => {
    const refusal = refusalOf(() => parse(value));
    expect(refusal).toMatchObject({ code: 'bad_input', path });
    expect(refusal.what).toContain(words);
  });

  test.each(['{', '{}', '{"timing":{"at":1},"document":{},"misfire":"x"}'])(
    'stored as %s is a bad row',
    (text) => {
      expect(refusalOf(() => decodeScheduleSpec(text, calendar)).code).toBe('bad_row');
    },
  );

  test('stored with a zone that this node does not know is a bad row', () => {
    const spec = parse({ timing: { cron: '* * * * *', zone: 'Europe/Berlin' }, document });
    const text = encodeScheduleSpec(spec).replace('Europe/Berlin', 'Mars/Olympus');
    const refusal = refusalOf(() => decodeScheduleSpec(text, calendar));
    expect(refusal.code).toBe('bad_row');
    expect(refusal.why).toContain("'Mars/Olympus' is not a valid time zone");
  });
});
