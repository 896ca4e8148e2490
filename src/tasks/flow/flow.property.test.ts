/**
 * Random flows: the document is one that a server takes, its dependencies are the references that were
 * used, and a run by hand gives every task the very input that the program says.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  type Need,
  type JobDocument,
  type Json,
  type TaskId,
  defaultSettings,
  parseJobDocument,
  resolveInput,
} from '../../scheduler/core/index.ts';
import {
  type FlowKit,
  type Jsonified,
  type Ref,
  type TaskRef,
  type WiredJson,
  defineFlow,
} from './index.ts';

/** What a task's result is in these flows: what it was given, and a few fixed fields. */
interface Result {
  readonly given: Json;
  readonly n: number;
  readonly list: readonly { readonly 'a/~b': string }[];
}

type Use = 'whole' | 'n' | 'field' | 'orNull' | 'ifFailed' | 'after' | 'optional' | 'when';
interface Link {
  readonly to: number;
  readonly use: Use;
}
interface Plan {
  readonly links: readonly (readonly Link[])[];
  readonly input: { readonly text: string; readonly maybe?: number; readonly any: Json };
}

const link = fc.record({
  to: fc.nat(),
  use: fc.constantFrom<Use>(
    'whole',
    'n',
    'field',
    'orNull',
    'ifFailed',
    'after',
    'optional',
    'when',
  ),
});
const plan: fc.Arbitrary<Plan> = fc.record({
  links: fc.array(fc.array(link, { maxLength: 4 }), { minLength: 1, maxLength: 12 }),
  input: fc.record(
    { text: fc.string(), maybe: fc.integer(), any: fc.jsonValue() as fc.Arbitrary<Json> },
    { requiredKeys: ['text', 'any'] },
  ),
});

/** The links of each task, to earlier ones only, and without those that contradict each other. */
function soundLinks(plan: Plan): readonly (readonly Link[])[] {
  return plan.links.map((links, at) => {
    const earlier = at === 0 ? [] : links.map(({ to, use }) => ({ to: to % at, use }));
    return earlier.filter(
      ({ to, use }) =>
        use !== 'optional' || earlier.every((each) => each.to !== to || needOf(each.use) === false),
    );
  });
}

function needOf(use: Use): Need {
  if (use === 'ifFailed' || use === 'optional') return false;
  return use === 'orNull' ? 'unlessSkipped' : true;
}

/** From the most lenient one on. */
const STRICTNESS: readonly Need[] = [false, 'unlessSkipped', true];

const inputSchema = z.object({ text: z.string(), maybe: z.number().optional(), any: z.unknown() });
type Kit = FlowKit<Jsonified<z.output<typeof inputSchema>>>;

function build(
  links: readonly (readonly Link[])[],
  { input, task, orNull, orNullIfFailed, is }: Kit,
): WiredJson {
  const refs: TaskRef<Result>[] = [];
  links.forEach((mine, at) => {
    const aimed = (use: Use): TaskRef<Result>[] =>
      mine.filter((each) => each.use === use).map(({ to }) => refs[to]!);
    const wired: WiredJson = {
      whole: aimed('whole'),
      n: aimed('n').map((ref) => ref.n),
      field: aimed('field').map((ref) => ref.list[0]!['a/~b']),
      orNull: aimed('orNull').map((ref) => orNull(ref.n)),
      ifFailed: aimed('ifFailed').map((ref) => orNullIfFailed(ref.n)),
      text: input.text,
      maybe: input.maybe as Ref<unknown>,
      any: [input.any, 'fixed'],
    };
    const added = task(`t${at}`, 'work', wired, {
      after: aimed('after'),
      optional: aimed('optional'),
      when: aimed('when').map((ref) => is(ref.n, '>=', 0)),
    });
    refs.push(added as unknown as TaskRef<Result>);
  });
  return refs.map((ref) => orNull(ref.n));
}

/** The input of a task as plain data, by the results of those before. */
function expectedInput(links: readonly Link[], results: readonly Result[], plan: Plan): Json {
  const aimed = (use: Use): Result[] =>
    links.filter((each) => each.use === use).map(({ to }) => results[to]!);
  return {
    whole: aimed('whole') as unknown as Json,
    n: aimed('n').map(({ n }) => n),
    field: aimed('field').map(({ list }) => list[0]!['a/~b']),
    orNull: aimed('orNull').map(({ n }) => n),
    ifFailed: aimed('ifFailed').map(({ n }) => n),
    text: plan.input.text,
    ...(plan.input.maybe === undefined ? {} : { maybe: plan.input.maybe }),
    any: [plan.input.any, 'fixed'],
  };
}

/** Every task in turn, as a leader and a worker would: each answers a result made of its input. */
function ran(
  document: JobDocument,
): readonly { readonly given: unknown; readonly result: Result }[] {
  const results = new Map<TaskId, Result>();
  return document.tasks.map(({ id, input }, n) => {
    const result = (task: TaskId): Json => results.get(task) as unknown as Json;
    const resolved = resolveInput(input, result, () => 'succeeded');
    const given = resolved.ok ? resolved.input : resolved;
    const made = { given: n, n, list: [{ 'a/~b': `result of ${id}` }] };
    results.set(id, made);
    return { given, result: made };
  });
}

test('any graph becomes a document with the dependencies and inputs that were wired', () => {
  fc.assert(
    fc.property(plan, (plan) => {
      const links = soundLinks(plan);
      const flow = defineFlow({
        name: 'random',
        input: inputSchema,
        build: (kit) => build(links, kit),
      });
      const document = parseJobDocument(flow.toDocument(plan.input), defaultSettings);
      document.tasks.forEach(({ id, dependsOn }, at) => {
        const mine = links[at]!;
        const wanted = new Map<number, Need>();
        for (const { to, use } of mine) {
          const all = [wanted.get(to) ?? false, needOf(use)];
          wanted.set(to, STRICTNESS.findLast((each) => all.includes(each)) ?? false);
        }
        expect(id).toBe(`t${at}`);
        expect(new Map(dependsOn.map(({ no, required }) => [no, required]))).toEqual(wanted);
      });
      const outcome = ran(document);
      const results = outcome.map(({ result }) => result);
      const copied = JSON.parse(JSON.stringify(plan)) as Plan;
      outcome.forEach(({ given }, at) => {
        expect(given).toEqual(expectedInput(links[at]!, results, copied));
      });
      expect(flow.graph.tasks.map(({ id }) => id)).toEqual(links.map((_, at) => `t${at}`));
    }),
    { numRuns: 300 },
  );
});
