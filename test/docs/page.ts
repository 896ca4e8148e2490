/**
 * The pages of the guide as a test reads them. What a block is for stands behind its language:
 *
 *     ```ts file=order.ts     a file of the reader's project; TypeScript is compiled, too
 *     ```sh run               runs to its end there; `exit=1` if it is to fail
 *     ```sh start             a process a line, each ready before the next and stopped with the page
 *     ```text prints          what the last command said, among other lines; `...` is anything
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export const ROOT: string = join(import.meta.dirname, '../..');
export const GUIDE: string = join(ROOT, 'docs/guide');

export interface Block {
  readonly language: string;
  readonly mark: string;
  readonly text: string;
  /** Where it begins, for messages. */
  readonly line: number;
}

export interface Page {
  /** `docs/guide/placement.md` is `placement`. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

const FENCE = /^```(\w+)(?: (.*))?\n([\s\S]*?)^```$/gm;

export function readPage(path: string, name: string = basename(path, '.md')): Page {
  const text = readFileSync(path, 'utf8');
  const blocks = [...text.matchAll(FENCE)].map((found): Block => {
    const [, language = '', mark = '', body = ''] = found;
    const line = text.slice(0, found.index).split('\n').length;
    return { language, mark, text: body, line };
  });
  return { name, path, text, blocks };
}

export function guidePages(): readonly Page[] {
  const files = readdirSync(GUIDE).filter((name) => name.endsWith('.md') && name !== 'README.md');
  return [
    readPage(join(ROOT, 'README.md')),
    readPage(join(GUIDE, 'README.md'), 'index'),
    ...files.toSorted().map((name) => readPage(join(GUIDE, name))),
  ];
}

export function fileOf({ mark }: Block): string | null {
  return /^file=(\S+)$/.exec(mark)?.[1] ?? null;
}
