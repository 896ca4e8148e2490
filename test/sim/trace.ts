/** What happened, in order: kept as a ring for people, and as a digest to compare two runs. */
import { mix } from '../../src/scheduler/core/index.ts';

interface Line {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

export class Trace {
  readonly #ring: Line[] = [];
  readonly #size: number;
  readonly #print: ((line: string) => void) | null;
  #count = 0;
  #digest = 0;

  constructor(size = 400, print: ((line: string) => void) | null = null) {
    this.#size = size;
    this.#print = print;
  }

  add(atMs: number, who: string, what: string): void {
    const line = { atMs, who, what };
    this.#ring[this.#count % this.#size] = line;
    this.#count += 1;
    let hash = mix(this.#digest, atMs * 1_000);
    const text = `${who} ${what}`;
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 31);
    this.#digest = hash >>> 0;
    this.#print?.(shown(line));
  }

  get count(): number {
    return this.#count;
  }

  /** Two runs that did the same at the same times have the same digest. */
  get digest(): number {
    return this.#digest;
  }

  tail(): string[] {
    const from = Math.max(0, this.#count - this.#size);
    const lines: string[] = [];
    for (let at = from; at < this.#count; at += 1) {
      lines.push(shown(this.#ring[at % this.#size] as Line));
    }
    return lines;
  }
}

function shown({ atMs, who, what }: Line): string {
  return `${(atMs / 1000).toFixed(3).padStart(10)} ${who.padEnd(8)} ${what}`;
}
