import { setImmediate } from 'node:timers/promises';

/** Items that take about a millisecond or two together. */
const PORTION = 1_000;

/**
 * Like `items.map(work)`, but other work of the process has its turn between portions: a list that somebody may make as
 * long as he likes must not stop everybody else.
 */
export async function inPortions<Item, Answer>(
  items: readonly Item[],
  work: (item: Item) => Answer,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let at = 0; at < items.length; at += PORTION) {
    if (at > 0) await setImmediate();
    for (const item of items.slice(at, at + PORTION)) answers.push(work(item));
  }
  return answers;
}

/** What the generator returns in the end; whenever it yields, other work of the process has its turn. */
export async function inTurns<Answer>(work: Generator<void, Answer>): Promise<Answer> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await setImmediate();
  }
}
