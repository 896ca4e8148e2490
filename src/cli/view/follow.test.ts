import { expect, test } from 'vitest';
import type { DatedJob, HttpClient } from '../../client/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { deferred, settled, VirtualClock } from '../../kit/index.ts';
import type { EventShape } from '../../scheduler/contract/index.ts';
import { asOf, shape, over } from '../../../test/rig/command-line.ts';
import type { Reply } from '../command.ts';
import { follow } from './follow.ts';
import type { Terminal } from './terminal.ts';

/** As much of a terminal as the view needs: what stands on it, line by line. */
class Glass implements Terminal {
  columns = 80;
  readonly rows = 24;
  readonly hasColour = false;
  readonly isUnicode = true;
  raw = '';
  readonly #resized = new Set<() => void>();
  #lines: string[] = [''];
  #row = 0;

  get text(): string {
    return this.#lines.join('\n').trimEnd();
  }

  write(text: string): void {
    this.raw += text;
    // eslint-disable-next-line no-control-regex -- it is what a terminal reads
    for (const [part] of text.matchAll(/\u001B\[[?\d;]*[A-Za-z]|\n|\r|[^\u001B\n\r]+/g))
      this.#do(part);
  }

  onResize(react: () => void): () => void {
    this.#resized.add(react);
    return () => this.#resized.delete(react);
  }

  get listeners(): number {
    return this.#resized.size;
  }

  #do(part: string): void {
    // eslint-disable-next-line no-control-regex -- see above
    const [, count, what] = /^\u001B\[(\d*)([A-Za-z])$/.exec(part) ?? [];
    if (part === '\n') {
      this.#row += 1;
      this.#lines[this.#row] ??= '';
    } else if (what === 'A') this.#row -= Number(count);
    else if (what === 'J') this.#lines.splice(this.#row, Infinity, '');
    else if (!part.startsWith('\u001B') && part !== '\r') this.#lines[this.#row] = part;
  }
}

class Source {
  readonly looks: (() => DatedJob)[] = [];
  looked = 0;
  readonly #events: EventShape[] = [];
  #news = deferred();
  #end: DatedJob | Error | null = null;

  readonly client = {
    job: () => {
      this.looked += 1;
      return Promise.resolve((this.looks.shift() ?? (() => shape as unknown as DatedJob))());
    },
    watch: () => this.#watch(),
  } as unknown as Pick<HttpClient, 'job' | 'watch'>;

  tell(seq: number, kind: string, task: string, detail: unknown = null): void {
    const event = { seq, at: asOf.at, kind, job: 'j-1', task, node: 'w-1', attempt: 1, detail };
    this.#events.push(event as unknown as EventShape);
    this.#news.resolve();
  }

  end(end: DatedJob | Error): void {
    this.#end = end;
    this.#news.resolve();
  }

  async *#watch(): AsyncGenerator<EventShape, DatedJob> {
    for (;;) {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        yield next;
      }
      if (this.#end instanceof Error) throw this.#end;
      if (this.#end !== null) return this.#end;
      this.#news = deferred();
      await this.#news.promise;
    }
  }
}

function start(...looks: (() => DatedJob)[]) {
  return startOn(new Glass(), looks);
}

function startOn(glass: Glass | null, looks: (() => DatedJob)[]) {
  const clock = new VirtualClock();
  const source = new Source();
  source.looks.push(...looks);
  let print: ((line: string) => void) | null = null;
  const reply = {
    terminal: glass,
    printThrough(through: (line: string) => void) {
      print = through;
      return () => (print = null);
    },
  } as unknown as Reply;
  const { signal } = new AbortController();
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  const ended = follow(source.client, 'j-1' as JobId, { signal, reply, say, clock, after: 0 });
  const note = (line: string): void => print?.(line);
  return { clock, glass: glass as Glass, source, ended, said, note };
}

test('a terminal shows the job, drawn anew in place as it goes on', async () => {
  const { clock, glass, source, ended, said } = start();
  await settled();
  expect(glass.text).toMatch(
    /^nightly {2}running.*\n {2}✓ {2}fetch.*\n {2}○ {2}sum.*no node has add$/,
  );
  source.tell(10, 'started', 'sum');
  source.tell(11, 'progress', 'sum', { fraction: 0.25 });
  await settled();
  await clock.advance(100);
  expect(glass.text.split('\n')).toHaveLength(3);
  expect(glass.text).toContain('25 %');
  source.end({ ...over, asOf: { ...asOf, seq: 12 } } as unknown as DatedJob);
  expect(await ended).toMatchObject({ state: 'succeeded' });
  expect(glass.text).toMatch(/^nightly {2}succeeded.*\n.*fetch[^\n]*$/);
  expect(said).toEqual([]);
});

test('the cursor is hidden while it draws and comes back, also when following fails', async () => {
  const { glass, source, ended } = start();
  await settled();
  expect(glass.raw).toContain('\u001B[?25l');
  expect(glass.raw).not.toContain('\u001B[?25h');
  source.end(new Error('cut off'));
  await expect(ended).rejects.toThrow('cut off');
  expect(glass.raw.endsWith('\u001B[?25h')).toBe(true);
  expect(glass.listeners).toBe(0);
});

test('a note stands above the job and stays there', async () => {
  const { clock, glass, source, ended, note } = start();
  await settled();
  note('printed by a handler');
  source.tell(10, 'started', 'sum');
  await settled();
  await clock.advance(100);
  expect(glass.text).toMatch(
    /^printed by a handler\nnightly {2}running.*\n.*fetch.*\n.*sum[^\n]*$/,
  );
  source.end(over as unknown as DatedJob);
  await ended;
});

test('while somebody waits, the server is asked why, at most once a second', async () => {
  const { clock, glass, source, ended } = start();
  await settled();
  expect(source.looked).toBe(1);
  const [first, second] = shape.tasks;
  source.looks.push(
    () => ({ ...shape, tasks: [first, { ...second, waiting: 'all busy' }] }) as unknown as DatedJob,
  );
  await clock.advance(1_000);
  await settled();
  await clock.advance(100);
  expect(source.looked).toBe(2);
  expect(glass.text).toContain('all busy');
  source.end(over as unknown as DatedJob);
  await ended;
  await clock.advance(10_000);
  expect(source.looked).toBe(2);
});

test('a frame that looks like the last one is not drawn', async () => {
  const still = { ...over, state: 'running', finishedAt: asOf.at } as unknown as DatedJob;
  const { clock, glass, source, ended } = start(() => still);
  await settled();
  const drawn = glass.raw;
  await clock.advance(1_000);
  expect(glass.raw).toBe(drawn);
  source.end(over as unknown as DatedJob);
  await ended;
});

test('a narrower terminal has wrapped what was drawn: the view begins further up', async () => {
  const { clock, glass, source, ended } = start();
  await settled();
  glass.columns = 20;
  const before = glass.raw.length;
  await clock.advance(1_000);
  const [, up] = /\[(\d+)A/.exec(glass.raw.slice(before)) ?? [];
  expect(Number(up)).toBeGreaterThan(3);
  source.end(over as unknown as DatedJob);
  await ended;
});

test('without a terminal a silent job says what it waits for, once for each reason', async () => {
  const [first, second] = shape.tasks;
  const waits = (waiting: string | null) => () =>
    ({
      ...shape,
      tasks: [
        first,
        { ...second, waiting },
        { ...second, id: 'other', waiting },
        // It waits for a task that is shown itself.
        { ...second, id: 'last', state: 'blocked', dependsOn: ['sum'], waiting: 'for sum' },
      ],
    }) as unknown as DatedJob;
  const looks = [
    waits('no node has add'),
    waits('no node has add'),
    waits('all busy'),
    waits(null),
  ];
  const { clock, source, ended, said } = startOn(null, looks);
  source.tell(10, 'queued', 'sum');
  await settled();
  const before = said.length;
  expect(before).toBe(1);
  await clock.advance(2_000);
  await settled();
  expect(said.slice(before)).toEqual(['Task sum and 1 more wait: no node has add.']);
  await clock.advance(15_000);
  await settled();
  expect(said).toHaveLength(before + 1);
  await clock.advance(15_000);
  await settled();
  expect(said.at(-1)).toBe('Task sum and 1 more wait: all busy.');
  source.end(over as unknown as DatedJob);
  await ended;
  const { looked } = source;
  await clock.advance(60_000);
  expect(source.looked).toBe(looked);
});

test('a reason that only counts down is the same reason', async () => {
  const [first, second] = shape.tasks;
  const sleeping = (ms: number) => () =>
    ({
      ...shape,
      tasks: [first, { ...second, state: 'delayed', waiting: `sleeps for ${ms} ms` }],
    }) as unknown as DatedJob;
  const looks = [sleeping(259_198_786), sleeping(259_183_786), sleeping(259_168_786)];
  const { clock, source, ended, said } = startOn(null, looks);
  source.tell(10, 'queued', 'sum');
  await settled();
  const before = said.length;
  for (const ms of [2_000, 15_000, 15_000]) {
    await clock.advance(ms);
    await settled();
  }
  expect(said.slice(before)).toEqual(['Task sum waits: sleeps for 2d 23h.']);
  source.end(over as unknown as DatedJob);
  await ended;
});

test('a look that fails, or is overtaken by events, says nothing', async () => {
  const broken = (): DatedJob => {
    throw new Error('cut off');
  };
  const { clock, source, ended, said } = startOn(null, [broken]);
  await settled();
  await clock.advance(2_000);
  await settled();
  expect(source.looked).toBe(1);
  expect(said).toEqual([]);
  source.end(over as unknown as DatedJob);
  await ended;
});
