/**
 * One run of a fragment: localizes its inputs, waits for memory, lets an engine run the SQL and retains the output.
 * However it ends, nothing incomplete is left.
 */
import { defined } from '../../kit/index.ts';
import { rm } from 'node:fs/promises';
import type { Pin } from '../catalog/index.ts';
import type { FragmentOutput, FragmentRequest } from '../engine/index.ts';
import type { TaskContext } from '../../tasks/executors/index.ts';
import type {
  FragmentMetrics,
  FragmentResult,
  FragmentTask,
  InlineResult,
  OutputPlace,
  PartitionInfo,
  PartitionRead,
} from '../plan/index.ts';
import { PartitionLostError, isUnchanged } from '../shuffle/index.ts';
import type { LocalPartition, RetainedOutput, OutputDraft, OutputName } from '../shuffle/index.ts';
import type { FragmentNode } from './fragment-executor.ts';
import { INLINE_ROWS, inlineResult } from './inline-result.ts';
import { hasStep } from './task-fault.ts';
import { requiredBy } from './task-input.ts';

/** Progress shown to people; the rest cannot be estimated. */
const INPUTS_HERE = 0.2;
/** A fragment reports no progress before this time: each report is a commit that others wait for. */
const QUIET_MS = 500;
/** An inline output has no location: the same values everywhere, so that nobody looks for it. */
const NOWHERE = { address: null, folder: '', index: '', epoch: 0, layout: 0 } as const;

interface Inputs {
  readonly files: Readonly<Record<string, readonly string[]>>;
  readonly fetched: readonly { readonly at: OutputPlace; readonly part: LocalPartition }[];
  readonly fetchedBytes: number;
  /** Of these, and of what is local, what was brought here before the task began. */
  readonly earlyBytes: number;
  readonly localBytes: number;
  readonly fetchMs: number;
}

interface Localized {
  readonly parts: readonly LocalPartition[];
  readonly earlyBytes: number;
}

interface Made {
  readonly made: FragmentOutput;
  readonly inline: InlineResult | null;
}

export class FragmentRun {
  readonly #node: FragmentNode;
  readonly #task: FragmentTask;
  readonly #context: TaskContext;
  readonly #name: OutputName;
  /** Run in reverse order. */
  readonly #undo: (() => Promise<void> | void)[] = [];

  constructor(node: FragmentNode, task: FragmentTask, context: TaskContext) {
    this.#node = node;
    this.#task = task;
    this.#context = context;
    const { jobId: query, taskId, fence, attempt } = context;
    this.#name = { query, task: taskId, fence, attempt };
  }

  async run(threads: () => number): Promise<FragmentResult> {
    try {
      const result = await this.#result(threads);
      // Readers of the output need not wait until the inputs are removed.
      this.#node.store.afterwards(this.#undoAll());
      return result;
    } catch (error) {
      await this.#undoAll();
      throw error;
    }
  }

  async #undoAll(): Promise<void> {
    for (const undo of this.#undo.toReversed()) await this.#undone(undo);
  }

  /** What cannot be removed now is removed with the store. */
  async #undone(undo: () => Promise<void> | void): Promise<void> {
    try {
      await undo();
    } catch (error) {
      this.#context.log.warn(`A temporary folder could not be removed: ${String(error)}`);
    }
  }

  async #result(threads: () => number): Promise<FragmentResult> {
    const { progress } = this.#context;
    const [inputs, draft] = await bothOf(
      this.#checkPins().then(() => this.#inputs()),
      this.#begin(),
    );
    const progressTimer = setTimeout(() => progress(INPUTS_HERE, 'inputs are local'), QUIET_MS);
    this.#undo.push(() => clearTimeout(progressTimer));
    const { made, inline } = await this.#execute(draft.folder, inputs, threads);
    clearTimeout(progressTimer);
    const startedAt = performance.now();
    const retained = inline === null ? await this.#retain(draft, made) : null;
    const parts = retained?.parts ?? [{ rows: made.rowsOut, bytes: 0, segments: [] }];
    const bytesOut = inline === null ? bytesOf(parts) : bytesIn(inline);
    return {
      at: await this.#place(retained),
      parts,
      inline,
      ...(this.#task.keys === undefined ? {} : { keys: made.keys ?? [] }),
      metrics: this.#metrics(inputs, made, bytesOut, performance.now() - startedAt),
    };
  }

  async #begin(): Promise<OutputDraft> {
    const draft = await this.#node.store.begin(this.#name);
    this.#undo.push(() => draft.discard());
    return draft;
  }

  #retain(draft: OutputDraft, { parts, sums }: FragmentOutput): Promise<RetainedOutput> {
    return draft.commit(parts, this.#kind, this.#context.signal, sums);
  }

  get #kind(): 'inner' | 'result' {
    return this.#task.output.kind === 'result' ? 'result' : 'inner';
  }

  /**
   * Checked after the engine has read the inputs, even if it failed: an engine that was given other bytes is not to
   * blame.
   */
  async #checkRead({ fetched }: Inputs): Promise<void> {
    await this.#checkPins();
    const changed = fetched.find(({ part }) => !isUnchanged(part));
    if (changed !== undefined)
      throw new PartitionLostError(changed.at, 'It changed while it was read.');
  }

  /** Checked before and after, so that what was read in between is what was planned for. */
  async #checkPins(): Promise<void> {
    const { ranges, fragment } = this.#task;
    const files: readonly Pin[] = [
      ...Object.values(ranges).flat(),
      ...fragment.tables.flatMap((table) => table.files),
    ];
    const { pins, roots } = this.#node;
    if (files.length > 0) await pins.check(files, { signal: this.#context.signal, roots });
  }

  async #inputs(): Promise<Inputs> {
    const startedAt = performance.now();
    const reads = this.#task.fragment.inputs.flatMap(({ relation, mode }) =>
      (this.#task.reads[relation] ?? []).map((read) => ({
        relation,
        read,
        isShared: mode === 'all',
      })),
    );
    const shared = reads.filter(({ isShared }) => isShared);
    const own = reads.filter(({ isShared }) => !isShared);
    const [ofAll, { parts: ofOne, earlyBytes }] = await bothOf(
      this.#shared(shared.map(({ read }) => read)),
      this.#localize(own.map(({ read }) => read)),
    );
    const files: Record<string, string[]> = {};
    for (const { relation } of this.#task.fragment.inputs) files[relation] = [];
    const parts = [...ofAll, ...ofOne];
    const fetched: Inputs['fetched'][number][] = [];
    for (const [no, { relation, read }] of [...shared, ...own].entries()) {
      const part = parts[no];
      if (part === undefined) continue;
      files[relation]?.push(...part.files);
      fetched.push({ at: read.at, part });
    }
    return {
      files,
      fetched,
      fetchedBytes: parts.reduce((sum, { fetchedBytes }) => sum + fetchedBytes, 0),
      earlyBytes,
      localBytes: parts.reduce((sum, { localBytes }) => sum + localBytes, 0),
      fetchMs: performance.now() - startedAt,
    };
  }

  #shared(reads: readonly PartitionRead[]): Promise<readonly LocalPartition[]> {
    const { signal } = this.#context;
    return Promise.all(reads.map((read) => this.#node.shared.take(this.#name.query, read, signal)));
  }

  /** What was fetched before is taken, the rest is fetched now. */
  async #localize(reads: readonly PartitionRead[]): Promise<Localized> {
    const { early } = this.#node;
    const { signal } = this.#context;
    const taken = await Promise.all(
      reads.map((read) => early.take(this.#name.query, read, signal)),
    );
    for (const input of taken) if (input !== null) this.#undo.push(input.remove);
    const rest = await this.#fetch(reads.filter((_, at) => taken[at] === null));
    let next = 0;
    const parts = taken.map((input) => input?.part ?? (rest[next++] as LocalPartition));
    const earlyBytes = taken.reduce(
      (sum, input) => sum + (input === null ? 0 : input.part.fetchedBytes + input.part.localBytes),
      0,
    );
    return { parts, earlyBytes };
  }

  async #fetch(reads: readonly PartitionRead[]): Promise<readonly LocalPartition[]> {
    if (reads.length === 0) return [];
    const { reader, store } = this.#node;
    const folder = async (): Promise<string> => {
      const made = await store.scratch('in-');
      this.#undo.push(() => rm(made, { recursive: true, force: true }));
      return made;
    };
    return reader.localize(this.#name.query, reads, folder, this.#context.signal);
  }

  async #execute(folder: string, inputs: Inputs, threads: () => number): Promise<Made> {
    const { engines, budget } = this.#node;
    const { signal } = this.#context;
    const reserved = await budget.reserve(this.#memoryBytes(), signal);
    try {
      const isCustom = requiredBy(this.#task).length > 0;
      const size = { memoryBytes: reserved.bytes, threads: threads(), isCustom };
      const { engine, release } = await engines.acquire(size, signal);
      try {
        const { fragment, output, session, ranges, spans, byRange } = this.#task;
        const { filters, countsFiltered, keys, scope } = this.#task;
        const order = {
          ...{ fragment, output, session, ranges, inputs: inputs.files, folder },
          requires: requiredBy(this.#task),
          ...defined({ spans, byRange, filters, countsFiltered, keys, scope }),
          ...this.#custom(reserved.bytes),
          ...(this.#task.rowsAlone === true ? { rowsMax: INLINE_ROWS } : {}),
        };
        const made = await engine.run(order, signal).catch(async (error: unknown) => {
          if (!signal.aborted) await this.#checkRead(inputs);
          throw error;
        });
        await this.#checkRead(inputs);
        return { made, inline: this.#kind === 'inner' ? null : inlineResult(folder, made) };
      } finally {
        release();
      }
    } finally {
      reserved.release();
    }
  }

  #custom(
    operatorBytes: number,
  ): Pick<FragmentRequest, 'operator' | 'operatorBytes' | 'operatorRowsMax' | 'onProgress'> {
    const { custom } = this.#task.fragment;
    const operator = custom === undefined ? undefined : this.#node.operator(custom.op_name);
    if (operator === undefined) return {};
    const onProgress = (fraction: number, note: string | null): void =>
      this.#context.progress(fraction, note ?? undefined);
    const { operatorRowsMax } = this.#node;
    return { operator, operatorBytes, operatorRowsMax, onProgress };
  }

  /** After running out of memory once it gets twice as much, if the node has it. */
  #memoryBytes(): number {
    const { shareBytes, budget } = this.#node;
    const usual = Math.min(this.#task.memoryBytes ?? shareBytes, budget.totalBytes);
    return hasStep(this.#context, 'out_of_memory') ? usual * 2 : usual;
  }

  async #place(retained: RetainedOutput | null): Promise<OutputPlace> {
    const { task, fence } = this.#name;
    const { nodeId, address } = this.#node;
    if (retained === null) return { task, fence, node: nodeId, ...NOWHERE };
    const { folder, hash, index } = retained;
    const { epoch, layout } = index;
    return {
      task,
      fence,
      node: nodeId,
      address: await address(),
      folder,
      index: hash,
      epoch,
      layout,
    };
  }

  #metrics(
    { fetchedBytes, earlyBytes, localBytes, fetchMs }: Inputs,
    made: FragmentOutput,
    bytesOut: number,
    writeMs: number,
  ): FragmentMetrics {
    const { rowsOut, runMs, spilledBytes, parts, filteredRows } = made;
    const read = Object.values(this.#task.reads).flat();
    return {
      rowsIn: made.rowsIn + read.reduce((sum, { part }) => sum + part.rows, 0),
      rowsOut,
      bytesOut,
      batches: parts.reduce((sum, { files }) => sum + files.length, 0),
      fetchedBytes,
      localBytes,
      fetchMs: rounded(fetchMs),
      runMs: rounded(runMs),
      writeMs: rounded(writeMs),
      spilledBytes,
      ...defined({ filteredRows }),
      ...(earlyBytes === 0 ? undefined : { earlyBytes }),
    };
  }
}

/** Waits for both: nothing may still be written when the clean-up begins. The first one's failure wins. */
async function bothOf<One, Other>(
  one: Promise<One>,
  other: Promise<Other>,
): Promise<readonly [One, Other]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === 'rejected') throw first.reason as Error;
  if (second.status === 'rejected') throw second.reason as Error;
  return [first.value, second.value];
}

function bytesOf(parts: readonly PartitionInfo[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

function bytesIn({ parquet, rows }: InlineResult): number {
  return parquet === null
    ? Buffer.byteLength(JSON.stringify(rows))
    : Buffer.byteLength(parquet, 'base64');
}

/** Microseconds are precise enough. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
