/** The output of a process, within a limit: the beginning and the end are kept, with a mark in between. */
export class Output {
  readonly #headMax: number;
  readonly #tailMax: number;
  readonly #head: Buffer[] = [];
  #tail: Buffer[] = [];
  #headBytes = 0;
  #tailBytes = 0;
  #leftOut = 0;

  constructor(maxBytes: number) {
    this.#headMax = Math.ceil(maxBytes / 2);
    this.#tailMax = maxBytes - this.#headMax;
  }

  get leftOutBytes(): number {
    return this.#leftOut;
  }

  push(chunk: Buffer): void {
    const room = this.#headMax - this.#headBytes;
    const head = chunk.subarray(0, room);
    if (head.length > 0) this.#head.push(head);
    this.#headBytes += head.length;
    const rest = chunk.subarray(head.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Not at every chunk: joining them again and again would copy all of it each time.
    if (this.#tailBytes > 2 * this.#tailMax + 65_536) this.#trim();
  }

  text(): string {
    this.#trim();
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#leftOut === 0) return Buffer.concat([head, tail]).toString();
    return `${head.toString()}\n[... ${this.#leftOut} bytes omitted ...]\n${tail.toString()}`;
  }

  #trim(): void {
    const over = this.#tailBytes - this.#tailMax;
    if (over <= 0) return;
    // A copy, so that the large chunks it was cut from can go.
    this.#tail = [Buffer.from(Buffer.concat(this.#tail).subarray(over))];
    this.#tailBytes = this.#tailMax;
    this.#leftOut += over;
  }
}
