/**
 * The shape of a job: no task may wait for itself, directly or through others. Everything here is
 * a loop, because a chain of a hundred thousand tasks is a legal job and would overflow the stack.
 */

/**
 * Some cycle, as places in the order of its edges, or null when there is none. `edges[a]` are the
 * places that `a` points to.
 */
export function findCycle(edges: readonly (readonly number[])[]): readonly number[] | null {
  if (edges.every((targets) => targets.length === 0)) return null;
  const left = remainder(edges);
  const start = left.indexOf(1);
  if (start === -1) return null;
  // Whatever is left points to something that is left, so a walk among those must come round.
  const seenAt = new Map<number, number>();
  const walk: number[] = [];
  let here = start;
  for (;;) {
    const seen = seenAt.get(here);
    if (seen !== undefined) return walk.slice(seen);
    seenAt.set(here, walk.length);
    walk.push(here);
    here = edges[here]?.find((to) => left[to] === 1) as number;
  }
}

/** 1 for every place on a cycle or leading into one: what is left after repeatedly removing places without outgoing
 * edges. */
function remainder(edges: readonly (readonly number[])[]): Uint8Array {
  const count = edges.length;
  const outgoing = new Int32Array(count);
  // The edges turned round, packed: those into place `p` are incoming[first[p]] .. first[p + 1].
  const first = new Int32Array(count + 2);
  edges.forEach((targets, from) => {
    outgoing[from] = targets.length;
    for (const to of targets) first[to + 2] = (first[to + 2] as number) + 1;
  });
  for (let at = 2; at < first.length; at += 1) {
    first[at] = (first[at] as number) + (first[at - 1] as number);
  }
  const incoming = new Int32Array(first[count + 1] as number);
  edges.forEach((targets, from) => {
    for (const to of targets) {
      const slot = first[to + 1] as number;
      incoming[slot] = from;
      first[to + 1] = slot + 1;
    }
  });
  const left = new Uint8Array(count).fill(1);
  const done = new Int32Array(count);
  let found = 0;
  for (let at = 0; at < count; at += 1) if (outgoing[at] === 0) done[found++] = at;
  for (let at = 0; at < found; at += 1) {
    const place = done[at] as number;
    left[place] = 0;
    for (let slot = first[place] as number; slot < (first[place + 1] as number); slot += 1) {
      const from = incoming[slot] as number;
      outgoing[from] = (outgoing[from] as number) - 1;
      if (outgoing[from] === 0) done[found++] = from;
    }
  }
  return left;
}

/** `a -> b -> c -> a`, with the middle left out of a long one. */
export function shownCycle(ids: readonly string[]): string {
  const round = [...ids, ids[0] as string];
  if (round.length <= 8) return round.join(' -> ');
  const hidden = round.length - 6;
  return [...round.slice(0, 4), `... ${hidden} more ...`, ...round.slice(-2)].join(' -> ');
}
