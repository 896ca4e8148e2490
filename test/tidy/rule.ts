/** A tracked text file, with its path as git writes it. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  /** What is wrong and what to do instead. */
  readonly message: string;
}

/** A house rule: what it demands, and a search for what breaks it. It sees all files, so it can relate them. */
export interface Rule {
  readonly name: string;
  find(files: readonly TextFile[]): Finding[];
}

export const isTypeScript = (file: TextFile): boolean => /\.tsx?$/.test(file.path);
export const isTest = (file: TextFile): boolean => file.path.endsWith('.test.ts');
export const isGenerated = (file: TextFile): boolean => /(^|\/)gen\//.test(file.path);
/** The rules have to name what they forbid. */
export const isRule = (file: TextFile): boolean => file.path.startsWith('test/tidy/');

/** The room of a file under `src`: `kit`, `scheduler/core`. A room is a folder with an `index.ts`, in a group or by itself. */
export function roomOf(path: string): string | undefined {
  return /^src\/((?:(?:scheduler|tasks|sql|edge|node)\/)?[^/]+)\//.exec(path)?.[1];
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** One finding for each match of a pattern (with the `g` flag). */
export function matches(
  file: TextFile,
  pattern: RegExp,
  explain: (match: RegExpExecArray) => string,
): Finding[] {
  return [...file.text.matchAll(pattern)].map((match) => ({
    path: file.path,
    line: lineAt(file.text, match.index),
    message: explain(match),
  }));
}
