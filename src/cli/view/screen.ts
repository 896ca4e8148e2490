/** Lines at the bottom of a terminal that are redrawn in place, and lines that scroll by above. */
import type { Terminal } from './terminal.ts';
import { textWidth } from './text-width.ts';

const ESC = '\u001B[';
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;
/** Terminals that know these codes show what is between them at once; others ignore them. */
const BEGIN = `${ESC}?2026h`;
const END = `${ESC}?2026l`;
const CLEAR_LINE = `${ESC}K`;
const CLEAR_BELOW = `${ESC}J`;
// eslint-disable-next-line no-control-regex -- it is control characters that are to be found
const STYLES = /\u001B\[[\d;]*m/g;

export class Screen {
  readonly #terminal: Terminal;
  readonly #restore: () => void;
  #drawn: readonly string[] = [];
  #isOpen = true;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    // However the process ends, the cursor comes back.
    this.#restore = () => terminal.write(SHOW_CURSOR);
    process.once('exit', this.#restore);
    terminal.write(HIDE_CURSOR);
  }

  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const unchanged = lines.length === this.#drawn.length;
    if (unchanged && lines.every((text, at) => text === this.#drawn[at])) return;
    this.#terminal.write(BEGIN + this.#toTop() + this.#text(lines) + END);
    this.#drawn = lines;
  }

  /** A line that stays, above what is redrawn. */
  print(text: string): void {
    const lines = this.#drawn;
    const above = `${this.#toTop()}${text}${CLEAR_LINE}\n`;
    this.#terminal.write(this.#isOpen ? BEGIN + above + this.#text(lines) + END : `${text}\n`);
  }

  /** The drawing stays, and the cursor is below it again. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.off('exit', this.#restore);
    this.#restore();
  }

  #text(lines: readonly string[]): string {
    return lines.map((text) => `${text}${CLEAR_LINE}\n`).join('') + CLEAR_BELOW;
  }

  /** A terminal that has become narrower has wrapped what was drawn: it takes more rows now. */
  #toTop(): string {
    const { columns } = this.#terminal;
    const rows = this.#drawn.reduce((sum, text) => {
      const width = textWidth(text.replaceAll(STYLES, ''));
      return sum + Math.max(1, Math.ceil(width / columns));
    }, 0);
    return rows === 0 ? '\r' : `\r${ESC}${rows}A`;
  }
}
