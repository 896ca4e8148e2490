import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { TableDescription, TableSource } from '../engine/index.ts';
import { CatalogFile } from './catalog-file.ts';
import { Catalog } from './catalog.ts';
import type { CatalogOptions } from './catalog.ts';
import { allowedPaths } from './roots.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-catalog-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [{ signal }, all] = [new AbortController(), { sql: '', isEach: true }];

function file(name: string, text = 'PAR1'): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

interface Bench {
  readonly catalog: Catalog;
  readonly asked: TableSource[];
}

/** With an engine that takes every file for a table with one column. */
function bench(options: Partial<CatalogOptions> = {}): Bench {
  const asked: TableSource[] = [];
  const catalog = new Catalog({
    allowed: 'named',
    file: null,
    folder,
    describe: (source) => {
      asked.push(source);
      return Promise.resolve(described(source));
    },
    ...options,
  });
  return { catalog, asked };
}

function described({ files, options }: TableSource): TableDescription {
  return {
    columns: [{ name: 'a', type: 'INTEGER', bytes: 1 }],
    files: files.map(() => ({ rows: 1, groups: [1] })),
    clusters: [],
    options,
    select: `SELECT * FROM read_parquet(${JSON.stringify(files)})`,
  };
}

async function filesOf(catalog: Catalog, tables: unknown): Promise<readonly string[]> {
  const [table] = await catalog.resolve({ tables, sql: 'from t' }, signal);
  return (table?.files ?? []).map(({ path }) => path.replace(`${folder}/`, ''));
}

/** The error for a refused caller. */
async function refusal(action: Promise<unknown>): Promise<string> {
  const thrown = await action.then(
    () => expect.fail('it was accepted'),
    (error: unknown) => error,
  );
  if (isMillraceError(thrown)) return thrown.message;
  throw thrown;
}

describe('a table', () => {
  file('plain/a.parquet');
  file('plain/b.parquet');
  file('plain/c.csv', 'a\n1\n');
  file('plain/deep/d.parquet');
  file('plain/note.txt', 'hello');
  file('odd/no-name', 'PAR1');
  file('odd/json-inside', ' [{"a": 1}]');

  test.each([
    ['plain/a.parquet', ['plain/a.parquet']],
    ['plain/*.parquet', ['plain/a.parquet', 'plain/b.parquet']],
    [
      ['plain/b.parquet', 'plain/a.parquet'],
      ['plain/b.parquet', 'plain/a.parquet'],
    ],
    [
      { paths: 'plain', format: 'parquet' },
      ['plain/a.parquet', 'plain/b.parquet', 'plain/deep/d.parquet'],
    ],
    [`file://${folder}/plain/a.parquet`, ['plain/a.parquet']],
    ['odd/no-name', ['odd/no-name']],
  ])('%j means its files, in order', async (spec, files) => {
    expect(await filesOf(bench().catalog, { t: spec })).toEqual(files);
  });

  test('has the clusters of its files, if there are any', async () => {
    file('clustered/1.parquet');
    const clusters = [{ column: 'a', groups: [{ file: 0, rows: 1, min: 3, max: 4 }] }];
    const request = { tables: { t: 'clustered/1.parquet' }, sql: 'from t' };
    const { catalog } = bench({
      describe: (source) => Promise.resolve({ ...described(source), clusters }),
    });
    const [table] = await catalog.resolve(request, signal);
    expect(table?.clusters).toEqual(clusters);
    const [other] = await bench().catalog.resolve(request, signal);
    expect(other).toBeDefined();
    expect(other).not.toHaveProperty('clusters');
  });

  test('is described once for the same files, and again when one has changed', async () => {
    const { catalog, asked } = bench();
    const tables = { t: 'again/*.parquet' };
    file('again/1.parquet');
    await filesOf(catalog, tables);
    await filesOf(catalog, tables);
    expect(asked).toHaveLength(1);
    file('again/1.parquet', 'PAR1 and more');
    await filesOf(catalog, tables);
    file('again/2.parquet');
    await filesOf(catalog, tables);
    expect(asked).toHaveLength(3);
  });

  test('has the format that its name or its bytes say', async () => {
    const { catalog } = bench();
    const tables = { c: 'plain/c.csv', j: 'odd/json-inside', p: 'odd/no-name' };
    const found = await catalog.resolve({ tables, ...all }, signal);
    expect(found.map(({ format }) => format)).toEqual(['csv', 'json', 'parquet']);
  });

  test("passes the user's options on to the reader", async () => {
    const { catalog, asked } = bench();
    file('hive/year=2024/a.parquet');
    const spec = {
      paths: 'hive',
      hive: { year: 'INTEGER' },
      unionByName: true,
      schema: { a: 'BIGINT' },
    };
    await filesOf(catalog, { t: spec });
    expect(asked).toMatchObject([
      {
        options: "hive_partitioning = true, hive_types = {'year': INTEGER}, union_by_name = true",
        types: { a: 'BIGINT' },
      },
    ]);
  });

  test('reports a fault of the files with the table', async () => {
    const mismatch = new MillraceError({ code: 'bad_input', what: 'They differ.' });
    const { catalog } = bench({ describe: () => Promise.reject(mismatch) });
    await expect(filesOf(catalog, { t: 'plain/a.parquet' })).rejects.toMatchObject({
      code: 'schema_mismatch',
      path: '/tables/t',
      what: 'They differ.',
    });
  });
});

describe('reports what is wrong with the path of the field', () => {
  test.each([
    ['tables are text', 'x', '/tables: Tables must be an object'],
    ['a number', { t: 7 }, '/tables/t: A table must be a path, a glob'],
    ['no name', { '': 'x' }, '/tables/: The name of a table is empty.'],
    [
      'two names',
      { T: 'plain/a.parquet', t: 'plain/a.parquet' },
      "The names 'T' and 't' mean the same",
    ],
    [
      'an unknown field',
      { t: { path: 'x' } },
      "/tables/t/path: There is no such field. Did you mean 'paths'?",
    ],
    ['no paths', { t: { format: 'csv' } }, '/tables/t/paths: It is missing.'],
    ['an empty list', { t: [] }, '/tables/t: The list has no path.'],
    ['an empty path', { t: ['a', ' '] }, '/tables/t/1: The path is empty.'],
    ['a number in a list', { t: { paths: [1] } }, '/tables/t/paths/0: It must be a path.'],
    ['a bucket', { t: 's3://bucket/x' }, 's3:// is not supported'],
    ['a wrong format', { t: { paths: 'x', format: 'parket' } }, "Did you mean 'parquet'?"],
    [
      'a wrong switch',
      { t: { paths: 'x', unionByName: 1 } },
      '/tables/t/unionByName: It must be true or false.',
    ],
    [
      'no type',
      { t: { paths: 'x', schema: { a: 'INT) FROM x --' } } },
      '/tables/t/schema/a: It must be a DuckDB type',
    ],
    ['no hive', { t: { paths: 'x', hive: 'yes' } }, '/tables/t/hive: It must be true, false'],
    ['no such file', { t: 'gone.parquet' }, '/tables/t: There is no file gone.parquet.'],
    [
      'an empty glob',
      { t: ['plain/a.parquet', 'gone/*.parquet'] },
      '/tables/t/1: No file matches gone/*.parquet.',
    ],
    ['a folder without data', { t: 'odd' }, '/tables/t: The folder odd has no data files.'],
    ['mixed formats', { t: 'plain/?.*' }, '/tables/t: The files have different formats'],
    ['an unknown format', { t: 'plain/note.txt' }, 'cannot be determined'],
    [
      'hive without keys',
      { t: { paths: 'plain/a.parquet', hive: true } },
      '/tables/t/hive: The files are not all',
    ],
    [
      'an unknown key',
      { t: { paths: 'hive', hive: { yaer: 'INT' } } },
      "No folder has the key 'yaer'. The keys are year.",
    ],
  ])('%s', async (_what, tables, words) => {
    file('hive/year=2024/a.parquet');
    expect(await refusal(bench().catalog.resolve({ tables, ...all }, signal))).toContain(words);
  });

  test('too many files', async () => {
    const { catalog } = bench({ filesMax: 2 });
    expect(await refusal(filesOf(catalog, { t: 'plain/**/*.parquet' }))).toContain(
      'more than 2 files',
    );
    const twice = { t: ['plain/*.parquet', 'plain/*.parquet'] };
    expect(await refusal(filesOf(catalog, twice))).toContain('has 4 files, and 2 is the limit');
  });
});

describe('roots', () => {
  const root = join(folder, 'root');
  file('root/in.parquet');
  file('root/sub/y=1/in.parquet');
  file('outside/out.parquet');
  symlinkSync(join(folder, 'outside'), join(folder, 'root/leak'));
  symlinkSync(join(folder, 'root/sub'), join(folder, 'root/inner'));
  symlinkSync(root, join(folder, 'other-name'));

  test('allows files below a root, and the table names the root', async () => {
    const { catalog } = bench({ allowed: await allowedPaths([root], 'named') });
    const [table] = await catalog.resolve({ tables: { t: 'root/in.parquet' }, ...all }, signal);
    expect(table?.root).toBe(root);
    expect(await filesOf(catalog, { t: 'root/inner/**/*.parquet' })).toEqual([
      'root/inner/y=1/in.parquet',
    ]);
  });

  test('resolves a root that is a link to the real folder', async () => {
    const { catalog } = bench({
      allowed: await allowedPaths([join(folder, 'other-name')], 'nothing'),
    });
    expect(await filesOf(catalog, { t: 'other-name/in.parquet' })).toEqual(['root/in.parquet']);
    expect(await filesOf(catalog, { t: 'root/*.parquet' })).toEqual(['root/in.parquet']);
  });

  test.each([
    'outside/out.parquet',
    'outside/*.parquet',
    'root/../outside/out.parquet',
    'root/leak/out.parquet',
    'root/leak/*.parquet',
    '/etc/passwd',
    'rooted/x.parquet',
    'nowhere/x.parquet',
  ])('%s is refused', async (path) => {
    const { catalog, asked } = bench({ allowed: await allowedPaths([root], 'named') });
    await expect(filesOf(catalog, { t: path })).rejects.toMatchObject({
      code: 'path_refused',
      path: '/tables/t',
    });
    expect(asked).toEqual([]);
  });

  test('judges a link by its target, by name and in a glob', async () => {
    const { catalog } = bench({ allowed: await allowedPaths([root], 'named') });
    file('root/links/plain.parquet');
    symlinkSync(join(root, 'in.parquet'), join(root, 'links/inside.parquet'));
    const inside = ['root/links/inside.parquet', 'root/links/plain.parquet'];
    expect(await filesOf(catalog, { t: 'root/links/*.parquet' })).toEqual(inside);
    expect(await filesOf(catalog, { t: inside })).toEqual(inside);
    symlinkSync(join(folder, 'outside/out.parquet'), join(root, 'links/out.parquet'));
    for (const path of ['root/links/out.parquet', 'root/links/*.parquet', 'root/links']) {
      await expect(filesOf(catalog, { t: path })).rejects.toMatchObject({
        code: 'path_refused',
        what: expect.stringContaining('out.parquet is not below a root') as string,
      });
    }
  });

  test('a file that was replaced by a link out of the roots is refused the next time', async () => {
    const { catalog } = bench({ allowed: await allowedPaths([root], 'named') });
    const path = file('root/sly/1.parquet');
    expect(await filesOf(catalog, { t: 'root/sly/*.parquet' })).toEqual(['root/sly/1.parquet']);
    rmSync(path);
    symlinkSync(join(folder, 'outside/out.parquet'), path);
    await expect(filesOf(catalog, { t: 'root/sly/*.parquet' })).rejects.toMatchObject({
      code: 'path_refused',
    });
    rmSync(join(root, 'sly'), { recursive: true });
    symlinkSync(join(folder, 'outside'), join(root, 'sly'));
    await expect(filesOf(catalog, { t: 'root/sly/*.parquet' })).rejects.toMatchObject({
      code: 'path_refused',
    });
  });

  test('files of one table below two roots are refused', async () => {
    const roots = [root, join(folder, 'plain')];
    const { catalog } = bench({ allowed: await allowedPaths(roots, 'named') });
    const tables = { t: ['root/in.parquet', 'plain/a.parquet'] };
    expect(await refusal(filesOf(catalog, tables))).toContain('below different roots');
  });

  test("without a root, allows the server's own user any file and remote users none", async () => {
    const here = bench({ allowed: await allowedPaths([], 'named') });
    expect(await filesOf(here.catalog, { t: 'root/in.parquet' })).toEqual(['root/in.parquet']);
    const { catalog } = bench({ allowed: await allowedPaths([], 'nothing') });
    expect(await refusal(filesOf(catalog, { t: 'a.parquet' }))).toContain('with --root DIR');
  });

  test('without a root, allows other local users the working folder, which no worker needs as a root', async () => {
    const { catalog } = bench({ allowed: await allowedPaths([], { folder: root }) });
    const tables = { t: 'root/in.parquet' };
    expect((await catalog.resolve({ tables, ...all }, signal))[0]?.root).toBeNull();
    const said = await refusal(filesOf(catalog, { t: 'outside/out.parquet' }));
    expect(said).toMatch(new RegExp(`the working folder can be read: ${root}.*--root DIR`, 's'));
  });

  test('refuses to start with a root that does not exist', async () => {
    const asked = allowedPaths([join(folder, 'no-root')], 'named');
    await expect(asked).rejects.toMatchObject({ code: 'bad_setting' });
  });
});

describe('the catalog file', () => {
  async function opened(name: string, text: string): Promise<Bench & { said: string[] }> {
    const said: string[] = [];
    const catalog = await CatalogFile.open(file(name, text), (line) => said.push(line));
    onTestFinished(() => rmSync(join(folder, name)));
    return { ...bench({ file: catalog }), said };
  }

  test.each([
    ['tables.yaml', 'tables:\n  t: plain/*.parquet\n'],
    ['tables.yaml', 't: plain/*.parquet\n'],
    ['tables.json', '{"tables": {"t": {"paths": ["plain/*.parquet"]}}}'],
    ['tables.yml', '- name: T\n  paths: plain/*.parquet\n'],
    ['tables', 'tables:\n- name: t\n  paths: plain/*.parquet\n'],
  ])('%s may say it like this: %j', async (name, text) => {
    const { catalog } = await opened(name, text);
    expect(await filesOf(catalog, undefined)).toEqual(['plain/a.parquet', 'plain/b.parquet']);
  });

  test('resolves paths from its folder, and a request takes precedence', async () => {
    const { catalog } = await opened('plain/catalog.yaml', 'T: a.parquet\n');
    expect(await filesOf(catalog, undefined)).toEqual(['plain/a.parquet']);
    expect(await filesOf(catalog, { t: 'plain/b.parquet' })).toEqual(['plain/b.parquet']);
  });

  test('examines only tables that the statement may mention', async () => {
    const text = `a: gone.parquet\n'or"ders': plain/a.parquet\nb: plain/b.parquet\nc: gone\n`;
    const { catalog, asked } = await opened('some.yaml', text);
    const sql = `select 'a', "B".x -- a\n from /* a */ "b" join "OR""DERS" on $$ a $$ = ''`;
    const tables = await catalog.resolve({ tables: undefined, sql }, signal);
    expect(tables.map(({ name }) => name)).toEqual(['or"ders', 'b']);
    expect(asked).toHaveLength(2);
    expect(await refusal(catalog.resolve({ tables: undefined, sql: 'from a' }, signal))).toMatch(
      /some\.yaml:1:4: \/a: There is no file gone\.parquet\./,
    );
  });

  test.each([
    ['bad.yaml', 'tables:\n  t:\n    pathz: x\n', /bad\.yaml:3:12: \/tables\/t\/pathz: /],
    ['bad.json', '{"tables": {"t": 7}}', /bad\.json:1:18: \/tables\/t: /],
    ['bad.json', '{"tables": ', /bad\.json:1:12: The text stops being JSON here\./],
    ['bad.yaml', 'a: [\n', /bad\.yaml:2:1: The text is neither JSON nor YAML/],
    ['bad.yaml', 'tables: {}\nt: x\n', /bad\.yaml:2:4: \/t: A catalog has no field besides/],
    ['bad.yaml', 'a: x\n---\nb: y\n', /bad\.yaml:3:1: A catalog must be a single document/],
    ['bad.yaml', '7\n', /bad\.yaml:1:1: Tables must be an object/],
  ])('%s with %j refuses to start and names the position', async (name, text, words) => {
    expect(await refusal(opened(name, text))).toMatch(words);
  });

  test('accepts an empty file, and refuses to start without the file', async () => {
    const { catalog } = await opened('empty.yaml', '# nothing yet\n');
    expect(await catalog.resolve({ tables: undefined, sql: 'from t' }, signal)).toEqual([]);
    const gone = CatalogFile.open(join(folder, 'gone.yaml'), () => {});
    expect(await refusal(gone)).toContain('cannot be read: it does not exist');
  });

  test('reloads a changed file, and keeps the previous version if the new one is not valid', async () => {
    const { catalog, said } = await opened('moving.yaml', 't: plain/a.parquet\n');
    expect(await filesOf(catalog, undefined)).toEqual(['plain/a.parquet']);
    file('moving.yaml', 't: plain/b.parquet\n');
    expect(await filesOf(catalog, undefined)).toEqual(['plain/b.parquet']);
    expect(catalog.trouble).toBeNull();
    file('moving.yaml', 't: [\n');
    expect(await filesOf(catalog, undefined)).toEqual(['plain/b.parquet']);
    expect(await filesOf(catalog, undefined)).toEqual(['plain/b.parquet']);
    expect(catalog.trouble).toContain('moving.yaml:2:1');
    expect(said.filter((line) => line.includes('stays in use'))).toHaveLength(1);
    file('moving.yaml', 't: plain/a.parquet\n');
    expect(await filesOf(catalog, undefined)).toEqual(['plain/a.parquet']);
    expect(catalog.trouble).toBeNull();
  });
});
