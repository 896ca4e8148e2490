import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { defaultSettings, isMillraceError, MillraceError } from '../../scheduler/core/index.ts';
import { checkDocument } from './checked-document.ts';
import { readDocuments } from './document-file.ts';
import { jsonPlace } from '../../kit/json-place.ts';
import { parseYaml } from '../../kit/yaml-text.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-places-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** What a document is refused with, without the folder. */
async function refusal(name: string, text: string): Promise<string> {
  try {
    for (const value of await readDocuments(file(name, text), signal)) {
      checkDocument(value, defaultSettings);
    }
  } catch (error) {
    if (isMillraceError(error)) return error.message.replaceAll(`${folder}/`, '');
    throw error;
  }
  return expect.fail('it was accepted');
}

test.each([
  ['yaml', 'tasks:\n  - id: a\n    executor: echo\n    retry:\n      maxAttempts: 0\n', '5:20'],
  [
    'json',
    '{"tasks": [\n  {"id": "a", "executor": "echo",\n   "retry": {"maxAttempts": 0}}]}',
    '3:29',
  ],
])('a wrong value in %s is reported with its line, column and path', async (kind, text, place) => {
  expect(await refusal(`job.${kind}`, text)).toMatch(
    new RegExp(`^job\\.${kind}:${place}: /tasks/0/retry/maxAttempts: Must be a whole number`),
  );
});

test.each([
  ['yaml', 'tasks:\n  - id: a\n  - executor: echo\n', '3:5'],
  ['json', '{"tasks": [\n  {"id": "a"},\n  {"executor": "echo"}]}', '3:3'],
])(
  'a missing field in %s is reported with the place of the object that lacks it',
  async (kind, text, place) => {
    expect(await refusal(`job.${kind}`, text)).toContain(`job.${kind}:${place}: /tasks/1/id: `);
  },
);

test.each([
  ['yaml', 'tasks:\n  - id: a\n    executor: echo\n    retyr:\n      maxAttempts: 1\n', '4:5'],
  ['json', '{"tasks": [{"id": "a", "executor": "echo",\n "retyr": {"maxAttempts": 1}}]}', '2:2'],
])('an unknown field in %s is shown by its name', async (kind, text, place) => {
  const message = await refusal(`job.${kind}`, text);
  expect(message).toContain(`job.${kind}:${place}: /tasks/0/retyr: `);
  expect(message).toContain("Did you mean 'retry'?");
});

test.each([
  ['job.json', '{"tasks": [\n  {"id": "a",}\n]}', 'job.json:2:14: The text stops being JSON here.'],
  ['job.json', '{"tasks": [', 'job.json:1:12: The text stops being JSON here.'],
  ['job.yaml', 'tasks:\n  - id: a\n bad\n', 'job.yaml:3:1: The text is neither JSON nor YAML: '],
  ['job.yaml', 'tasks: [\n', 'job.yaml:2:1: The text is neither JSON nor YAML: '],
  ['job.yaml', 'a: 1\na: 2\n', 'job.yaml:2:1: The text is neither JSON nor YAML: '],
  ['job.yaml', 'tasks: *nobody\n', 'job.yaml:1:8: The text is neither JSON nor YAML: '],
])('a fault in the text of %s itself has its line: %j', async (name, text, sentence) => {
  expect(await refusal(name, text)).toContain(sentence);
});

test('an error about the whole document has the place where it begins', async () => {
  expect(await refusal('job.yaml', '# nothing\n- 1\n')).toContain('job.yaml:2:1: ');
});

test('an anchor leads to where the value is written', async () => {
  const text =
    'x: &r\n  maxAttempts: 0\ntasks:\n  - id: a\n    executor: echo\n    retry: *r\n'.replace(
      'x:',
      'name:',
    );
  const [value] = await readDocuments(file('a.yaml', text), signal);
  const wrong = new MillraceError({
    code: 'bad_input',
    what: 'No.',
    path: '/tasks/0/retry/maxAttempts',
  });
  expect(String(value?.located(wrong))).toContain('a.yaml:2:16: ');
});

test('an error that is about something else stays as it is', async () => {
  const [value] = await readDocuments(file('a.yaml', 'a: 1'), signal);
  const error = new MillraceError({ code: 'unreachable', what: 'No server.' });
  expect(value?.located(error)).toBe(error);
});

test('a byte order mark is not part of the text', async () => {
  const [value] = await readDocuments(file('a.json', '\uFEFF{"a": 1}'), signal);
  expect(value?.value).toEqual({ a: 1 });
});

/** Every place in a value, with what stands there. */
function places(value: unknown, at: readonly string[] = []): [readonly string[], unknown][] {
  if (typeof value !== 'object' || value === null) return [[at, value]];
  return Object.entries(value).flatMap(([key, each]) => places(each, [...at, key]));
}

const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => JSON.stringify(value) !== '-0');

test('in any JSON, the place of every leaf is where that leaf is written', () => {
  fc.assert(
    fc.property(json, fc.nat(3), (value, indent) => {
      const text = JSON.stringify(value, null, indent) ?? 'null';
      for (const [keys, leaf] of places(JSON.parse(text))) {
        const at = jsonPlace(text, keys);
        expect(text.slice(at, at + JSON.stringify(leaf).length)).toBe(JSON.stringify(leaf));
      }
    }),
  );
});

test('in any YAML, the place of every leaf is where that leaf is written', async () => {
  await fc.assert(
    fc.asyncProperty(json, async (value) => {
      const text = stringify(value, { defaultStringType: 'QUOTE_DOUBLE', lineWidth: 0 });
      const parsed = await parseYaml(text);
      if ('message' in parsed) return expect.fail(parsed.message);
      for (const [keys, leaf] of places(JSON.parse(JSON.stringify(value)))) {
        if (typeof leaf !== 'string' || parsed[0] === undefined) continue;
        expect(text[parsed[0].place(keys)]).toBe('"');
      }
      return undefined;
    }),
    { numRuns: 50 },
  );
});

test('a path that leads nowhere ends at the nearest place', () => {
  const text = '{"a": {"b": [1, {"c": 2}]}}';
  expect(jsonPlace(text, ['a', 'b', '1', 'x', 'y'])).toBe(text.indexOf('{"c"'));
  expect(jsonPlace(text, ['a', 'b', '7'])).toBe(text.indexOf('"b"'));
  expect(jsonPlace(text, ['a', 'b', 'one'])).toBe(text.indexOf('"b"'));
  expect(jsonPlace(text, ['z'])).toBe(0);
  expect(jsonPlace('{"a": 1, "a": 22}', ['a'])).toBe(14);
  expect(jsonPlace('7', ['a'])).toBe(0);
});
