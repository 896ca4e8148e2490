/** Calls `work` for each item, at most `atOnce` at a time, and answers in the order of the items. The first
 * failure is thrown when those that have begun are done. */
export async function eachOf<Item, Answer>(
  items: readonly Item[],
  atOnce: number,
  signal: AbortSignal,
  work: (item: Item, at: number) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    while (next < items.length && !hasFailed) {
      signal.throwIfAborted();
      const at = next;
      next += 1;
      try {
        answers[at] = await work(items[at] as Item, at);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const lanes = Array.from({ length: Math.min(atOnce, items.length) }, lane);
  const ended = await Promise.allSettled(lanes);
  for (const lane of ended) if (lane.status === 'rejected') throw lane.reason;
  return answers;
}
