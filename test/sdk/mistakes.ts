/** The commonest mistakes with the library, and what a compiler must say of each for a reader to see what is wrong. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const HEAD = `import { connect, defineFlow, defineTask } from 'millrace';
import { createTestRuntime, fake } from 'millrace/testing';
import { z } from 'zod';
const charge = defineTask({
  name: 'charge',
  input: z.object({ id: z.string(), cents: z.number() }),
  run: ({ id }) => ({ receipt: id }),
});
const order = defineFlow({
  name: 'order',
  input: z.object({ id: z.string(), cents: z.number(), note: z.string().optional() }),
  build: ({ input, task }) => task('charge', charge, { id: input.id, cents: input.cents }),
});
const client = connect('http://127.0.0.1:7070');
const tests = await createTestRuntime();
`;

/** One line of code each, and what the first error on it says. */
export const MISTAKES: readonly (readonly [what: string, code: string, says: RegExp])[] = [
  [
    'a missing field in submit',
    `await client.submit(order, { id: 'A-7' });`,
    /Property 'cents' is missing in type '\{ id: string; \}'/,
  ],
  [
    'a field of the wrong type in submit',
    `await client.submit(order, { id: 'A-7', cents: '5' });`,
    /Type 'string' is not assignable to type 'number'/,
  ],
  [
    'an unknown field in submit',
    `await client.submit(order, { id: 'A-7', cents: 5, color: 'red' });`,
    /'color' does not exist in type/,
  ],
  ['no input in submit', `await client.submit(order);`, /Expected 2-3 arguments, but got 1/],
  [
    'a missing field in a test',
    `await tests.submit(order, { id: 'A-7' });`,
    /Property 'cents' is missing in type '\{ id: string; \}'/,
  ],
  [
    'a missing field in a schedule',
    `await client.schedules.put('s', { cron: '* * * * *', flow: order, input: { id: 'A-7' } });`,
    /Property 'cents' is missing in type '\{ id: string; \}'/,
  ],
  [
    'a missing field in a call',
    `defineTask({ name: 't', run: (_, ctx) => ctx.call('o', order, { id: 'A-7' }) });`,
    /Property 'cents' is missing in type '\{ id: string; \}'/,
  ],
  [
    'a missing field where a task is used',
    `defineFlow({ name: 'f', build: ({ task }) => task('c', charge, { id: 'A-7' }) });`,
    /Property 'cents' is missing in type '\{ id: string; \}'/,
  ],
  [
    'a reference of the wrong type',
    `defineFlow({ name: 'f', input: z.string(), build: ({ input, task }) => task('c', charge, { id: input, cents: input }) });`,
    /Type 'string' is not assignable to type 'number'/,
  ],
  [
    'a field that the result of a task lacks',
    `defineFlow({ name: 'f', build: ({ task }) => task('c', charge, { id: 'A', cents: 5 }).reciept });`,
    /Property 'reciept' does not exist .* Did you mean 'receipt'\?/,
  ],
  [
    'a field that the result of a job lacks',
    `(await (await client.submit(order, { id: 'A-7', cents: 5 })).result()).reciept;`,
    /Property 'reciept' does not exist .* Did you mean 'receipt'\?/,
  ],
  [
    'a reference that is awaited',
    `defineFlow({ name: 'f', build: async ({ task }) => void (await task('c', charge, { id: 'A', cents: 5 })) });`,
    /must not contain a callable 'then' member/,
  ],
  [
    'a misspelt option',
    `defineTask({ name: 't', retry: { maxAttemts: 3 }, run: () => 1 });`,
    /'maxAttemts' does not exist in type/,
  ],
  [
    'a fake with another result',
    `fake(charge, () => ({ reciept: 'r-1' }));`,
    /Type '\{ reciept: string; \}' is not assignable to type .*receipt: string/,
  ],
];

const SETTINGS = {
  compilerOptions: {
    strict: true,
    module: 'nodenext',
    target: 'es2022',
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  },
  include: ['mistakes.ts'],
};

/** What the compiler says of each mistake, in order. */
export async function complaints(compiler: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-mistakes-'));
  try {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules/millrace'));
    symlinkSync(join(ROOT, 'node_modules/zod'), join(folder, 'node_modules/zod'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(SETTINGS));
    const first = HEAD.split('\n').length;
    writeFileSync(join(folder, 'mistakes.ts'), HEAD + MISTAKES.map(([, code]) => code).join('\n'));
    const printed = await new Promise<string>((resolve) => {
      execFile(
        process.execPath,
        [compiler, '-p', folder, '--pretty', 'false'],
        (_, stdout, stderr) => resolve(stdout + stderr),
      );
    });
    return MISTAKES.map((_, at) => errorAt(printed, first + at));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The first error on this line, with its details. */
function errorAt(printed: string, line: number): string {
  const lines = printed.split('\n');
  const from = lines.findIndex((each) => each.includes(`mistakes.ts(${line},`));
  if (from < 0) return `no error on line ${line}: ${printed.slice(0, 500)}`;
  const details = lines.slice(from + 1).findIndex((each) => !each.startsWith(' '));
  return lines.slice(from, from + 1 + Math.max(0, details)).join('\n');
}
