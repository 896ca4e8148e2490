import { describe, expect, test } from 'vitest';
import { isMillraceError } from '../../../scheduler/core/index.ts';
import { examplePlan } from '../../../../test/sql/plan/example-plan.ts';
import { readStoredPlan } from '../physical/stored-plan.ts';
import { readPlan } from './read-plan.ts';

/** A copy of the plan with another value at a path. */
function withValue(path: string, value: unknown): unknown {
  const plan = JSON.parse(JSON.stringify(examplePlan())) as Record<string, unknown>;
  const keys = path.split('/').slice(1);
  const last = keys.pop() ?? '';
  let place: Record<string, unknown> = plan;
  for (const key of keys) place = place[key] as Record<string, unknown>;
  if (value === undefined) delete place[last];
  else place[last] = value;
  return plan;
}

/** What is proved of a plan is not taken from whoever submits it. */
const claimless = (plan: object): unknown =>
  JSON.parse(JSON.stringify(plan, (key, value: unknown) => (key === 'splits' ? undefined : value)));

function refusal(json: unknown): string {
  try {
    readPlan(json);
  } catch (error) {
    if (isMillraceError(error, 'bad_input')) return `${error.path} ${error.what}`;
    throw error;
  }
  return 'accepted';
}

describe('a plan that is submitted', () => {
  test('is read from version 1 of the format, whose fields had other names', () => {
    const split = { column: 0, bounds: [-5, 0, 7] };
    const plan = JSON.stringify(withValue('/stages/0/fragment/scans/0/split', split));
    const old = plan
      .replace('"version":2', '"version":1')
      .replaceAll('"nonDeterministic":', '"unstable":')
      .replaceAll('"bounds":', '"cuts":');
    expect(old).not.toBe(plan);
    expect(readPlan(JSON.parse(old))).toEqual(claimless(JSON.parse(plan) as object));
    expect(readStoredPlan(old)).toEqual(JSON.parse(plan));
  });

  test('may say where the rows of each task begin', () => {
    const plan = withValue('/stages/0/fragment/scans/0/cuts', [5, 5, 700]);
    expect(readPlan(plan)).toEqual(claimless(plan as object));
  });

  test('is read as it was made', () => {
    const plan = examplePlan();
    expect(readPlan(JSON.parse(JSON.stringify(plan)))).toEqual(claimless(plan));
    expect(plan.stages.some(({ splits }) => splits !== undefined)).toBe(true);
  });

  test.each([
    ['/version', 5, /^\/version This server reads versions 1 to 4/],
    ['/stage', [], /^\/stage There is no such field\. Did you mean/],
    ['/partitions', 65, /^\/partitions Must be a whole number from 1 to 64, not 65/],
    ['/partitions', 2.5, /^\/partitions Must be a whole number/],
    ['/ordered', 'yes', /^\/ordered Must be true or false, not "yes"/],
    ['/sql', '', /^\/sql Must not be empty/],
    ['/sql', 'a\0b', /^\/sql Must not have a NUL/],
    ['/sql', undefined, /^\/sql Must be text, not nothing/],
    ['/stages', [], /^\/stages A plan must have at least one stage/],
    ['/stages', {}, /^\/stages Must be a list/],
    ['/stages/0', 7, /^\/stages\/0 Must be an object, not 7/],
    ['/session', null, /^\/session Must be an object/],
    ['/stages/1/fragment/sql', 5, /^\/stages\/1\/fragment\/sql Must be text/],
    [
      '/stages/0/fragment/tables',
      [{}],
      /tables A fragment of a submitted plan must not have tables/,
    ],
    ['/stages/0/fragment/columns', [], /columns A fragment must have at least one column/],
    ['/stages/0/fragment/columns/1/name', 'x', /columns\/1\/name Columns are named c0/],
    ['/stages/0/fragment/scans/0/relation', '$from', /relation A relation name has/],
    ['/stages/0/fragment/scans/0/rows', 'mine', /rows Must be one of 'own', 'all'/],
    ['/stages/0/fragment/scans/0/reader/format', 'csv', /rows Only Parquet files can be split/],
    [
      '/stages/0/fragment/scans/0/split',
      { column: 0, bounds: [1, 2] },
      /scans\/0\/split .*one bound fewer than there are tasks, 4/,
    ],
    [
      '/stages/0/fragment/scans/0/split',
      { column: 9, bounds: [1, 2, 3] },
      /split .*column 9, which does not exist/,
    ],
    [
      '/stages/0/fragment/scans/0/split',
      { column: 0, bounds: [1, 3, 2] },
      /split .*not in ascending order/,
    ],
    [
      '/stages/0/fragment/scans/0/split',
      { column: 0, bounds: [1, 2, 0.5] },
      /bounds\/2 Must be a whole/,
    ],
    ['/stages/0/fragment/scans/0/split', { at: 0 }, /split\/at There is no such field/],
    ['/stages/0/fragment/scans/0/cuts', [1, 2], /cuts .*one number fewer than there are tasks, 4/],
    ['/stages/0/fragment/scans/0/cuts', [1, 3, 2], /cuts .*in ascending order/],
    ['/stages/0/fragment/scans/0/cuts', [-1, 3, 4], /cuts\/0 Must be a whole/],
    ['/stages/0/fragment/scans/0/cuts', [1, 2, 0.5], /cuts\/2 Must be a whole/],
    ['/stages/2/fragment/inputs/0/mode', 'all', /inputs\/0 .*stage 0 has no whole output/],
    ['/stages/2/fragment/inputs/0/mode', 'forward', /inputs\/0 .*stage 0 has no whole output/],
    ['/stages/2/fragment/inputs/0/stage', 2, /must read an earlier stage/],
    ['/stages/2/fragment/inputs/0/stage', 1, /must have the columns of stage 1/],
    ['/stages/2/fragment/inputs/1/relation', 'stage0', /two relations named 'stage0'/],
    ['/stages/0/output', { kind: 'whole' }, /stage 0 has no hash or range output/],
    ['/stages/0/output', { kind: 'range', partitions: 4 }, /\/output\/by Must be text/],
    ['/stages/0/output', { kind: 'range', by: 'c0', partitions: 2 }, /partitions .*must be 4/],
    ['/stages/0/output/by', [], /by A hash output needs at least one expression/],
    ['/stages/0/output/partitions', 3, /\/output\/partitions .*must be 4/],
    ['/stages/0/output', { kind: 'whole', by: [] }, /\/output\/by There is no such field/],
    ['/stages/3/output', { kind: 'result' }, /\/stages\/3\/output\/kind .*last stage and no other/],
    ['/stages/4/output', { kind: 'whole' }, /\/stages\/4\/output\/kind/],
    ['/stages/4/tasks', 4, /\/stages\/4\/tasks .*the result has an order/],
    ['/stages/4/fragment/inputs', [], /\/stages\/3 .*no stage reads its output/],
    ['/stages/2/tasks', 3, /\/stages\/2\/tasks .*must be 1 or the number of partitions/],
    ['/stages/2/tasks', 1, /must be in a stage with as many tasks as there are partitions/],
    ['/stages/2/id', 5, /\/stages\/2\/id .*must be its index, 2/],
    ['/stages/2/requires', 'geo', /\/stages\/2\/requires Must be a list, not "geo"/],
    [
      '/stages/2/requires',
      ['geo', 'no name'],
      /requires\/1 "no name" is not a valid operator name/,
    ],
    ['/columns/0/type', 'INT) AS a, (SELECT 1', /^\/columns\/0\/type .* is not a type/],
    ['/columns/0/type', "VARCHAR' --", /^\/columns\/0\/type .* is not a type/],
    [
      '/columns/0/type',
      'INTEGER',
      /^\/columns .*must have the types of the columns of the last stage/,
    ],
    ['/stages/0/fragment/columns/0/type', `read_text('x')`, /columns\/0\/type .* is not a type/],
    ['/stages/2/fragment/inputs/0/columns/0/type', '1', /columns\/0\/type .* is not a type/],
    ['/stages/2/estimate/rows', -1, /estimate\/rows Must be a whole number/],
  ])('is refused with the place: %s = %j', (path, value, message) => {
    expect(refusal(withValue(path, value))).toMatch(message);
  });

  test('names the operators that a stage needs, each once, or none', () => {
    const requiredBy = (value: unknown): unknown =>
      readPlan(withValue('/stages/2/requires', value)).stages.map(({ requires }) => requires);
    expect(requiredBy(['geo', 'rank', 'geo'])).toEqual([[], [], ['geo', 'rank'], [], []]);
    expect(requiredBy(undefined)).toEqual([[], [], [], [], []]);
  });

  test('may range-partition a table', () => {
    const split = { column: 0, bounds: [-5, 0, 7] };
    const plan = readPlan(withValue('/stages/0/fragment/scans/0/split', split));
    expect(plan.stages[0]?.fragment.scans[0]?.split).toEqual(split);
  });

  test.each([[null], [[]], ['plan'], [42]])('must be an object, not %j', (json) => {
    expect(refusal(json)).toMatch(/^\/ Must be an object/);
  });

  test('may have other tasks of a stage forward to as many', () => {
    const plan = withValue('/stages/3/fragment/inputs/0/mode', 'forward');
    expect(refusal(plan)).toMatch(/stage 2 has no whole output/);
  });
});
