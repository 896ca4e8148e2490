/** The commands of the shell itself: they begin with a backslash, as in psql. */
import { didYouMean } from '../../../scheduler/core/index.ts';

export type Backslash =
  | { readonly kind: 'query'; readonly sql: string }
  | { readonly kind: 'timing' | 'expanded' | 'quit' | 'help' }
  | { readonly kind: 'unknown'; readonly text: string };

const KINDS = {
  '\\timing': 'timing',
  '\\x': 'expanded',
  '\\q': 'quit',
  '\\?': 'help',
} as const;

export const HELP: readonly string[] = [
  'End a statement with ; to run it. Ctrl-C cancels a running query or drops what was typed.',
  '',
  '  \\d          list the tables',
  '  \\d TABLE    show the columns of a table, or of a file in quotes',
  '  \\x          show each row as a list of its values, or as a line again',
  '  \\timing     show how long queries take, or not',
  '  \\?          show this',
  '  \\q          leave; Ctrl-D does as well',
];

/** Null for a line that is not such a command. */
export function backslashOf(line: string): Backslash | null {
  const text = line.trim().replace(/;$/, '').trim();
  if (/^(exit|quit)$/i.test(text)) return { kind: 'quit' };
  if (/^help$/i.test(text)) return { kind: 'help' };
  if (!text.startsWith('\\')) return null;
  const [, word = '', rest = ''] = /^(\S+)\s*(.*)$/s.exec(text) ?? [];
  if (word === '\\d' && rest === '') return { kind: 'query', sql: 'SHOW TABLES' };
  if (word === '\\d') return { kind: 'query', sql: `DESCRIBE SELECT * FROM ${tableName(rest)}` };
  const kind = Object.hasOwn(KINDS, word) ? KINDS[word as keyof typeof KINDS] : undefined;
  if (kind !== undefined && rest === '') return { kind };
  const known = ['\\d', ...Object.keys(KINDS)];
  const why =
    kind === undefined
      ? `'${word}' is not a command of this shell.${didYouMean(word, known)}`
      : `${word} takes no argument.`;
  return { kind: 'unknown', text: `${why} \\? lists the commands.` };
}

/** A plain or quoted name as it is; anything else is quoted, so that it stays one name. */
function tableName(text: string): string {
  const isQuoted = /^("([^"]|"")+"|'([^']|'')+')$/.test(text);
  return isQuoted || /^[\p{L}_][\p{L}\p{N}_]*$/u.test(text)
    ? text
    : `"${text.replaceAll('"', '""')}"`;
}
