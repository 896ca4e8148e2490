/** JSON in pieces, for answers that are too long to be made in one: a job with 100,000 tasks. */

const PIECE_LENGTH = 65_536;

/** The text of `{ ...fields, ...lists }`. */
export function* objectText(
  fields: object,
  lists: Readonly<Record<string, Iterable<unknown>>>,
): Iterable<string> {
  const head = JSON.stringify(fields).slice(0, -1);
  yield head;
  let separator = head === '{' ? '' : ',';
  for (const [name, items] of Object.entries(lists)) {
    yield `${separator}${JSON.stringify(name)}:`;
    yield* listText(items);
    separator = ',';
  }
  yield '}\n';
}

function* listText(items: Iterable<unknown>): Iterable<string> {
  let piece = '[';
  let separator = '';
  for (const item of items) {
    piece += `${separator}${JSON.stringify(item)}`;
    separator = ',';
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]`;
}
