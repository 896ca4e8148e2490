/**
 * Tasks for tests with real processes that wait in every way there is. Each leaves an effect of its own in
 * every step, so that the log shows which step was done how often, and by whom.
 */
import postgres from 'postgres';
import { appearance } from '../appearance.ts';
import { appendEffect, EFFECTS_FILE } from '../effects-log.ts';
import type { Effect } from '../effects-log.ts';

/** What these handlers use of a task's context. */
interface DurableContext {
  readonly jobId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly fence: number;
  readonly idempotencyKey: string;
  step<T>(name: string, fn: () => T | Promise<T>): Promise<T>;
  sleep(name: string, duration: number): Promise<void>;
  waitFor(name: string): Promise<unknown>;
  call(name: string, what: object, input: unknown): Promise<unknown>;
  submit(name: string, what: object, input: unknown): Promise<string>;
  completeWith(transaction: postgres.TransactionSql, result: unknown): Promise<void>;
  map(name: string, what: object, items: readonly unknown[], options: object): Promise<unknown[]>;
}

interface DurableInput {
  /** Whoever waits for a file waits for this one. */
  readonly file: string;
  readonly ms: number;
  readonly index: number;
  /** Whoever pays does so in this one. */
  readonly database: string;
}

interface DurableTask {
  readonly kind: 'millrace.task';
  readonly name: string;
  run(input: unknown, context: DurableContext): Promise<unknown>;
}

function task(
  name: string,
  work: (input: DurableInput, context: DurableContext) => Promise<unknown>,
): DurableTask {
  return {
    kind: 'millrace.task',
    name,
    run: async (given, context) => {
      note('begin', context);
      const value = await work(given as DurableInput, context);
      const { attempt, fence } = context;
      return { signed: { attempt, fence }, value };
    },
  };
}

function note(what: Effect['what'], context: DurableContext, name?: string): void {
  const file = process.env[EFFECTS_FILE];
  if (file === undefined) return;
  const { jobId: job, taskId, attempt, fence, idempotencyKey: key } = context;
  const named = name === undefined ? {} : { name };
  appendEffect(file, { what, job, task: taskId, attempt, fence, pid: process.pid, key, ...named });
}

/** A step that does nothing but to have its effect. */
function effect(context: DurableContext, name: string): Promise<null> {
  return context.step(name, () => {
    note('effect', context, name);
    return null;
  });
}

/** Stands between two steps until the file is there. */
export const between: DurableTask = task('between', async ({ file }, context) => {
  await effect(context, 'before');
  note('effect', context, 'between');
  await appearance(file);
  await effect(context, 'after');
  return 'stood';
});

/** Stands inside a step, whose effect it has had, until the file is there. */
export const inside: DurableTask = task('inside', async ({ file }, context) => {
  await effect(context, 'before');
  await context.step('inside', async () => {
    note('effect', context, 'inside');
    await appearance(file);
    return null;
  });
  await effect(context, 'after');
});

export const sleeping: DurableTask = task('sleeping', async ({ ms }, context) => {
  await effect(context, 'before');
  await context.sleep('nap', ms);
  await effect(context, 'after');
});

export const listening: DurableTask = task('listening', async (_, context) => {
  await effect(context, 'before');
  const value = await context.waitFor('go');
  await effect(context, 'after');
  return value;
});

const asItIs = (result: unknown): unknown => result;

/** Calls a job whose task stands until the file is there. */
export const calling: DurableTask = task('calling', async (input, context) => {
  await effect(context, 'before');
  const child = {
    name: 'called',
    toDocument: () => ({ name: 'called', tasks: [{ id: 'inner', executor: 'between', input }] }),
    readResult: asItIs,
  };
  const value = await context.call('child', child, null);
  await effect(context, 'after');
  return value;
});

/** The first two parts end by themselves, the others stand until the file is there. */
export const mapping: DurableTask = task('mapping', async ({ file }, context) => {
  await effect(context, 'before');
  const what = {
    name: 'part',
    toTask: (index: number) => ({ executor: 'part', input: { index, file } }),
    readResult: (result: { readonly value: unknown }) => result.value,
  };
  const values = await context.map('part', what, [0, 1, 2, 3, 4, 5], { concurrency: 2 });
  await effect(context, 'after');
  return values;
});

export const part: DurableTask = task('part', async ({ index, file }, context) => {
  await effect(context, 'part');
  if (index >= 2) await appearance(file);
  return index * index;
});

/** Pays in a transaction that completes it, and stands after the commit until the file is there. */
export const paying: DurableTask = task('paying', async ({ database, file }, context) => {
  const sql = postgres(database, { max: 1, onnotice: () => {} });
  try {
    await sql.begin(async (transaction) => {
      await transaction`insert into paid values (${context.jobId}, ${context.attempt})`;
      await context.completeWith(transaction, { paidBy: context.attempt });
    });
    note('effect', context, 'paid');
    await appearance(file);
  } finally {
    await sql.end();
  }
});

/** Submits jobs that nobody waits for, and stands until the file is there. */
export const submitting: DurableTask = task('submitting', async ({ file }, context) => {
  await effect(context, 'before');
  const what = {
    name: 'later',
    toDocument: (index: number) => ({
      name: 'later',
      tasks: [{ id: 'inner', executor: 'part', input: { index, file } }],
    }),
    readResult: asItIs,
  };
  const submits = [0, 1].map((index) => context.submit(`part ${index}`, what, index));
  const ids = await Promise.all(submits);
  note('effect', context, 'submitted');
  await appearance(file);
  return ids;
});

const partDeclaration = {
  name: 'on-tick',
  version: '0123456789ab',
  input: null,
  template: {
    name: 'on-tick',
    on: ['tick'],
    tasks: [{ id: 'a', executor: 'part', input: { index: 1, file: '' } }],
  },
};

/** Started by an event. */
export const onTick = {
  kind: 'millrace.flow',
  name: 'on-tick',
  tasks: [part],
  toDocument: () => ({ ...partDeclaration.template, on: undefined }),
  declaration: () => partDeclaration,
};
