/** What the guide says can be run is run: its files compile, its commands end as it says. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../rig/cluster/free-port.ts';
import type { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';
import { type Block, type Page, ROOT, fileOf, guidePages } from './page.ts';
import { Project, type Said, missingLine } from './project.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 180_000 });

const DATABASE = 'postgres://millrace@localhost/millrace';
const PORTS = ['7070', '7071', '7080', '7081'];
/** How each language may be marked. What is not marked is for reading only, and that is not for code. */
const MARKS: Readonly<Record<string, RegExp>> = {
  ts: /^file=\S+$/,
  sh: /^(run( exit=\d+)?|start|)$/,
  text: /^(prints|)$/,
  json: /^(file=\S+|)$/,
  yaml: /^(file=\S+|)$/,
  sql: /^$/,
};

const pages = guidePages();
const project = new Project();
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

const commandPages = pages.filter(({ blocks }) =>
  blocks.some(({ language, mark }) => language === 'sh' && mark !== ''),
);

test.each(commandPages.map((page) => [page.name, page] as const))(
  'the commands of %s do what it says',
  async (_name, page) => {
    if (page.text.includes(DATABASE)) {
      const database = await freshDatabase();
      onTestFinished(() => database.drop());
      project.replace(DATABASE, database.url);
    }
    for (const port of PORTS) project.replace(port, `${await freePort()}`);
    expect(await follow(page)).toBeNull();
  },
);

/** From top to bottom, as a reader would. Answers the first thing that is not as the page says. */
async function follow(page: Page): Promise<string | null> {
  const started: TestProcess[] = [];
  let said: Said = { code: 0, lines: [] };
  for (const block of page.blocks) {
    const where = `${page.name}.md:${block.line}`;
    const name = fileOf(block);
    if (name !== null) project.write(`${page.name}/${name}`, block.text);
    if (block.mark === 'start') {
      for (const start of project.start(block, page.name)) started.push(await start());
    }
    if (block.mark.startsWith('run')) said = await project.run(block, page.name);
    const fault = faultOf(block, said);
    if (fault !== null) return `${where}: ${fault}\n${said.lines.join('\n')}`;
  }
  for (const process of started.toReversed()) {
    const { code } = await process.stop(60_000);
    if (code !== 0) return `${page.name}.md: exit code ${code}\n${process.output.text()}`;
  }
  return null;
}

function faultOf({ mark, text }: Block, { code, lines }: Said): string | null {
  if (mark.startsWith('run')) {
    const wanted = Number(/exit=(\d+)/.exec(mark)?.[1] ?? 0);
    return code === wanted ? null : `exit code ${code}, not ${wanted}`;
  }
  const missing = mark === 'prints' ? missingLine(text, lines) : null;
  return missing === null ? null : `nothing printed "${missing}"`;
}
