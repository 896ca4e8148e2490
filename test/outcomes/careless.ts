/** What becomes of each careless handler, wherever it runs. */
import { JobError } from 'millrace';
import type { Document, JobShape } from 'millrace';
import { expect } from 'vitest';

type Fails = readonly [code: string, words: string];
interface Works {
  readonly result: unknown;
}

const EXPECTED: Readonly<Record<string, Fails | Works>> = {
  loopOverCustomers: ['duplicate_step', "The step 'charge' is used twice"],
  catchesEverything: ['duplicate_step', "The step 'charge' is used twice"],
  allWithOneName: ['duplicate_step', "The step 'charge' is used twice"],
  allWithNames: { result: ['Ada', 'Bob', 'Cid'] },
  forEachAsync: ['unawaited_step', "ctx.step('tell "],
  asyncIteration: { result: ['Ada', 'Bob', 'Cid'] },
  forgotAwait: ['unawaited_step', "ctx.step('charge')"],
  forgotAwaitOnSleep: ['unawaited_step', "ctx.sleep('a while')"],
  stepInStep: { result: [1] },
  sleepInStep: ['wait_in_step', "ctx.sleep('a while') is called inside the step 'outer'"],
  pollsWithOneSleep: ['duplicate_step', "The sleep 'poll' is used twice"],
  raceOfSleepAndCall: { result: 42 },
  stepWithTimer: { result: 'too slow' },
  settledSteps: { result: ['fulfilled', 'rejected'] },
  oddNames: { result: 8 },
  nulInName: ['bad_input', 'The name of a step contains'],
  reservedName: ['bad_input', "'$sleep/x' is not a valid name for a step."],
  numberAsName: ['bad_input', 'A step needs a name.'],
  valueForFunction: ['bad_input', 'The step a has no function.'],
  hugeStep: ['too_large', 'the result of step big'],
  mapInStep: ['bad_step', 'the result of step people is a Map'],
  mapsAnObject: ['bad_input', 'The items of the map all are not a list.'],
  mapsWithBadName: ['bad_input', 'all of them!'],
  mapsNothing: { result: [] },
  mapsUnknown: ['bad_input', 'The map all has no task to run.'],
  callsAFunction: ['bad_input', 'The call child has nothing to run.'],
  returnsNothing: { result: null },
  changesItsInput: { result: ['one', 'more'] },
  usesContextLater: { result: 'done' },
};

/** What all runtimes answer for a job that was submitted. */
interface Submitted {
  result(): Promise<unknown>;
  job(): Promise<JobShape>;
}

type Submit = (document: Document) => Promise<Submitted>;

/** All of them: a table that differs shows every line of it. */
export async function expectCarelessOutcomes(submit: Submit): Promise<void> {
  const retry = { maxAttempts: 2, backoffMs: 1 };
  const found: [string, unknown][] = [];
  const hows = Object.keys(EXPECTED);
  const jobs = await Promise.all(
    hows.map(async (how): Promise<JobShape> => {
      const input = { how, list: ['one'] };
      const job = await submit({ tasks: [{ id: 'a', executor: 'careless', input, retry }] });
      await job.result().catch((error: unknown) => {
        if (!(error instanceof JobError)) throw error;
      });
      return job.job();
    }),
  );
  for (const [at, { tasks }] of jobs.entries()) {
    const task = tasks.find(({ id }) => id === 'a');
    const { error, result = null } = task ?? { error: null };
    found.push([hows[at] ?? '', error ?? { result }]);
  }
  const table = Object.entries(EXPECTED).map(([how, expected]) => {
    if (!Array.isArray(expected)) return [how, expected];
    const [code, words] = expected as Fails;
    return [how, { code, message: expect.stringContaining(words) as string }];
  });
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(table));
}
