/** What the guide says can be run is run: its files compile, its commands end as it says. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { type Block, type Page, ROOT, fileOf } from './page.ts';
import { missingLine } from './project.ts';
import { guidePages } from './page.ts';
import { Project } from './project.ts';

const pages = guidePages();
const project = new Project();

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 180_000 });
/** How each language may be marked. What is not marked is for reading only, and that is not for code. */
const MARKS: Readonly<Record<string, RegExp>> = {
  ts: /^file=\S+$/,
  sh: /^(run( exit=\d+)?|start|)$/,
  text: /^(prints|)$/,
  json: /^(file=\S+|)$/,
  yaml: /^(file=\S+|)$/,
  sql: /^$/,
  python: /^$/,
};
afterAll(() => project.remove());

const filesOf = ({ blocks }: Page): readonly Block[] =>
  blocks.filter((block) => fileOf(block) !== null);

test.each(pages.map((page) => [page.name, page] as const))(
  'every block of %s says what it is for',
  (_name, { blocks }) => {
    const strange = blocks.filter(({ language, mark }) => !MARKS[language]?.test(mark));
    expect(strange).toEqual([]);
  },
);

test('a line that nobody printed is missed, also when it came too early', () => {
  const said = ['Job 7 succeeded after 12ms.', '  "a": 1,', 'done'];
  expect(missingLine('Job ... succeeded ...\n"a": 1,\ndone\n', said)).toBeNull();
  expect(missingLine('done\nJob ...\n', said)).toBe('Job ...');
  expect(missingLine('succeeded', said)).toBe('succeeded');
});

test('every file compiles with the settings that the guide gives', async () => {
  const [settings] = pages.flatMap(filesOf).filter((block) => fileOf(block) === 'tsconfig.json');
  project.write('tsconfig.json', settings?.text ?? '');
  for (const page of pages) {
    for (const block of filesOf(page)) {
      const name = fileOf(block);
      if (name !== 'tsconfig.json') project.write(`${page.name}/${name}`, block.text);
    }
  }
  const said = await new Promise<string>((resolve) => {
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    execFile(tsc, ['-p', project.folder, '--pretty', 'false'], (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
  expect(said).toBe('');
});
