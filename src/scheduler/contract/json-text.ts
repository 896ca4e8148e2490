import type { Json } from '../core/index.ts';
import type { JobShape } from './shapes.ts';

/** JSON that is kept as the stored text, so that passing it on needs no parsing and no writing. `JSON.stringify`
 * writes the value that it represents. */
export class JsonText {
  /** Well-formed JSON. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): Json {
    return JSON.parse(this.text) as Json;
  }
}

/** A result as readers pass it on. */
export type ReadResult = Json | JsonText;

/** A job as readers pass it on. */
export type ReadJob = JobShape<ReadResult, Date>;
