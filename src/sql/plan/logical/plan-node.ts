/** One value of the plan's JSON, with questions that answer or refuse: what is not as expected is never guessed. */
import { parseJson, type Json } from './json.ts';
import { unknownPlan, type Undistributable } from './undistributable.ts';

export class PlanNode {
  readonly #json: Json | undefined;
  /** Where it stands in the plan; names an operator. */
  readonly path: string;

  constructor(json: Json | undefined, path: string) {
    this.#json = json;
    this.path = path;
  }

  static parse(text: string, path: string): PlanNode {
    return new PlanNode(parseJson(text), path);
  }

  /** A field; asking one that is not there for a value is refused. */
  at(key: string): PlanNode {
    const json = this.#json;
    if (typeof json !== 'object' || json === null || !('fields' in json)) throw this.odd('fields');
    return new PlanNode(json.fields.get(key), `${this.path}.${key}`);
  }

  get isNull(): boolean {
    return this.#json === null;
  }

  /** The field is there, and is not null. */
  get isThere(): boolean {
    return this.#json !== undefined && this.#json !== null;
  }

  text(): string {
    if (typeof this.#json !== 'string') throw this.odd('text');
    return this.#json;
  }

  bool(): boolean {
    if (typeof this.#json !== 'boolean') throw this.odd('boolean');
    return this.#json;
  }

  list(): PlanNode[] {
    if (!Array.isArray(this.#json)) throw this.odd('list');
    return this.#json.map((item: Json, i) => new PlanNode(item, `${this.path}[${i}]`));
  }

  /** A number as it is written: `1e300`, `-0.0`, `Infinity`. */
  number(): string {
    const json = this.#json;
    if (typeof json !== 'object' || json === null || !('number' in json)) throw this.odd('number');
    return json.number;
  }

  integer(): bigint {
    const text = this.number();
    if (!/^-?\d+$/.test(text)) throw this.odd('integer');
    return BigInt(text);
  }

  /** A place or a count. */
  index(): number {
    const value = this.integer();
    if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw this.odd('small number');
    return Number(value);
  }

  /** Refuses a value that is not what the caller needs. */
  odd(expected: string): Undistributable {
    return unknownPlan(`there is no ${expected} at ${this.path}`);
  }
}
