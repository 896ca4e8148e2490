/** Finds the word that was probably meant. Only called when something is refused already. */

/** Beyond this many candidates an error message is not worth the time. */
const CANDIDATES_MAX = 2_000;

/** ` Did you mean 'x'?`, or nothing when no candidate is close, or when the word itself is one and something else is wrong. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const meant = nearest(word, candidates);
  return meant === undefined || meant === word ? '' : ` Did you mean '${meant}'?`;
}

export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > 100) return undefined;
  const plain = simplified(word);
  // One letter of a short word, two of a longer one.
  let best = word.length < 5 ? 1 : 2;
  let found: string | undefined;
  let seen = 0;
  for (const candidate of candidates) {
    seen += 1;
    if (seen > CANDIDATES_MAX) break;
    if (simplified(candidate) === plain) return candidate;
    if (Math.abs(candidate.length - word.length) > best) continue;
    const away = distance(word, candidate);
    if (away < best || (away === best && found === undefined)) {
      best = away;
      found = candidate;
    }
  }
  return found;
}

/** `max_attempts`, `MaxAttempts` and `maxAttempts` are one word to a person. */
function simplified(word: string): string {
  return word.replaceAll(/[_\s-]/g, '').toLowerCase();
}

/** Letters to insert, remove or replace. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let y = 1; y <= left.length; y += 1) {
    const next = [y];
    for (let x = 1; x <= right.length; x += 1) {
      const replaced = (row[x - 1] ?? 0) + (left[y - 1] === right[x - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[x] ?? 0) + 1, (next[x - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
