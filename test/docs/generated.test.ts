/** The pages that follow from the code, the links between all pages, and what each must name. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { catalogue } from '../../src/cli/catalogue.ts';
import { settingNames } from '../../src/node/config/index.ts';
import { guidePages as generatedPages } from '../../scripts/guide-pages.ts';
import { documentedMetrics } from './metrics.ts';
import { type Page, ROOT, guidePages, readPage } from './page.ts';

const generated = await generatedPages();
const pages = [...guidePages(), readPage(join(ROOT, 'examples/README.md'), 'examples')];

test.each(generated.map(({ path, text }) => [path.slice(ROOT.length + 1), path, text] as const))(
  '%s is what the code says; if not: npm run guide',
  (_name, path, text) => {
    expect(readFileSync(path, 'utf8')).toBe(text);
  },
);

test('every setting and every command has its place in them', () => {
  const [settings = '', commands = ''] = generated.map(({ text }) => text);
  expect(settingNames.filter((name) => !settings.includes(`| \`${name}\`<br>`))).toEqual([]);
  expect(catalogue.filter(({ name }) => !commands.includes(`\n## ${name}\n`))).toEqual([]);
});

/** Names of series in an expression: a histogram has three. */
function metricsIn(expression: string): readonly string[] {
  return [...expression.matchAll(/\b(?:millrace|nodejs|process)_\w+/g)].map(([name]) =>
    name.replace(/_(?:bucket|sum|count)$/, ''),
  );
}

test('the alert rules and the Grafana dashboard use documented metrics only', () => {
  const alerts = parse(readFileSync(join(ROOT, 'deploy/alerts.yaml'), 'utf8')) as AlertRules;
  const board = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana.json'), 'utf8')) as Board;
  const rules = alerts.groups.flatMap((group) => group.rules.map(({ expr }) => expr));
  const panels = board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const used = [...rules, ...panels].map((expression) => metricsIn(expression));
  expect(used.every((names) => names.length > 0)).toBe(true);
  const documented = documentedMetrics();
  expect(used.flat().filter((name) => !documented.has(name))).toEqual([]);
});

interface AlertRules {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
}

interface Board {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

/** `[text](target)`, outside of code. */
function linksOf({ text }: Page): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

test.each(pages.map((page) => [page.name, page] as const))(
  'every link of %s leads somewhere',
  (_name, page) => {
    const lost = linksOf(page).filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [file = '', anchor] = link.split('#');
      const path = file === '' ? page.path : join(dirname(page.path), file);
      if (!existsSync(path)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(path, 'utf8')).includes(anchor);
    });
    expect(lost).toEqual([]);
  },
);

test('the index names every page', () => {
  const [index] = pages.filter(({ name }) => name === 'index');
  const missing = guidePages()
    .map(({ name }) => `${name}.md`)
    .filter((file) => !['README.md', 'index.md'].includes(file))
    .filter((file) => !(index?.text ?? '').includes(`(${file})`));
  expect(missing).toEqual([]);
});

test('the promise is the same sentence wherever it is made', () => {
  const promise =
    /at-least-once execution, at most one accepted result per attempt, exactly one terminal state per task; effects inside the same PostgreSQL transaction exactly once\./;
  for (const name of ['README', 'durability']) {
    const [page] = pages.filter((each) => each.name === name);
    expect(page?.text.replaceAll(/\s+/g, ' ')).toMatch(promise);
  }
});
