import { describe, expect, test } from 'vitest';
import { provenRequirements, sqlHasOneReader } from './relations.ts';
import { importOrder, roomTable, usedReferences, usedExports } from './rooms.ts';
import type { Rule } from './rule.ts';
import { roomImports, functionLength, noWaiting, plainNames, wholeTests } from './syntax.ts';
import { roomParagraph, fileLength, leftovers, places } from './text.ts';

/** Where a rule complains, as `path:line`, about files given as `{ path: text }`. */
function complaints(rule: Rule, files: Readonly<Record<string, string>>): string[] {
  const list = Object.entries(files).map(([path, text]) => ({ path, text }));
  return rule.find(list).map(({ path, line }) => `${path}:${line}`);
}

const lines = (count: number): string => 'f();\n'.repeat(count);

test('a file of 401 lines is too long, unless it is generated or no code', () => {
  expect(complaints(fileLength, { 'src/a.ts': lines(401) })).toEqual(['src/a.ts:401']);
  expect(complaints(fileLength, { 'dashboard/a.tsx': lines(401) })).toEqual([
    'dashboard/a.tsx:401',
  ]);
  expect(
    complaints(fileLength, {
      'src/a.ts': lines(400),
      'src/gen/a.ts': lines(401),
      'src/a.sql': lines(401),
    }),
  ).toEqual([]);
});

describe('function length', () => {
  test.each([
    ['function f() {\n', '}'],
    ['const f = () => {\n', '};'],
    ['class C {\n m() {\n', '}\n}'],
    ["test('x', () => {\n", '});'],
  ])('%s...', (head, tail) => {
    const at = head.startsWith('class') ? 'a.ts:2' : 'a.ts:1';
    expect(complaints(functionLength, { 'a.ts': head + lines(69) + tail })).toEqual([at]);
    expect(complaints(functionLength, { 'a.ts': head + lines(68) + tail })).toEqual([]);
  });

  test('a chapter of tests may be longer, a test may not', () => {
    const tests = "test('x', () => {\n});\n".repeat(50);
    const chapters = `describe('x', () => {\n${tests}});\nfunction suite() {\n${tests}}`;
    expect(complaints(functionLength, { 'a.ts': chapters })).toEqual([]);
    const long = `describe('x', () => {\ntest.each([1])('x', () => {\n${lines(70)}});\n});`;
    expect(complaints(functionLength, { 'a.ts': long })).toEqual(['a.ts:2']);
  });
});

describe('plain names', () => {
  test.each([
    'const stringUtils = 1;',
    'class JobManager {}',
    'function f(helper: number) {}',
    'interface CommonParts {}',
    "import { x as testHelpers } from 'x';",
  ])('%s', (text) => {
    expect(complaints(plainNames, { 'a.ts': text })).toEqual(['a.ts:1']);
  });

  test('file names count', () => {
    expect(complaints(plainNames, { 'src/utils/a.sql': '' })).toEqual(['src/utils/a.sql:1']);
    expect(complaints(plainNames, { 'src/test-helpers.ts': '' })).toEqual([
      'src/test-helpers.ts:1',
    ]);
  });

  test('comments, strings, names of others and longer words do not', () => {
    const text =
      "// a helper\nimport { utils as u } from 'x';\nconst uncommon = u.helpers + 'manager';";
    expect(complaints(plainNames, { 'a.ts': text })).toEqual([]);
  });
});

test.each(['TODO', 'FIXME', 'XXX'])('%s is a left-over, in any file', (word) => {
  expect(complaints(leftovers, { 'a.md': `x\n${word}: later` })).toEqual(['a.md:2']);
  expect(complaints(leftovers, { 'a.md': `${word}S and x${word}` })).toEqual([]);
});

describe('places', () => {
  test.each([
    'https://registry.npmjs.org/x',
    "cd '/work/main'",
    '/root/.npmrc',
    'path=/home/me',
    'x:\n/work',
  ])('%s', (text) => {
    expect(complaints(places, { 'a.md': text })).toHaveLength(1);
  });

  test.each(['GET /api/work', 'src/home/a.ts', '/workers', 'the npm registry'])(
    'not %s',
    (text) => {
      expect(complaints(places, { 'a.md': text })).toEqual([]);
    },
  );
});

test.each(['test.only()', 'it.skip.each([])()', "describe.todo('x')", 'test.for([]).only()'])(
  '%s does not always run',
  (text) => {
    expect(complaints(wholeTests, { 'a.test.ts': text })).toEqual(['a.test.ts:1']);
  },
);

test('skip is a word like others elsewhere', () => {
  expect(complaints(wholeTests, { 'a.test.ts': "task.skip(); 'test.only'" })).toEqual([]);
});

describe('waiting', () => {
  test.each([
    'setTimeout(() => {}, 5);',
    'await sleep(5);',
    "import { setTimeout as delay } from 'node:timers/promises';",
  ])('%s', (text) => {
    expect(complaints(noWaiting, { 'a.test.ts': text })).toEqual(['a.test.ts:1']);
    expect(complaints(noWaiting, { 'a.ts': text })).toEqual([]);
  });

  test('an executor of that name is something else', () => {
    const text = "run({ executor: 'sleep' }); clock.sleep(5); // setTimeout(";
    expect(complaints(noWaiting, { 'a.test.ts': text })).toEqual([]);
  });
});

test.each([
  (target: string) => `const x = () => import('${target}');`,
  (target: string) => `import { x } from '${target}';`,
  (target: string) => `import type { X } from '${target}';`,
  (target: string) => `export { x } from '${target}';`,
  (target: string) => `export * from '${target}';`,
])('other rooms import only the index (%#)', (importing) => {
  const path = 'src/cli/commands/up.ts';
  const behind = '../../scheduler/store/memory/memory.ts';
  expect(complaints(roomImports, { [path]: importing(behind) })).toEqual([`${path}:1`]);
  for (const allowed of [
    '../../scheduler/store/index.ts',
    './demo.ts',
    '../exit.ts',
    'commander',
  ]) {
    expect(complaints(roomImports, { [path]: importing(allowed) })).toEqual([]);
  }
});

describe('rooms', () => {
  const rooms = (...paths: string[]): string =>
    JSON.stringify({ references: paths.map((path) => ({ path })) });
  const solution = { 'tsconfig.json': rooms('src/kit', 'src/sql/plan', 'src/cli') };

  test('a room refers to rooms above it only', () => {
    const at = (references: string[]): string[] =>
      complaints(importOrder, {
        ...solution,
        'src/kit/tsconfig.json': '{}',
        'src/sql/plan/tsconfig.json': rooms(...references),
        'src/cli/tsconfig.json': rooms('../kit', '../sql/plan'),
      });
    expect(at(['../../kit'])).toEqual([]);
    expect(at(['../../cli'])).toEqual(['src/sql/plan/tsconfig.json:1']);
    expect(at(['../../sql/engine'])).toEqual(['src/sql/plan/tsconfig.json:1']);
  });

  test('a reference that no import uses is a finding', () => {
    const at = (text: string): string[] =>
      complaints(usedReferences, {
        ...solution,
        'src/kit/tsconfig.json': '{}',
        'src/sql/plan/tsconfig.json': rooms('../../kit'),
        'src/sql/plan/read.ts': text,
        'src/sql/plan/read.test.ts': "import { sleep } from '../../kit/index.ts';",
      });
    expect(at("import { sleep } from '../../kit/index.ts';")).toEqual([]);
    expect(at("const kit = await import('../../kit/index.ts');")).toEqual([]);
    expect(at("import { x } from './x.ts';")).toEqual(['src/sql/plan/tsconfig.json:1']);
  });

  test('every room with an index is built', () => {
    const files = { ...solution, 'src/sql/engine/tsconfig.json': '{}' };
    expect(complaints(importOrder, files)).toContain('src/sql/engine/tsconfig.json:1');
  });

  test('the table of the architecture page says what tsconfig says', () => {
    const at = (...rows: string[]): string[] =>
      complaints(roomTable, {
        ...solution,
        'src/kit/tsconfig.json': '{}',
        'src/sql/plan/tsconfig.json': rooms('../../kit'),
        'src/cli/tsconfig.json': rooms('../kit', '../sql/plan'),
        'docs/architecture.md': ['| room | holds | imports |', '|---|---|---|', ...rows].join('\n'),
      });
    const kit = '| `kit` | a clock | nothing |';
    const plan = '| `sql/plan` | plans | kit |';
    const cli = '| `cli` | commands | kit, plan |';
    expect(at(kit, plan, cli)).toEqual([]);
    expect(at(kit, plan)).toEqual(['docs/architecture.md:1']);
    expect(at(plan, kit, cli)).toEqual(['docs/architecture.md:1']);
    expect(at(kit, plan, '| `cli` | commands | kit |')).toEqual(['docs/architecture.md:5']);
  });
});

test('the index of a room says what the room holds', () => {
  const path = 'src/scheduler/core/index.ts';
  const paragraph = `/**\n * ${'What lives here and what does not. '.repeat(3)}\n */\nexport {};\n`;
  expect(complaints(roomParagraph, { [path]: paragraph })).toEqual([]);
  for (const poor of ['export {};', '/** The core. */', `import 'x';\n${paragraph}`]) {
    expect(complaints(roomParagraph, { [path]: poor })).toEqual([`${path}:1`]);
  }
  expect(complaints(roomParagraph, { 'src/scheduler/core/task/index.ts': '' })).toEqual([]);
});

test('an export of a room is used by another one', () => {
  const files = {
    'src/kit/index.ts': "/** Kit. */\nexport { sleep, type Clock } from './sleep.ts';\n",
    'src/kit/sleep.ts': 'export interface Clock {}',
  };
  const at = (text: string): string[] =>
    complaints(usedExports, { ...files, 'src/scheduler/core/x.ts': text });
  expect(at('sleep(clock as Clock)')).toEqual([]);
  expect(at('sleep(1)')).toEqual(['src/kit/index.ts:2']);
});

test('an .sql file has one reader', () => {
  const sql = { 'src/scheduler/store/postgres/claim.sql': '' };
  const reader = { 'src/scheduler/store/postgres/claim.ts': "read('./claim.sql')" };
  const second = { 'src/scheduler/store/open.ts': "read('postgres/claim.sql')" };
  const apart = { 'src/scheduler/store/memory/claim.ts': "read('claim.sql')" };
  const test = { 'src/scheduler/store/postgres/claim.test.ts': "read('./claim.sql')" };
  const found = ['src/scheduler/store/postgres/claim.sql:1'];
  expect(complaints(sqlHasOneReader, { ...sql, ...reader, ...apart, ...test })).toEqual([]);
  expect(complaints(sqlHasOneReader, { ...sql, ...apart, ...test })).toEqual(found);
  expect(complaints(sqlHasOneReader, { ...sql, ...reader, ...second })).toEqual(found);
});

test('a migration needs a loader of its folder', () => {
  const sql = { 'src/scheduler/store/postgres/migrations/0001-start.up.sql': '' };
  const loader = {
    'src/scheduler/store/postgres/open.ts': "new URL('./migrations/', import.meta.url)",
  };
  expect(complaints(sqlHasOneReader, { ...sql, ...loader })).toEqual([]);
  expect(complaints(sqlHasOneReader, sql)).toEqual([`${Object.keys(sql)[0]}:1`]);
});

test('a row of the coverage page names tests that exist, once', () => {
  const at = (...rows: string[]): string[] =>
    complaints(provenRequirements, {
      'docs/coverage.md': ['| id | proof |', '|---|---|', ...rows].join('\n'),
      'test/a.test.ts': '',
    });
  expect(at('| JT-1 | `test/a.test.ts` |')).toEqual([]);
  expect(at('| JT-1 | `test/b.test.ts` |')).toEqual(['docs/coverage.md:3']);
  expect(at('| JT-1 | soon |')).toEqual(['docs/coverage.md:3']);
  expect(at('| JT-1 | `test/a.test.ts` |', '| JT-1 | `test/a.test.ts` |')).toEqual([
    'docs/coverage.md:4',
  ]);
});
