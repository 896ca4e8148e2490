/** Rules about files that name other files. */
import { posix } from 'node:path';
import { type Finding, isTest, isTypeScript, lineAt, type Rule } from './rule.ts';

export const sqlHasOneReader: Rule = {
  name: 'an .sql file is read by exactly one module; a migration by the loader of its folder',
  find(files) {
    const modules = files.filter(
      (file) => isTypeScript(file) && !isTest(file) && file.path.startsWith('src/'),
    );
    // A reader stands beside the file or above it, and names it in a string.
    const readersOf = (folder: string, name: string): string[] =>
      modules
        .filter((module) => `${folder}/`.startsWith(`${posix.dirname(module.path)}/`))
        .filter((module) => module.text.split(/['"`/]/).includes(name))
        .map((module) => module.path);
    const complaintAbout = (path: string): string | undefined => {
      const folder = posix.dirname(path);
      const migration = posix.basename(folder) === 'migrations';
      const readers = readersOf(folder, migration ? 'migrations' : posix.basename(path));
      if (readers.length === 0) return 'no module reads it';
      return readers.length === 1 || migration ? undefined : `read by ${readers.join(' and ')}`;
    };
    return files
      .filter((file) => file.path.startsWith('src/') && file.path.endsWith('.sql'))
      .map(({ path }) => ({ path, line: 1, message: complaintAbout(path) }))
      .filter((finding): finding is Finding => finding.message !== undefined);
  },
};

const coverageDocument = 'docs/coverage.md';

export const provenRequirements: Rule = {
  name: `every row of ${coverageDocument} names tests that exist`,
  find(files) {
    const page = files.find((file) => file.path === coverageDocument);
    if (page === undefined) return [];
    const paths = new Set(files.map((file) => file.path));
    const seen = new Set<string>();
    const findings: Finding[] = [];
    for (const row of page.text.matchAll(/^\| *([A-Z]{2}-\d+) *\|.*$/gm)) {
      const id = row[1]!;
      const report = (message: string): void => {
        findings.push({ path: page.path, line: lineAt(page.text, row.index), message });
      };
      const tests = [...row[0].matchAll(/`([^`]+\.test\.ts)`/g)].map((match) => match[1]!);
      if (seen.has(id)) report(`${id} stands here twice`);
      seen.add(id);
      if (tests.length === 0) report(`${id} names no test`);
      for (const test of tests.filter((test) => !paths.has(test))) report(`${id}: no ${test}`);
    }
    return findings;
  },
};
