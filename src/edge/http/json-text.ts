/** JSON in pieces, for answers that are too long to be made in one: a job with 100,000 tasks. */
import { JsonText } from '../../scheduler/contract/index.ts';
import type { AsOf, ReadJob } from '../../scheduler/contract/index.ts';

const PIECE_LENGTH = 65_536;

/** The text of `{ ...fields, ...lists }`. */
export function* objectText(
  fields: object,
  lists: Readonly<Record<string, Iterable<unknown>>>,
): Iterable<string> {
  const head = itemText(fields).slice(0, -1);
  yield head;
  let separator = head === '{' ? '' : ',';
  for (const [name, items] of Object.entries(lists)) {
    yield `${separator}${JSON.stringify(name)}:`;
    yield* listText(items);
    separator = ',';
  }
  yield '}\n';
}

/** A job as it is shown, in one piece. */
export function jobText({ tasks, history, ...job }: ReadJob, asOf: AsOf<Date>): string {
  return [...objectText({ ...job, asOf }, { tasks, history })].join('');
}

function* listText(items: Iterable<unknown>): Iterable<string> {
  let piece = '[';
  let separator = '';
  for (const item of items) {
    piece += `${separator}${itemText(item)}`;
    separator = ',';
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]`;
}

/** Like `JSON.stringify`, but a field `result` that is JSON text already is put in as it is. */
function itemText(item: unknown): string {
  const isObject = typeof item === 'object' && item !== null;
  if (!isObject || !('result' in item) || !(item.result instanceof JsonText)) {
    return JSON.stringify(item);
  }
  const { result: _, ...rest } = item;
  const head = JSON.stringify(rest).slice(0, -1);
  return `${head}${head === '{' ? '' : ','}"result":${item.result.text}}`;
}
