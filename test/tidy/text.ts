/** Rules that need no more than the text of a file. */
import { isGenerated, isRule, isTypeScript, matches, type Rule, roomOf } from './rule.ts';

const linesMax = 400;

export const fileLength: Rule = {
  name: `a file has at most ${linesMax} lines`,
  find: (files) =>
    files
      .filter((file) => isTypeScript(file) && !isGenerated(file))
      .map((file) => ({ path: file.path, line: file.text.trimEnd().split('\n').length }))
      .filter(({ line }) => line > linesMax)
      .map((long) => ({
        ...long,
        message: `${long.line} lines: this file holds more than one idea`,
      })),
};

export const leftovers: Rule = {
  name: 'nothing is left for later in a comment',
  find: (files) =>
    files
      .filter((file) => !isRule(file) && file.path !== 'package-lock.json')
      .flatMap((file) =>
        matches(
          file,
          /\b(TODO|FIXME|XXX)\b/g,
          ([word]) => `${word}: do it, or write it down outside`,
        ),
      ),
};

export const places: Rule = {
  name: 'no file names a package registry or a folder of one machine',
  find: (files) =>
    files
      .filter((file) => !isRule(file))
      .flatMap((file) => [
        ...matches(
          file,
          /\bregistry\.[a-z]+\.[a-z]+|\b(npmjs\.(org|com)|yarnpkg\.com|(deb|security)\.debian\.org)\b/g,
          ([host]) => `${host}: the registry is a setting of the machine`,
        ),
        ...matches(
          file,
          /(?<=^|[\s'"`(=:])\/(work|root|home)(?=[/\s'"`)]|$)/gm,
          ([folder]) => `${folder}: this folder exists on one machine only`,
        ),
      ]),
};

export const roomParagraph: Rule = {
  name: "a room's index.ts begins with a paragraph: what lives here and what does not",
  find: (files) =>
    files
      .filter((file) => file.path === `src/${roomOf(file.path)}/index.ts`)
      .filter((file) => (/^\/\*\*\n((?: \*.*\n)+?) \*\//.exec(file.text)?.[1] ?? '').length < 80)
      .map((file) => ({
        path: file.path,
        line: 1,
        message: `say what lives in ${roomOf(file.path)}`,
      })),
};
