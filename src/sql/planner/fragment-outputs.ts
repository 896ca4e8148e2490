/**
 * What workers register with the leader: outputs between stages, which stay with the workers, and rows for the client,
 * which come here in chunks. A server also serves every output of a query by its key, from where it lies.
 */
import { open } from 'node:fs/promises';
import { fragmentTaskId, isId } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { LAYOUT_VERSION } from '../../scheduler/contract/index.ts';
import type {
  EarlyRead,
  FragmentEnd,
  FragmentKey,
  FragmentResults,
  HeldFragment,
  MapOutput,
  PartitionChunk,
  PartitionRange,
  RemoteShuffle,
  ResultChunk,
  ResultRegistry,
  Session,
  ShuffleSource,
} from '../../scheduler/contract/index.ts';
import { checkVersions, notRegistered, readableRange } from '../shuffle/index.ts';
import { RegisteredOutputs } from '../shuffle/index.ts';
import type { RegisteredOutput } from '../shuffle/index.ts';
import type { FragmentResult, QueryPlan, Stage } from '../plan/index.ts';
import { partitionCount, resultFault } from './check-result.ts';
import { EarlyReads } from './early-reads.ts';
import type { EarlyReadSettings } from './early-reads.ts';
import { noSession, noSuchStage, notTheLastStage } from './refusals.ts';
import { registeredResult, spooledPlace, inlineOf } from './registered-result.ts';
import type { ResultSpool, SpooledResult } from './result-spool.ts';

export interface FragmentOutputsOptions {
  /** Null when there is no such query. */
  readonly plan: (query: JobId) => Promise<QueryPlan | null>;
  /** The fragment that the session runs; throws if it does not, and `not_leader` where somebody else leads. */
  readonly held: (session: Session, key: FragmentKey) => HeldFragment;
  /** What a task that has succeeded was completed with. */
  readonly committed: (query: JobId, taskId: string) => Promise<CommittedOutput | null>;
  /** Whether nobody will ask for anything of the query any more. */
  readonly isOver: (query: JobId) => Promise<boolean>;
  readonly spool: ResultSpool;
  readonly channel: Pick<RemoteShuffle, 'fetch'>;
  /** Where this server is reached by other nodes. */
  readonly address: () => string | null;
  readonly settings: EarlyReadSettings;
}

export interface CommittedOutput {
  readonly attempt: number;
  readonly result: FragmentResult;
}

export class FragmentOutputs implements ShuffleSource, FragmentResults {
  readonly #options: FragmentOutputsOptions;
  readonly #registered = new RegisteredOutputs();
  readonly #early: EarlyReads;

  constructor(options: FragmentOutputsOptions) {
    this.#options = options;
    this.#early = new EarlyReads(options.settings);
  }

  async register(output: MapOutput, by: Session | null): Promise<void> {
    const { held, stage } = await this.#holder({ ...output, task: output.mapTask }, by);
    this.#registered.register(output, held, partitionCount(stage));
  }

  /** Rows for the client. */
  readonly rows: ResultRegistry = {
    register: async (chunk: ResultChunk, by: Session | null) => {
      const { held, stage } = await this.#holder(chunk, by);
      if (stage.output.kind !== 'result') throw notTheLastStage(stage.id);
      return this.#options.spool.put(chunk, held);
    },
  };

  async #holder(
    key: FragmentKey,
    by: Session | null,
  ): Promise<{ readonly held: HeldFragment; readonly stage: Stage }> {
    if (by === null) throw noSession();
    // First of all: whoever runs nothing here costs no look into the store.
    this.#options.held(by, key);
    const plan = await this.#options.plan(key.query);
    const stage = plan?.stages[key.stage];
    if (stage === undefined) throw noSuchStage(key);
    return { held: this.#options.held(by, key), stage };
  }

  /** What is registered of a query, by `stage.task`. */
  of(query: JobId): ReadonlyMap<string, RegisteredOutput> {
    return this.#registered.of(query);
  }

  async complete(fragment: HeldFragment, reported: string | null): Promise<FragmentEnd> {
    const plan = await this.#options.plan(fragment.query);
    const stage = plan?.stages[fragment.stage];
    if (stage === undefined) return { fault: 'belongs to no stage of the plan' };
    if (reported !== null) {
      const fault = resultFault(reported, fragment, stage);
      return fault === null ? { result: reported } : { fault };
    }
    const { query, stage: no, task: mapTask, taskId } = fragment;
    const spooled = this.#options.spool.find(query, taskId, fragment);
    if (spooled !== null && spooled.rows !== null) return this.#spooled(fragment, spooled);
    const output = this.#registered.find({ ...fragment, query, stage: no, mapTask });
    return output === null
      ? 'unregistered'
      : registeredResult(fragment, output, partitionCount(stage));
  }

  async committed(fragment: HeldFragment, result: string): Promise<readonly EarlyRead[]> {
    const plan = await this.#options.plan(fragment.query);
    return plan === null ? [] : this.#early.committed(plan, fragment, result);
  }

  async #spooled(fragment: HeldFragment, spooled: SpooledResult): Promise<FragmentEnd> {
    const inline = await inlineOf(spooled);
    const result = spooledPlace(fragment, spooled, inline, this.#options.address());
    return { result: JSON.stringify(result) };
  }

  async *fetch(range: PartitionRange, signal: AbortSignal): AsyncIterable<PartitionChunk> {
    if (!isId(range.query)) throw notRegistered();
    const registered = this.#registered.find(range);
    if (registered !== null) {
      yield* this.#fromHolder(range, registered, signal);
      return;
    }
    const taskId = fragmentTaskId(range.stage, range.mapTask);
    const spooled = this.#options.spool.find(range.query, taskId, range);
    if (spooled !== null) {
      yield* fromSpool(range, spooled, signal);
      return;
    }
    const committed = await this.#options.committed(range.query, taskId);
    if (committed === null || !isMeant(range, committed)) throw notRegistered();
    yield* this.#fromCommitted(range, committed.result, signal);
  }

  #fromHolder(
    range: PartitionRange,
    { partitions, count, layout, fence, address }: RegisteredOutput,
    signal: AbortSignal,
  ): AsyncIterable<PartitionChunk> {
    if (range.partition >= count) throw notRegistered();
    const partition = partitions.get(range.partition);
    const { epoch = 0, committedOffset = 0, isFinalized = false } = partition ?? {};
    checkVersions(range, layout, epoch);
    const words = { watermarkOffset: committedOffset, isFinalized, epoch };
    const { start, end } = readableRange(range, committedOffset);
    if (start >= end) return once(emptyChunk(start, words));
    return this.#proxied({ ...range, fence }, address, signal);
  }

  #fromCommitted(
    range: PartitionRange,
    { at, parts, inline }: FragmentResult,
    signal: AbortSignal,
  ): AsyncIterable<PartitionChunk> {
    const part = parts[range.partition];
    if (part === undefined) throw notRegistered();
    checkVersions(range, inline === null ? at.layout : LAYOUT_VERSION, at.epoch);
    const payload = inline === null ? null : Buffer.from(inline.parquet, 'base64');
    const watermarkOffset = payload?.length ?? part.bytes;
    const words = { watermarkOffset, isFinalized: true, epoch: at.epoch };
    const { start, end } = readableRange(range, watermarkOffset);
    if (start >= end) return once(emptyChunk(start, words));
    if (payload !== null)
      return once({
        payload: payload.subarray(start, end),
        startOffset: start,
        endOffset: end,
        ...words,
      });
    return this.#proxied({ ...range, fence: at.fence }, at.address, signal);
  }

  /** What this server had itself was looked for before. */
  #proxied(
    range: PartitionRange,
    address: string | null,
    signal: AbortSignal,
  ): AsyncIterable<PartitionChunk> {
    if (address === null || address === this.#options.address()) throw notRegistered();
    return this.#options.channel.fetch(address, range, signal);
  }

  /** Forgets what nobody needs any more. */
  async tidy(): Promise<void> {
    const { spool, isOver } = this.#options;
    for (const query of new Set([...spool.queries(), ...this.#registered.queries()])) {
      if (!(await isOver(query))) continue;
      this.#registered.forget(query);
      await spool.drop(query);
    }
  }
}

const CHUNK_BYTES: number = 2 ** 20;

async function* fromSpool(
  range: PartitionRange,
  { path, bytes, rows, fence }: SpooledResult,
  signal: AbortSignal,
): AsyncGenerator<PartitionChunk> {
  if (range.partition !== 0) throw notRegistered();
  checkVersions(range, LAYOUT_VERSION, fence);
  const words = { watermarkOffset: bytes, isFinalized: rows !== null, epoch: fence };
  const { start, end } = readableRange(range, bytes);
  if (start >= end) {
    yield emptyChunk(start, words);
    return;
  }
  const file = await open(path, 'r');
  try {
    for (let at = start; at < end && !signal.aborted;) {
      const payload = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - at));
      const { bytesRead } = await file.read(payload, 0, payload.length, at);
      if (bytesRead === 0) throw notRegistered();
      const endOffset = at + bytesRead;
      yield { payload: payload.subarray(0, bytesRead), startOffset: at, endOffset, ...words };
      at = endOffset;
    }
  } finally {
    await file.close();
  }
}

type Words = Pick<PartitionChunk, 'watermarkOffset' | 'isFinalized' | 'epoch'>;

function emptyChunk(at: number, words: Words): PartitionChunk {
  return { payload: Buffer.alloc(0), startOffset: at, endOffset: at, ...words };
}

async function* once(chunk: PartitionChunk): AsyncGenerator<PartitionChunk> {
  yield chunk;
}

function isMeant(
  { fence, attempt }: PartitionRange,
  { result, attempt: ofTask }: CommittedOutput,
): boolean {
  return fence === 0 ? attempt === ofTask : fence === result.at.fence;
}
