/** Rules about the rooms: the build says which room may import which, and everything else has to agree with it. */
import { posix } from 'node:path';
import { type Finding, lineAt, type Rule, roomOf, type TextFile } from './rule.ts';

interface Room {
  readonly name: string;
  readonly config: string;
  readonly imports: readonly string[];
}

const folder = 'src/';

const referencesIn = (file: TextFile | undefined): string[] =>
  file === undefined
    ? []
    : (
        (
          JSON.parse(file.text.replaceAll(/^\s*\/\/.*$/gm, '')) as {
            references?: { path: string }[];
          }
        ).references ?? []
      ).map(({ path }) => posix.join(posix.dirname(file.path), path));

const roomsIn = (paths: readonly string[]): string[] =>
  paths.filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length));

/** The rooms in the order in which the solution builds them. */
function roomsOf(files: readonly TextFile[]): Room[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return roomsIn(referencesIn(byPath.get('tsconfig.json'))).map((name) => {
    const config = `${folder}${name}/tsconfig.json`;
    return { name, config, imports: roomsIn(referencesIn(byPath.get(config))) };
  });
}

export const importOrder: Rule = {
  name: 'tsconfig.json lists every room, and a room imports only rooms that stand above it',
  find(files) {
    const rooms = roomsOf(files);
    const place = new Map(rooms.map(({ name }, index) => [name, index]));
    const unlisted = files
      .filter((file) => /^src\/.*\/tsconfig\.json$/.test(file.path))
      .filter((file) => !place.has(roomOf(file.path) ?? ''))
      .map(({ path }) => ({ path, line: 1, message: 'this room is missing in tsconfig.json' }));
    const upwards = rooms.flatMap(({ name, config, imports }, index) =>
      imports
        .filter((other) => (place.get(other) ?? Infinity) >= index)
        .map((other) => ({
          path: config,
          line: 1,
          message: `${other} does not stand above ${name}`,
        })),
    );
    return [...unlisted, ...upwards];
  },
};

const specifier = /(?:\bfrom|\bimport\(?)\s*'(\.[^']+)'/g;

/** The rooms that files of the room import, tests not counted: they see all rooms. */
function importedBy(name: string, files: readonly TextFile[]): ReadonlySet<string | undefined> {
  const own = files.filter(
    ({ path }) => roomOf(path) === name && path.endsWith('.ts') && !path.endsWith('.test.ts'),
  );
  return new Set(
    own.flatMap(({ path, text }) =>
      [...text.matchAll(specifier)].map(([, to = '']) =>
        roomOf(posix.join(posix.dirname(path), to)),
      ),
    ),
  );
}

export const usedReferences: Rule = {
  name: 'a room refers only to rooms that it imports',
  find(files) {
    return roomsOf(files).flatMap(({ name, config, imports }) => {
      const used = importedBy(name, files);
      return imports
        .filter((other) => !used.has(other))
        .map((other) => ({
          path: config,
          line: 1,
          message: `nothing in ${name} imports ${other}`,
        }));
    });
  },
};

const page = 'docs/architecture.md';
/** A row of the table: the room in code, what it holds, and the last names of the rooms that it imports. */
const row = /^\| `(?<room>[a-z]+(?:\/[a-z]+)?)` *\|[^|]*\| *(?<imports>[^|]*?) *\|$/gm;

export const roomTable: Rule = {
  name: `the rooms in ${page} are those of tsconfig.json, in order, with their imports`,
  find(files) {
    const text = files.find((file) => file.path === page)?.text;
    if (text === undefined) return [];
    const rooms = roomsOf(files);
    const rows = [...text.matchAll(row)];
    const at = (index: number, message: string): Finding => ({
      path: page,
      line: lineAt(text, index),
      message,
    });
    const listed = rows.map((match) => match.groups?.['room']).join(', ');
    const expected = rooms.map(({ name }) => name).join(', ');
    if (listed !== expected) return [at(0, `the table lists ${listed}; it should be ${expected}`)];
    return rows.flatMap((match, index) => {
      const imports = rooms[index]!.imports.map((name) => posix.basename(name)).join(', ');
      const wanted = imports === '' ? 'nothing' : imports;
      const found = match.groups?.['imports'];
      return found === wanted ? [] : [at(match.index, `${found}; it should be: ${wanted}`)];
    });
  },
};

/** What users import: nothing in the repository need use it. */
const published = new Set(['client', 'testing']);

/** knip does not find these: it takes a type that its own file uses for used. */
export const usedExports: Rule = {
  name: "what a room's index.ts exports by name is used outside of the room",
  find(files) {
    const wordsOf = new Map(
      files
        .filter(({ path }) => /\.[jt]sx?$/.test(path))
        .map((file) => [file, new Set(file.text.match(/\w+/g))] as const),
    );
    return files
      .filter(({ path }) => path === `${folder}${roomOf(path)}/index.ts`)
      .filter(({ path }) => !published.has(roomOf(path) ?? ''))
      .flatMap((index) => {
        const others = [...wordsOf].filter(([{ path }]) => roomOf(path) !== roomOf(index.path));
        return exportsIn(index)
          .filter(({ word }) => !others.some(([, words]) => words.has(word)))
          .map(({ word, line }) => ({
            path: index.path,
            line,
            message: `no other room uses ${word}`,
          }));
      });
  },
};

function exportsIn({ text }: TextFile): { readonly word: string; readonly line: number }[] {
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(({ 1: list = '', index }) =>
    list
      .split(',')
      .map((name) =>
        name
          .trim()
          .replace(/^type /, '')
          .replace(/^.* as /, ''),
      )
      .filter((word) => word !== '')
      .map((word) => ({ word, line: lineAt(text, index) })),
  );
}
