/**
 * The events of commits that are not in the tables. Those of large commits are kept as chunks alone, as they are in the journal:
 * thousands of rows that nobody asks for would outlive what the collector takes at once. Who asks has them read again.
 */
import type { EventRow, JobNo } from '../../core/index.ts';
import { CHUNK_EVENTS, chunksOf, type EventChunk, eventsIn, storedChunk } from '../event-chunk.ts';

/** A chunk with fewer is put together with others, and its events stay at hand for it. */
const WORTH_KEEPING = CHUNK_EVENTS / 4;

export class PendingEvents {
  /** In their order. */
  readonly #parts: (EventChunk | readonly EventRow[])[] = [];
  readonly #chunks: EventChunk[] = [];
  #count = 0;

  add(events: readonly EventRow[], chunks: readonly EventChunk[]): void {
    if (events.length === 0) return;
    this.#count += events.length;
    for (const chunk of chunks) this.#chunks.push(chunk);
    if (events.length < WORTH_KEEPING) this.#parts.push(events);
    else for (const chunk of chunks) this.#parts.push(chunk);
  }

  /** The number of the first one; null when there is none. */
  get firstSeq(): number | null {
    const [first] = this.#parts;
    if (first === undefined) return null;
    return isChunk(first) ? first.firstSeq : (first[0]?.seq ?? null);
  }

  /** Those behind number `after`, of one job if it is named. */
  *after(after: number, jobNo: JobNo | null): Generator<EventRow> {
    for (const part of this.#parts) {
      if (isChunk(part) && !mayHave(part, after, jobNo)) continue;
      for (const event of isChunk(part) ? eventsIn(part) : part) {
        if (event.seq > after && (jobNo === null || event.jobNo === jobNo)) yield event;
      }
    }
  }

  all(): EventRow[] {
    return [...this.after(0, null)];
  }

  /** As tables have them. Chunks of many small commits are put together: each is a row, and is looked at by whoever reads the log. */
  chunks(): readonly EventChunk[] {
    const isLarge = this.#count >= this.#chunks.length * WORTH_KEEPING;
    return isLarge ? this.#chunks.map(storedChunk) : chunksOf(this.all());
  }
}

const isChunk = (part: EventChunk | readonly EventRow[]): part is EventChunk => 'body' in part;

function mayHave({ lastSeq, jobMin, jobMax }: EventChunk, after: number, jobNo: JobNo | null) {
  if (lastSeq <= after) return false;
  return (
    jobNo === null || (jobMin !== null && jobMax !== null && jobMin <= jobNo && jobNo <= jobMax)
  );
}
