/** Whole numbers from 0, most of them near each other, as those of jobs are: a bit for each. */
const PAGE = 4_096;

interface Page {
  readonly bits: Uint32Array;
  count: number;
}

export class NumberSet {
  readonly #pages: Map<number, Page> = new Map();
  /** The page that was used last: the next number is mostly there as well. */
  #at = -1;
  #page: Page | undefined;

  get pages(): number {
    return this.#pages.size;
  }

  has(number: number): boolean {
    const page = this.#pageOf(number);
    if (page === undefined) return false;
    const place = number % PAGE;
    return ((page.bits[place >>> 5] as number) & (1 << (place & 31))) !== 0;
  }

  add(number: number): void {
    let page = this.#pageOf(number);
    if (page === undefined) {
      page = this.#page = { bits: new Uint32Array(PAGE / 32), count: 0 };
      this.#pages.set(this.#at, page);
    }
    if (this.has(number)) return;
    const place = number % PAGE;
    page.bits[place >>> 5] = (page.bits[place >>> 5] as number) | (1 << (place & 31));
    page.count += 1;
  }

  delete(number: number): void {
    const page = this.#pageOf(number);
    if (page === undefined || !this.has(number)) return;
    const place = number % PAGE;
    page.bits[place >>> 5] = (page.bits[place >>> 5] as number) & ~(1 << (place & 31));
    page.count -= 1;
    if (page.count > 0) return;
    this.#pages.delete(this.#at);
    this.#page = undefined;
  }

  #pageOf(number: number): Page | undefined {
    const at = Math.floor(number / PAGE);
    if (at !== this.#at) {
      this.#at = at;
      this.#page = this.#pages.get(at);
    }
    return this.#page;
  }
}
