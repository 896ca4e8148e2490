import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { measureCoverage, minimumLinePercent, reportCoverage } from '../scripts/coverage.ts';

const source = `interface Shift { readonly by: number }
export function add(a: number, shift: Shift): number {
  return a + shift.by;
}
export function never(): number {
  return 0;
}
console.log(add(1, { by: 2 }));
`;

/** The lines of `source` on which a statement begins; a test runner would have seen none of them run. */
const statementLines = [3, 6, 8];

function project(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-coverage-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const path = join(root, 'src', 'room', 'sum.ts');
  mkdirSync(join(root, 'src', 'room'), { recursive: true });
  writeFileSync(path, source);
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  const tsc = join(import.meta.dirname, '..', 'node_modules', '.bin', 'tsc');
  const options = ['--sourceMap', '--rootDir', 'src', '--outDir', 'dist', '--ignoreConfig'];
  execFileSync(tsc, [...options, '--types', '--module', 'nodenext', path], { cwd: root });
  const unseen = {
    path,
    statementMap: Object.fromEntries(
      statementLines.map((line) => [line, { start: { line, column: line === 8 ? 0 : 2 } }]),
    ),
    s: Object.fromEntries(statementLines.map((line) => [line, 0])),
  };
  writeFileSync(join(root, 'tests.json'), JSON.stringify({ [path]: unseen }));
  return root;
}

test('a line that only a started process reached is covered', () => {
  const root = project();
  const children = join(root, 'children');
  const measure = () => measureCoverage(root, join(root, 'tests.json'), children);
  expect(measure()).toMatchObject([{ room: 'room', lines: 3, covered: 0 }]);

  const env = { ...process.env, NODE_V8_COVERAGE: children };
  execFileSync(process.execPath, [join(root, 'dist', 'room', 'sum.js')], { env });
  expect(measure()).toMatchObject([
    { room: 'room', lines: 3, covered: 2, uncovered: [{ path: 'src/room/sum.ts', lines: 1 }] },
  ]);
});

test('too little coverage fails and says where the lines are', () => {
  const printed: string[] = [];
  const room = { room: 'kit', lines: 100, uncovered: [{ path: 'src/kit/clock.ts', lines: 11 }] };
  const report = (covered: number) =>
    reportCoverage([{ ...room, covered }], (line) => printed.push(line));
  expect(report(minimumLinePercent)).toBe(true);
  expect(printed.join('\n')).not.toContain('clock.ts');
  expect(report(minimumLinePercent - 1)).toBe(false);
  expect(printed.join('\n')).toContain('src/kit/clock.ts: 11');
});
