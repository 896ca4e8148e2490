/**
 * Calls `work` for each item, at most `atOnce` at a time, and answers in the order of the items. After the first
 * failure, or an abort, nothing more is begun; it is thrown when all that has begun is done.
 */
export async function eachOf<Item, Answer>(
  items: readonly Item[],
  atOnce: number,
  signal: AbortSignal | undefined,
  work: (item: Item, at: number) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = Array.from({ length: items.length });
  const failures: unknown[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const at = next;
      next += 1;
      try {
        signal?.throwIfAborted();
        answers[at] = await work(items[at] as Item, at);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  if (failures.length === 0) return answers;
  // A caller that aborts gets its own reason, not a consequence of it.
  signal?.throwIfAborted();
  throw failures[0];
}
