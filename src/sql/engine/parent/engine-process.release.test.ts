/** The child process as such: started late, killed, stuck, closed. With real processes and real signals. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { EngineLimits } from '../engine.ts';
import { type FragmentCall, OUTPUT, type RowsCall, type Sandbox } from '../messages.ts';
import { EngineProcess, SharedProcessLost } from './engine-process.ts';

const never = new AbortController().signal;
/** Would take hours; DuckDB looks up from it when it is interrupted. */
const ENDLESS =
  'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 8';

let folder = '';
let engine: EngineProcess;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-engine-'));
  // A child on a busy machine has the time to end what was aborted, and lives on.
  engine = new EngineProcess({ limits: limits(), purpose: 'a test', callsMax: 4, graceMs: 10_000 });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

function limits(): EngineLimits {
  return {
    memoryBytes: 128 * 2 ** 20,
    threads: 1,
    spillFolder: join(folder, 'spill'),
    spillBytesMax: 2 ** 30,
  };
}

let outputs = 0;
const sandbox: Sandbox = { files: [], links: [] };

function copying(query: string, on = engine): FragmentCall {
  outputs += 1;
  const file = `${outputs}.parquet`;
  const copy = `COPY (${query}) TO '${join(on.folder, OUTPUT, file)}' (FORMAT parquet)`;
  return {
    name: 'fragment',
    sandbox,
    timeZone: 'UTC',
    setup: '',
    copy,
    target: { kind: 'file', folder, file },
    keepEmpty: true,
    rows: null,
    keys: [],
    filtered: null,
    leavesNoState: true,
    custom: null,
    requires: [],
  };
}

function reading(sql: string): RowsCall {
  return {
    name: 'rows',
    sandbox,
    timeZone: 'UTC',
    source: { kind: 'text', sql, head: '<', separator: ',', tail: '>', copied: null },
  };
}

/** Resolves when the child is busy with it: its first answer to another call comes back. */
async function begun(on = engine): Promise<void> {
  await on.call(copying('SELECT 1', on), never);
}

async function text(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  let all = '';
  for await (const bytes of pieces) all += Buffer.from(bytes).toString();
  return all;
}

function pid(of = engine): number {
  const found = of.pid;
  if (found === undefined) throw new Error('no child');
  return found;
}

/** Of the children that are there. */
const spills = (): string[] =>
  readdirSync(join(folder, 'spill')).filter((name) => name.startsWith('engine-'));

const isThere = (id: number): boolean => {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
};

describe('a child that dies', () => {
  test('fails the call that it had, and the next call has another child', async () => {
    await engine.warm();
    const first = pid();
    const lost = engine.call(copying(ENDLESS), never);
    await begun();
    process.kill(first, 'SIGKILL');
    await expect(lost).rejects.toMatchObject({
      code: 'engine_crashed',
      why: expect.stringContaining('SIGKILL') as string,
    });
    expect((await engine.call(copying('SELECT 2'), never)).parts[0]?.rows).toBe(1);
    expect(pid()).not.toBe(first);
    expect(spills()).toHaveLength(1);
  });

  test('between two calls goes unnoticed', async () => {
    await engine.warm();
    const first = pid();
    process.kill(first, 'SIGKILL');
    const next = async (): Promise<unknown> =>
      engine.call(copying('SELECT 2'), never).catch((error: unknown) => error);
    // The kernel may be slower than the next call: then that one fails, and only that one.
    const [one, other] = [await next(), await next()];
    expect([one, other]).toContainEqual(expect.objectContaining({ parts: [expect.anything()] }));
    expect(other).toHaveProperty('parts');
  });
});

/** Takes more than a GiB of lists, which are no part of what `memory_limit` counts. */
const GREEDY = 'SELECT list_sum(list_transform(range(60000000), x -> x + 1))';
/** More at once than the system maps for it. */
const REFUSED = 'SELECT list_sum(list_transform(range(400000000), x -> x + 1))';

describe('a child that exceeds its memory limit', () => {
  test('is killed, and the call that caused it fails with the limit in its message', async () => {
    await engine.warm();
    const first = pid();
    await expect(engine.call(copying(GREEDY), never)).rejects.toMatchObject({
      code: 'out_of_memory',
      what: 'The query needs more memory than the 128 MiB available for a test.',
    });
    expect((await engine.call(copying('SELECT 2'), never)).parts[0]?.rows).toBe(1);
    expect(pid()).not.toBe(first);
  });

  test.runIf(process.platform === 'linux')(
    'is refused far too much memory by the system, and survives',
    async () => {
      await begun();
      const first = pid();
      await expect(engine.call(copying(REFUSED), never)).rejects.toMatchObject({
        fault: { code: 'out_of_memory' },
      });
      await begun();
      expect(pid()).toBe(first);
    },
  );

  test('has each of several calls repeated alone', async () => {
    const greedy = engine.call(copying(GREEDY), never).catch((error: unknown) => error);
    const other = engine.call(copying(ENDLESS), never).catch((error: unknown) => error);
    expect(await greedy).toBeInstanceOf(SharedProcessLost);
    expect(await other).toBeInstanceOf(SharedProcessLost);
  });
});

describe('an aborted call', () => {
  test('interrupts DuckDB and fails with the reason, and the child lives on', async () => {
    const abort = new AbortController();
    const running = engine.call(copying(ENDLESS), abort.signal);
    await begun();
    const first = pid();
    abort.abort(new Error('changed my mind'));
    await expect(running).rejects.toThrow('changed my mind');
    await begun();
    expect(pid()).toBe(first);
  });

  test('that does not end within the grace period kills the child, and the other calls are repeated in the next one', async () => {
    const hasty = new EngineProcess({
      limits: limits(),
      purpose: 'a test',
      callsMax: 4,
      graceMs: 100,
    });
    onTestFinished(() => hasty.close());
    const abort = new AbortController();
    const stuck = hasty.call(copying(ENDLESS, hasty), abort.signal);
    await begun(hasty);
    const first = pid(hasty);
    process.kill(first, 'SIGSTOP');
    const other = hasty.call(copying('SELECT 3', hasty), never);
    abort.abort(new Error('enough'));
    await expect(stuck).rejects.toThrow('enough');
    expect((await other).parts[0]?.rows).toBe(1);
    expect(pid(hasty)).not.toBe(first);
  });

  test('is over for good: whenever it was aborted, the next call on its connection runs to its end', async () => {
    await begun();
    const first = pid();
    const short = `SELECT count(*) FROM range(200000) t(i) WHERE i % 7 = 3`;
    let aborted = 0;
    for (let turns = 0; turns < 150; turns += 1) {
      const abort = new AbortController();
      const call = engine.call(copying(short), abort.signal).catch(() => (aborted += 1));
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      abort.abort(new Error('in the middle'));
      const after = engine.call(copying(short), never);
      await call;
      expect((await after).parts[0]?.rows).toBe(1);
    }
    expect(aborted).toBeGreaterThan(0);
    expect(pid()).toBe(first);
  });

  test('that never started fails as well', async () => {
    const abort = new AbortController();
    abort.abort(new Error('too late'));
    const idle = new EngineProcess({ limits: limits(), purpose: 'a test', callsMax: 1 });
    await expect(idle.call(copying('SELECT 1'), abort.signal)).rejects.toThrow('too late');
    expect(idle.pid).toBeUndefined();
    await idle.close();
  });
});

describe('a stream', () => {
  test('delivers all pieces in order, with only a few in flight to a slow reader', async () => {
    const sql = `SELECT repeat('x', 1000) || i FROM range(20000) t(i)`;
    let count = 0;
    let all = '';
    for await (const bytes of engine.stream(reading(sql), never)) {
      count += 1;
      // Others are served meanwhile.
      if (count === 1) await begun();
      all += Buffer.from(bytes).toString();
    }
    expect(count).toBeGreaterThan(20);
    const rows = all.slice(1, -1).split(',');
    expect(rows).toHaveLength(20_000);
    expect(rows.every((row, at) => row.endsWith(`x${at}`))).toBe(true);
  });

  test('that is left early, aborted or without rows ends at once', async () => {
    const sql = `SELECT repeat('x', 1000) || i FROM range(10000000) t(i)`;
    for await (const bytes of engine.stream(reading(sql), never)) {
      expect(bytes.length).toBeGreaterThan(0);
      break;
    }
    const abort = new AbortController();
    const aborted = async (): Promise<void> => {
      for await (const _ of engine.stream(reading(sql), abort.signal))
        abort.abort(new Error('stop'));
    };
    await expect(aborted()).rejects.toThrow('stop');
    expect(await text(engine.stream(reading('SELECT 1 WHERE false'), never))).toBe('<>');
    await expect(text(engine.stream(reading(`SELECT error('in it')`), never))).rejects.toThrow(
      'in it',
    );
  });

  test('whose child dies half-way fails', async () => {
    const sql = `SELECT repeat('x', 1000) || i FROM range(10000000) t(i)`;
    const killed = async (): Promise<void> => {
      for await (const _ of engine.stream(reading(sql), never)) process.kill(pid(), 'SIGKILL');
    };
    await expect(killed()).rejects.toMatchObject({ code: 'engine_crashed' });
  });
});

describe('the end', () => {
  test('signals to the whole group do not end the child', async () => {
    await engine.warm();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid(), signal);
    const first = pid();
    await begun();
    expect(pid()).toBe(first);
  });

  test('an instance that cannot be opened says so', async () => {
    const wrong = new EngineProcess({
      limits: { ...limits(), threads: -3 },
      purpose: 'a test',
      callsMax: 1,
    });
    await expect(wrong.warm()).rejects.toMatchObject({
      code: 'engine_crashed',
      why: expect.stringContaining('could not be opened') as string,
    });
    await wrong.close();
  });

  test('a thousand calls leave nothing behind', async () => {
    await begun();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 1000; n += 1) await engine.call(copying('SELECT 1'), never);
    globalThis.gc?.();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30 * 2 ** 20);
  });

  test('closing ends the child, its spill folder and whatever runs', async () => {
    const running = engine.call(copying(ENDLESS), never).catch((error: unknown) => error);
    await begun();
    const first = pid();
    await engine.close();
    expect(await running).toMatchObject({ code: 'shutting_down' });
    expect(isThere(first)).toBe(false);
    expect(existsSync(join(folder, 'spill'))).toBe(false);
    await expect(engine.call(copying('SELECT 1'), never)).rejects.toMatchObject({
      code: 'shutting_down',
    });
    await expect(engine.warm()).rejects.toMatchObject({ code: 'shutting_down' });
  });
});
