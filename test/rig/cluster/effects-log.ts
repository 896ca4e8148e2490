/**
 * What handlers really did, recorded by themselves: a file to which each appends a line when it begins, ends
 * or is aborted. Lines are appended whole, also by several processes at once, and outlive a kill.
 */
import { appendFileSync, existsSync, readFileSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { deferred } from '../../../src/kit/index.ts';
import { within } from './deadline.ts';

export interface Effect {
  readonly what: 'begin' | 'end' | 'aborted' | 'effect';
  readonly job: string;
  readonly task: string;
  readonly attempt: number;
  readonly fence: number;
  /** The process in which it happened. */
  readonly pid: number;
  readonly key: string;
  /** Which of several effects of one task it is. */
  readonly name?: string;
}

const WAIT_MS = 20_000;

/** Named so that a node does not take it for a setting of its own. */
export const EFFECTS_FILE = 'TEST_EFFECTS_FILE';

/** Durable against the end of the process, which is what tests bring about. */
export function appendEffect(file: string, effect: Effect): void {
  appendFileSync(file, `${JSON.stringify(effect)}\n`);
}

export class EffectsLog {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  /** In the order in which they happened. */
  all(of: Partial<Effect> = {}): readonly Effect[] {
    if (!existsSync(this.file)) return [];
    const lines = readFileSync(this.file, 'utf8').split('\n');
    // What comes after the last end of line is a line that is being written.
    const effects = lines.slice(0, -1).map((line) => JSON.parse(line) as Effect);
    return effects.filter((effect) => fits(effect, of));
  }

  /** Resolves when at least `count` such effects are there, with all of them. */
  async wait(
    of: Partial<Effect>,
    count = 1,
    limitMs: number = WAIT_MS,
  ): Promise<readonly Effect[]> {
    const found = deferred<readonly Effect[]>();
    const look = (): void => {
      const effects = this.all(of);
      if (effects.length >= count) found.resolve(effects);
    };
    // The folder is watched, because the file need not be there yet.
    const watcher = watch(dirname(this.file), (_, name) => {
      if (name === null || name === basename(this.file)) look();
    });
    try {
      look();
      const missing = (): string =>
        `${count} effects ${JSON.stringify(of)}, but ${JSON.stringify(this.all())}`;
      return await within(limitMs, found.promise, missing);
    } finally {
      watcher.close();
    }
  }
}

function fits(effect: Effect, of: Partial<Effect>): boolean {
  return Object.entries(of).every(([name, value]) => effect[name as keyof Effect] === value);
}
