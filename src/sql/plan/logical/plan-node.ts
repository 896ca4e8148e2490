/**
 * One value in the JSON of a plan. Accessors either return what was asked for or refuse the plan; nothing is guessed.
 */
import { parseJson, type Json } from './json.ts';
import { unknownPlan, type Undistributable } from './undistributable.ts';

export class PlanNode {
  readonly #json: Json | undefined;
  /** Its path in the plan, which identifies an operator. */
  readonly path: string;

  constructor(json: Json | undefined, path: string) {
    this.#json = json;
    this.path = path;
  }

  static parse(text: string, path: string): PlanNode {
    return new PlanNode(parseJson(text), path);
  }

  /** Returns a field. A missing field is refused when its value is read. */
  at(key: string): PlanNode {
    const json = this.#json;
    if (typeof json !== 'object' || json === null || !('fields' in json)) throw this.odd('fields');
    return new PlanNode(json.fields.get(key), `${this.path}.${key}`);
  }

  get isNull(): boolean {
    return this.#json === null;
  }

  /** Whether the field is present and not null. */
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

  /** An index or a count. */
  index(): number {
    const value = this.integer();
    if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw this.odd('small number');
    return Number(value);
  }

  /** The refusal of a value that is not what the caller needs. */
  odd(expected: string): Undistributable {
    return unknownPlan(`there is no ${expected} at ${this.path}`);
  }
}
