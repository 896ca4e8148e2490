/**
 * Small inputs of jobs whose first task has not ended, as bytes: a job that waits in a long queue is in the tables long before its
 * turn, and to read its input from there costs the leader and the database more than anything else that it takes to give it out.
 * As strings a million of them would be a million objects for the garbage collector. By number of the job, in pages that are
 * dropped when nothing is left in them.
 */
import type { JobNo } from '../core/index.ts';

/** Longer ones are not worth the memory. */
export const SMALL_BYTES = 250;
/** Of all pages. What finds no room is read from the store when its turn comes. */
const BYTES_MAX = 32 * 1024 * 1024;
/** Jobs of a page: the places of as many small inputs fit into 16 bits. */
const PAGE = 256;
const FIRST_BYTES = 2_048;
/** In place of a length. */
const NOTHING = 0;
const IS_NULL = 255;

interface Page {
  readonly starts: Uint16Array;
  readonly lengths: Uint8Array;
  text: Buffer;
  used: number;
  count: number;
}

export class WaitingInputs {
  readonly #pages: Map<number, Page> = new Map();
  #bytes = 0;

  /** About what it takes in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined when it is not kept here. */
  get(no: JobNo): string | null | undefined {
    const page = this.#pages.get(Math.floor(no / PAGE));
    const length = page?.lengths[no % PAGE] ?? NOTHING;
    if (page === undefined || length === NOTHING) return undefined;
    if (length === IS_NULL) return null;
    const start = page.starts[no % PAGE] as number;
    return page.text.toString('utf8', start, start + length);
  }

  /** False when it is not kept. What never changes is set once. */
  set(no: JobNo, text: string | null): boolean {
    if (text !== null && (text === '' || text.length > SMALL_BYTES)) return false;
    const length = text === null ? 0 : Buffer.byteLength(text);
    if (length > SMALL_BYTES || this.#bytes > BYTES_MAX) return false;
    const page = this.#pageFor(Math.floor(no / PAGE));
    const place = no % PAGE;
    if (page.lengths[place] !== NOTHING) return true;
    this.#makeRoom(page, length);
    if (text !== null) page.text.write(text, page.used, 'utf8');
    page.starts[place] = page.used;
    page.lengths[place] = text === null ? IS_NULL : length;
    page.used += length;
    page.count += 1;
    return true;
  }

  delete(no: JobNo): void {
    const at = Math.floor(no / PAGE);
    const page = this.#pages.get(at);
    if (page === undefined || page.lengths[no % PAGE] === NOTHING) return;
    page.lengths[no % PAGE] = NOTHING;
    page.count -= 1;
    if (page.count > 0) return;
    this.#pages.delete(at);
    this.#bytes -= bytesOf(page);
  }

  #pageFor(at: number): Page {
    const known = this.#pages.get(at);
    if (known !== undefined) return known;
    const page = {
      starts: new Uint16Array(PAGE),
      lengths: new Uint8Array(PAGE),
      text: Buffer.allocUnsafeSlow(FIRST_BYTES),
      ...{ used: 0, count: 0 },
    };
    this.#pages.set(at, page);
    this.#bytes += bytesOf(page);
    return page;
  }

  #makeRoom(page: Page, length: number): void {
    if (page.used + length <= page.text.length) return;
    const larger = Buffer.allocUnsafeSlow(page.text.length * 2);
    page.text.copy(larger, 0, 0, page.used);
    this.#bytes += larger.length - page.text.length;
    page.text = larger;
  }
}

const bytesOf = ({ starts, lengths, text }: Page): number =>
  starts.byteLength + lengths.byteLength + text.length;
