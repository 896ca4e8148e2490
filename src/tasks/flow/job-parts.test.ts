import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultSettings, flowDocument, parseJobDocument } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { defineFlow, defineTask } from './index.ts';

const order = z.object({ id: z.string(), tenant: z.string(), cents: z.number().optional() });

/** As a program submits it, which is the same as a server makes it of what a worker has published. */
function documentOf(task: ReturnType<typeof defineTask>, input: Json): unknown {
  const document = task.toDocument(input);
  parseJobDocument(document, defaultSettings);
  const declaration = (task as unknown as { declaration: () => never }).declaration();
  const { labels, ...started } = flowDocument(declaration, input, '/input', 1e6);
  expect({ ...started, ...(labels && Object.keys(labels).length > 0 ? { labels } : {}) }).toEqual(
    document,
  );
  return document;
}

describe('what a task says of its jobs', () => {
  test('is in its document, with keys of the input as it was given', () => {
    const sync = defineTask({
      name: 'sync',
      input: order,
      keep: 'failed',
      webhooks: [{ url: 'https://example.com/ended', on: ['failed'] }],
      fairnessKey: (input) => input.tenant,
      singleton: { key: (input) => input.id, whenBusy: 'replace' },
      search: (input) => ({ order: input.id, cents: input.cents }),
      run: () => 1,
    });
    expect(documentOf(sync as never, { id: 'A-7', tenant: 't' })).toMatchObject({
      keep: 'failed',
      webhooks: [{ url: 'https://example.com/ended', on: ['failed'] }],
      fairnessKey: 't',
      singleton: { key: 'A-7', whenBusy: 'replace' },
      labels: { order: 'A-7' },
      tasks: [{ id: 'sync', executor: 'sync' }],
    });
  });

  test('may be constant', () => {
    const sync = defineTask({
      name: 'sync',
      debounce: { ms: 500 },
      fairnessKey: 'x',
      search: () => ({ team: 'billing' }),
      run: () => 1,
    });
    expect(documentOf(sync as never, null)).toMatchObject({
      debounce: { key: 'sync', ms: 500 },
      fairnessKey: 'x',
      labels: { team: 'billing' },
    });
  });

  test('has a batch with a key of the first item, or with one for all', () => {
    const notices = z.array(z.object({ user: z.string() }));
    const keyed = defineTask({
      name: 'notify',
      input: notices,
      batch: { key: (list) => list[0]?.user, max: 10, ms: 1_000 },
      run: (list) => list.length,
    });
    const one = defineTask({ name: 'one', batch: { max: 10, ms: 5 }, run: () => 1 });
    expect(documentOf(keyed as never, [{ user: 'ann' }])).toMatchObject({
      batch: { key: 'ann', max: 10, ms: 1_000 },
    });
    expect(documentOf(one as never, [])).toMatchObject({ batch: { key: 'one', max: 10, ms: 5 } });
    expect(() => keyed.toDocument([])).toThrow("Task 'notify', 'batch.key' needs input[0].user");
  });

  test('is not a part of a flow that uses the task, nor of a map', () => {
    const sync = defineTask({
      name: 'sync',
      keep: 'none',
      singleton: { key: 'one' },
      run: () => 1,
    });
    const flow = defineFlow({ name: 'all', build: ({ task }) => task('sync', sync, null) });
    expect(flow.toDocument()).toEqual({
      name: 'all',
      output: { $from: 'sync' },
      tasks: [{ id: 'sync', executor: 'sync', input: null }],
    });
    expect(sync.toTask(null)).toEqual({ executor: 'sync', input: null });
  });

  test('is checked when the task is defined', () => {
    const define = (parts: object) => () =>
      defineTask({ name: 'sync', input: order, run: () => 1, ...parts });
    expect(define({ keep: 'some' })).toThrow("Task 'sync': /keep");
    expect(define({ debounce: { key: 'a' } })).toThrow("Task 'sync': /debounce/ms");
    expect(define({ batch: { key: 'a', max: 0, ms: 1 } })).toThrow('/batch/max');
    expect(define({ singleton: { key: 7 } })).toThrow("'singleton.key'");
    expect(define({ search: {} })).toThrow("'search'");
    expect(define({ singleton: { key: 'a' }, batch: { max: 2, ms: 1 } })).toThrow('singleton');
    expect(define({ fairness: 'a' })).toThrow("unknown option 'fairness'");
    expect(() => defineFlow({ name: 'f', batch: {}, build: () => null } as never)).toThrow('batch');
  });
});
