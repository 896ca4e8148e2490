import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';
import { deferred } from '../../../src/kit/index.ts';
import type { Deferred } from '../../../src/kit/index.ts';

export interface Line {
  readonly from: 'stdout' | 'stderr';
  readonly text: string;
}

interface Waiter {
  readonly from: Line['from'];
  readonly pattern: RegExp;
  readonly found: Deferred<RegExpExecArray>;
}

const LINES_MAX = 500;

/** What a process says: the last lines are kept to be shown, and every line may be waited for. */
export class Output {
  readonly #lines: Line[] = [];
  readonly #waiters: Set<Waiter> = new Set();
  #dropped = 0;

  read(from: Line['from'], stream: Readable): void {
    createInterface({ input: stream }).on('line', (text) => this.#take({ from, text }));
  }

  /** The first line, past or future, that matches. */
  line(pattern: RegExp, from: Line['from'] = 'stdout'): Promise<RegExpExecArray> {
    for (const line of this.#lines) {
      const match = line.from === from ? pattern.exec(line.text) : null;
      if (match !== null) return Promise.resolve(match);
    }
    const waiter = { from, pattern, found: deferred<RegExpExecArray>() };
    this.#waiters.add(waiter);
    return waiter.found.promise;
  }

  get lines(): readonly Line[] {
    return this.#lines;
  }

  /** All of it, to be shown. */
  text(): string {
    const cut = this.#dropped === 0 ? [] : [`... ${this.#dropped} lines before`];
    return [...cut, ...this.#lines.map(({ from, text }) => `${from}: ${text}`)].join('\n');
  }

  #take(line: Line): void {
    this.#lines.push(line);
    if (this.#lines.length > LINES_MAX) {
      this.#lines.shift();
      this.#dropped += 1;
    }
    for (const waiter of this.#waiters) {
      const match = waiter.from === line.from ? waiter.pattern.exec(line.text) : null;
      if (match === null) continue;
      this.#waiters.delete(waiter);
      waiter.found.resolve(match);
    }
  }
}
