/** What the guide says can be run is run: its files compile, its commands end as it says. */
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../rig/cluster/free-port.ts';
import type { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';
import { type Block, type Page, fileOf } from './page.ts';
import { type Said, missingLine } from './project.ts';
import { guidePages } from './page.ts';
import { Project } from './project.ts';

const pages = guidePages();
const project = new Project();

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 300_000 });

const DATABASE = 'postgres://millrace@localhost/millrace';
const PORTS = ['7070', '7071', '7080', '7081'];
afterAll(() => project.remove());

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

/** From top to bottom, as a reader would. Returns the first thing that is not as the page says. */
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
