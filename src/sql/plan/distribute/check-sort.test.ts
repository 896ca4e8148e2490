import { expect, test } from 'vitest';
import { TABLES, column, scanOf } from '../../../../test/sql/plan/random-relation.ts';
import type { Relation, Sort } from '../logical/relation.ts';
import { AddExchanges } from './add-exchanges.ts';
import { checkDraft } from './check-draft.ts';
import { Draft, type DraftStage } from './draft.ts';
import { distributeSettings } from './settings.ts';

const ORDER = [{ expression: column(0), descending: true, nullsFirst: false }];
const SETTINGS = distributeSettings({
  ...{ partitions: 4, broadcastThresholdBytes: 0, singleFragmentBytes: 0, sortThresholdBytes: 0 },
});

/** Sample, bounds, ranges, sort. */
function sortedDraft(): Draft {
  const draft = new Draft(SETTINGS.partitions);
  const input = scanOf('large');
  const sort: Sort = { kind: 'sort', input, order: ORDER, output: input.output, rows: 1e6 };
  draft.finish(new AddExchanges(draft, SETTINGS, TABLES).placeResult(sort));
  return draft;
}

/** What the check says of the plan with one stage changed. */
function verdict(at: number, change: (stage: DraftStage) => Partial<DraftStage>): string {
  const draft = sortedDraft();
  const stage = draft.stages[at] as DraftStage;
  draft.stages[at] = { ...stage, ...change(stage) };
  try {
    checkDraft(draft, true);
    return 'right';
  } catch (error) {
    return String(error);
  }
}

function rangeOutput(
  stage: DraftStage,
  more: Partial<Extract<DraftStage['output'], { kind: 'range' }>>,
): Partial<DraftStage> {
  const { output } = stage;
  return output.kind === 'range' ? { output: { ...output, ...more } } : {};
}

/** The rows of a sort without it. */
function unsorted(relation: Relation): Relation {
  if (relation.kind === 'sort') return relation.input;
  return relation.kind === 'project' ? { ...relation, input: unsorted(relation.input) } : relation;
}

test('a large result is sampled, range-partitioned and sorted in four stages', () => {
  const { stages } = sortedDraft();
  expect(stages.map(({ tasks, output }) => [tasks, output.kind])).toEqual([
    [4, 'whole'],
    [1, 'whole'],
    [4, 'range'],
    [4, 'result'],
  ]);
  expect(verdict(0, () => ({}))).toBe('right');
});

test('a sample that is not marked as random is refused', () => {
  expect(verdict(0, () => ({ nonDeterministic: null }))).toContain('not marked');
});

test('bounds that differ between tasks, or are not in ascending order, are refused', () => {
  expect(verdict(1, () => ({ tasks: 4 }))).not.toBe('right');
  const reversed = verdict(1, ({ relation }) =>
    relation.kind === 'aggregate'
      ? { relation: { ...relation, calls: relation.calls.toReversed() } }
      : {},
  );
  expect(reversed).toContain('its bounds are not in ascending order');
});

test('ranges in another order than that of the sort are refused', () => {
  const upwards = ORDER.map((each) => ({ ...each, descending: false }));
  expect(verdict(2, (stage) => rangeOutput(stage, { order: upwards }))).toContain(
    'its ranges are not in the order of its keys',
  );
  expect(verdict(2, (stage) => rangeOutput(stage, { by: column(0) }))).toContain(
    'its partitions are not its ranges',
  );
  const other = verdict(3, ({ relation }) => ({ relation: reordered(relation) }));
  expect(other).toContain('order is lost between tasks');
});

test('rows that are only hash-partitioned cannot be sorted in several tasks', () => {
  const hashed = verdict(2, () => ({ output: { kind: 'hash', by: [column(0)] } }));
  expect(hashed).toContain('order is lost between tasks');
});

test('an ordered result of several tasks without a sort is refused', () => {
  const found = verdict(3, ({ relation }) => ({ relation: unsorted(relation) }));
  expect(found).toContain('the tasks of an ordered result do not sort it');
});

function reordered(relation: Relation): Relation {
  if (relation.kind === 'sort')
    return { ...relation, order: [{ ...ORDER[0]!, expression: column(1) }] };
  return relation.kind === 'project' ? { ...relation, input: reordered(relation.input) } : relation;
}
