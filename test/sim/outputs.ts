/**
 * What the fragments of queries leave on workers, without DuckDB and without files: it lasts as long as the
 * process that made it. The real `RetainedOutputs` decides when it goes.
 */
import type { JobId } from '../../src/scheduler/core/index.ts';
import type { Outputs } from '../../src/node/worker/retained-outputs.ts';
import type { Network } from './network.ts';
import type { Life } from './process.ts';

export type OutputKind = 'inner' | 'result';

/** One output: which attempt at which task of which query made it. */
export interface OutputName {
  readonly query: JobId;
  readonly task: string;
  readonly fence: number;
}

interface Output {
  readonly content: string;
  readonly kind: OutputKind;
}

/** The outputs of one process. */
export class ProcessOutputs implements Outputs {
  readonly life: Life;
  readonly #byQuery: Map<JobId, Map<string, Output>> = new Map();

  constructor(life: Life) {
    this.life = life;
  }

  /** As on disk, what is there is not replaced. */
  put({ query, task, fence }: OutputName, output: Output): void {
    const outputs = this.#byQuery.get(query) ?? new Map<string, Output>();
    const name = `${task}/${fence}`;
    if (outputs.has(name)) throw new Error(`The output ${query}/${name} is there already.`);
    this.#byQuery.set(query, outputs.set(name, output));
  }

  /** Readers compare what they find with the hash in the result: another content is not the output. */
  has({ query, task, fence }: OutputName, content: string): boolean {
    return this.#byQuery.get(query)?.get(`${task}/${fence}`)?.content === content;
  }

  discard({ query, task, fence }: OutputName): void {
    this.#byQuery.get(query)?.delete(`${task}/${fence}`);
  }

  queries(kind?: OutputKind): readonly JobId[] {
    return [...this.#byQuery].flatMap(([query, outputs]) =>
      kind === undefined || [...outputs.values()].some((each) => each.kind === kind) ? [query] : [],
    );
  }

  async drop(query: JobId, kind?: OutputKind): Promise<void> {
    const outputs = this.#byQuery.get(query) ?? new Map<string, Output>();
    for (const [name, output] of outputs) {
      if (kind === undefined || output.kind === kind) outputs.delete(name);
    }
    if (outputs.size === 0) this.#byQuery.delete(query);
  }
}

/** The outputs of all processes, by the name that each process gives itself. */
export class OutputNetwork {
  readonly #network: Network;
  readonly #processes: Map<string, ProcessOutputs> = new Map();

  constructor(network: Network) {
    this.#network = network;
  }

  open(process: string, life: Life): ProcessOutputs {
    const outputs = new ProcessOutputs(life);
    this.#processes.set(process, outputs);
    return outputs;
  }

  /** Whether `reader` can fetch the output from that process. */
  has(reader: Life, process: string, name: OutputName, content: string): boolean {
    const outputs = this.#processes.get(process);
    if (outputs === undefined || outputs.life.isOver) return false;
    const isNear = reader === outputs.life;
    if (!isNear && !this.#network.connects(reader.name, outputs.life.name)) return false;
    return outputs.has(name, content);
  }
}
