/** Rounds of: write, be killed with SIGKILL at some point, open again, compare with what must be there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { mix } from '../../src/scheduler/core/index.ts';
import { openDuckdbStore, openMemoryStore, type Store } from '../../src/scheduler/store/index.ts';
import { contentOf } from '../rig/conformance/moving.ts';
import { happenings, lead, now } from './crash-batches.ts';

export async function crashRounds(rounds: number, seed: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-crash-'));
  const path = join(folder, 'store.db');
  const model = await Model.create();
  let next = 1;
  try {
    for (let round = 0; round < rounds; round += 1) {
      const length = 5 + (mix(seed, round) % 25);
      const acknowledged = await writeAndKill(path, next, length, mix(round, seed) % 3_000);
      const store = await openDuckdbStore({ path, now });
      const found = (await contentOf(store)).join('\n');
      await store.close();
      const where = `seed ${seed}, round ${round}: what was stored after ${acknowledged}`;
      if (found === (await model.after(acknowledged))) {
        next = acknowledged + 1;
      } else {
        // The next one was under way: it may have come through whole.
        if (found !== (await model.after(acknowledged + 1))) expect.fail(where);
        next = acknowledged + 2;
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the last number that was acknowledged before the kill. */
async function writeAndKill(
  path: string,
  from: number,
  count: number,
  turns: number,
): Promise<number> {
  const script = fileURLToPath(new URL('./crash-writer.ts', import.meta.url));
  const writer = spawn(process.execPath, ['--import', 'tsx', script, path, `${from}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(writer, 'exit');
  let last = 0;
  for await (const line of createInterface(writer.stdout)) {
    last = Number(line);
    if (last !== from + count) continue;
    // Some turns of the loop later: before, in the middle of, or after the next one.
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
    writer.kill('SIGKILL');
  }
  const [, signal] = (await ended) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  return last;
}

/** The same in memory, where nothing is ever lost. */
class Model {
  readonly #store: Store;
  readonly #happen: (n: number) => Promise<void>;
  readonly #contents = new Map<number, string>();
  #last = 0;

  constructor(store: Store, happen: (n: number) => Promise<void>) {
    this.#store = store;
    this.#happen = happen;
  }

  static async create(): Promise<Model> {
    const store = openMemoryStore({ now });
    return new Model(store, await happenings(store, await lead(store)));
  }

  /** The content after number `n`; asked for ascending numbers. */
  async after(n: number): Promise<string> {
    while (this.#last < n) {
      this.#last += 1;
      await this.#happen(this.#last);
    }
    if (this.#last === n) this.#contents.set(n, (await contentOf(this.#store)).join('\n'));
    return this.#contents.get(n) ?? '';
  }
}
