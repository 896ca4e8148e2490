/** Text that arrives line by line, as the statements in it. */
import { tokensOf } from '../../../sql/engine/index.ts';

export class Statements {
  #text = '';

  /** Whether a statement has begun and not ended. */
  get isOpen(): boolean {
    return this.#text !== '';
  }

  /** Whether the next line begins inside a string or a quoted name. */
  get isQuoted(): boolean {
    const last = tokensOf(this.#text).at(-1);
    if (last?.kind !== 'other' || last.to < this.#text.length) return false;
    const token = this.#text.slice(last.from);
    return /^['"]/.test(token) && !(token.length > 1 && token.endsWith(token.charAt(0)));
  }

  /** Returns the statements that are complete now, without their semicolons. */
  add(line: string): readonly string[] {
    // A comment between two statements begins none.
    if (!this.isOpen && /^\s*(--|$)/.test(line)) return [];
    this.#text += this.#text === '' ? line : `\n${line}`;
    // A long statement is not looked through again for each of its lines.
    if (!line.includes(';')) return [];
    const complete: string[] = [];
    let begin = 0;
    // A semicolon in a string, a quoted name or a comment is part of that token.
    for (const { kind, from, to } of tokensOf(this.#text)) {
      if (kind !== 'semicolon') continue;
      complete.push(this.#text.slice(begin, from).trim());
      begin = to;
    }
    this.#text = this.#text.slice(begin).trimStart();
    if (/^--[^\n]*$/.test(this.#text)) this.#text = '';
    return complete.filter((text) => tokensOf(text).length > 0);
  }

  /** What is there without a semicolon; empty if that is only comments. */
  rest(): string {
    const text = this.#text.trim();
    this.#text = '';
    return tokensOf(text).length > 0 ? text : '';
  }
}
