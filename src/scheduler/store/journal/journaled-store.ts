/**
 * A store whose commit is one record in a journal, with tables that follow behind (decision 34). Nothing of that shows
 * in the port: what a leader reads often is answered from the tables with the pending commits laid over it, everything
 * else after a fold.
 */
import { withDeadline } from '../../../kit/index.ts';
import {
  type Batch,
  type Instant,
  isMillraceError,
  type JobId,
  type TaskRef,
} from '../../core/index.ts';
import { checkUnique } from '../batch-checks.ts';
import { deposed, rewound } from '../refusals.ts';
import { checkBatch } from '../row-checks.ts';
import { type Campaign, type Candidacy, refKey, type Store, type Term } from '../store.ts';
import { FollowedJournal } from './followed-journal.ts';
import { catchUp } from './catch-up.ts';
import { EndedTerms } from './ended-terms.ts';
import { Folding } from './folding.ts';
import { InFlight } from './in-flight.ts';
import type { LiveTasks } from './live-tasks.ts';
import * as overlay from './overlay.ts';
import { packBatch } from './pack.ts';
import type { JournalOptions } from './journal-options.ts';
import { type JournalTables, optionalParts } from './port.ts';
import { unproven } from './proof.ts';

/** For a leader that steps down to leave tidy tables; the next one can do it as well. */
const LEAVING_MS = 3_000;

export function journaled(tables: JournalTables, options: JournalOptions): Store {
  const journal = new Journal(tables, options);
  const settled =
    <A extends [shard: number, ...rest: never[]], T>(read: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      await journal.settle(args[0]);
      return read.apply(tables, args);
    };
  /** What a leader goes on from. */
  const loaded =
    <A extends [shard: number, ...rest: never[]], T>(read: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const value = await settled(read)(...args);
      await journal.checkTables(args[0]);
      return value;
    };
  return {
    kind: tables.kind,
    clustered: tables.clustered,
    taskLog: {
      append: (shard, rows) => tables.taskLog.append(shard, rows),
      read: (shard, filter) => tables.taskLog.read(shard, filter),
      // A job that is only in the journal is not gone.
      prune: settled((shard, quietMs) => tables.taskLog.prune(shard, quietMs)),
      remove: (shard, jobId) => tables.taskLog.remove(shard, jobId),
    },
    campaign: (candidacy) => journal.campaign(candidacy),
    renew: (term, ttlMs, commitNo) => journal.renew(term, ttlMs, commitNo),
    resign: (term) => journal.resign(term),
    leader: (shard) => tables.leader(shard),
    termEnd: (shard, term) => tables.termEnd(shard, term),
    ...optionalParts(tables),
    commit: (term, ttlMs, batch) => journal.commit(term, ttlMs, batch),
    prune: (term, retention) =>
      journal.whileLeading(term, () =>
        tables.prune(term, retention, (act) => journal.alone(term, act)),
      ),
    changeDeclarations: (term, kind, change) =>
      journal.whileLeading(term, () => tables.changeDeclarations(term, kind, change)),
    unfolded: (shard) => journal.unfolded(shard),
    ...overlaid(tables, journal),
    loadCluster: loaded(tables.loadCluster),
    loadBusyJobs: loaded(tables.loadBusyJobs),
    loadJobs: loaded(tables.loadJobs),
    loadJob: loaded(tables.loadJob),
    task: settled(tables.task),
    jobs: settled(tables.jobs),
    countJobs: settled(tables.countJobs),
    nodes: async (shard, holds) =>
      holds === undefined
        ? settled(tables.nodes)(shard)
        : overlay.nodeViews(await journal.layers(shard), await tables.nodes(shard, holds), holds),
    schedules: settled(tables.schedules),
    declarations: (shard, kind) => tables.declarations(shard, kind),
    deadTasks: settled(tables.deadTasks),
    inbox: settled(tables.inbox),
    dump: () => journal.dump(),
    fill: (rows) => journal.fill(rows),
    close: () => journal.close(),
  };
}

type Overlaid = Pick<
  Store,
  | ('inputs' | 'results' | 'steps' | 'keys' | 'jobIdForKey' | 'taskRows')
  | ('jobRow' | 'takenIds' | 'job' | 'events' | 'lastSeq')
>;

/** What a leader and its clients ask all the time. */
function overlaid(tables: JournalTables, journal: Journal): Overlaid {
  const keyOf = ({ jobNo, taskNo }: TaskRef): string => refKey(jobNo, taskNo);
  return {
    inputs: (shard, refs) =>
      journal.many(shard, refs, overlay.input, keyOf, (rest) => tables.inputs(shard, rest)),
    results: (shard, refs) =>
      journal.many(shard, refs, overlay.result, keyOf, (rest) => tables.results(shard, rest)),
    taskRows: (shard, refs) =>
      journal.many(shard, refs, overlay.taskRow, keyOf, (rest) => tables.taskRows(shard, rest)),
    keys: async (shard, scopes) => {
      const read = async (rest: readonly string[]) =>
        new Map((await tables.keys(shard, rest)).map((row) => [row.scope, row]));
      const names = [...new Set(scopes)];
      const rows = await journal.many(shard, names, overlay.keyRow, (scope) => scope, read);
      return [...rows.values()];
    },
    jobIdForKey: async (shard, key) => {
      const known = overlay.jobIdForKey(await journal.layers(shard), key);
      return 'value' in known ? known.value : tables.jobIdForKey(shard, key);
    },
    steps: async (shard, ref, run) => {
      // Thousands of tasks are given out again when their worker has ended.
      if ((await journal.live(shard))?.isWithoutSteps(ref) === true) return [];
      const read = () => tables.steps(shard, ref, run);
      const steps = await overlay.stepsOf(await journal.layers(shard), ref, run, read);
      return 'ask' in steps ? journal.afterFold(shard, read) : steps;
    },
    jobRow: async (shard, id) => {
      const layers = await journal.layersFor(shard, id);
      return overlay.jobRow(layers, id, () => tables.jobRow(shard, id));
    },
    takenIds: async (shard, ids) => {
      const layers = await journal.layers(shard);
      const pending = new Set(ids.filter((id) => overlay.isTaken(layers, id)));
      const rest = pending.size === 0 ? ids : ids.filter((id) => !pending.has(id));
      return new Set([...pending, ...(await tables.takenIds(shard, rest))]);
    },
    job: async (shard, id) => {
      const read = () => tables.job(shard, id);
      const view = await overlay.jobView(await journal.layersFor(shard, id), id, read);
      return view !== null && 'ask' in view ? journal.afterFold(shard, read) : view;
    },
    events: async (shard, after, limit, jobId) =>
      overlay.events(await journal.layers(shard), after, limit, jobId) ??
      journal.afterFold(shard, () => tables.events(shard, after, limit, jobId)),
    lastSeq: async (shard) => {
      const head = await tables.lastSeq(shard);
      return { ...head, seq: (await journal.head(shard)).lastSeq };
    },
  };
}

interface Led {
  readonly term: Term;
  readonly folding: Promise<Folding>;
  readonly inFlight: InFlight;
}

class Journal {
  readonly #tables: JournalTables;
  readonly #options: JournalOptions;
  readonly #led: Map<number, Led> = new Map();
  /** Of shards that are not led from here. */
  readonly #followed: Map<number, FollowedJournal> = new Map();
  readonly #ended: EndedTerms = new EndedTerms();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(tables: JournalTables, options: JournalOptions) {
    this.#tables = tables;
    this.#options = options;
  }

  async campaign(candidacy: Candidacy): Promise<Campaign> {
    const campaign = await this.#tables.campaign(candidacy);
    if (campaign.won) {
      await this.#leave(candidacy.shard);
      this.#lead(campaign.term);
    }
    return campaign;
  }

  async commit(term: Term, ttlMs: number, batch: Batch): Promise<Instant> {
    const { answer } = await this.#inTurn(() => this.#send(term, ttlMs, batch));
    return answer;
  }

  /** Settles when the next commit may follow. */
  async #send(
    term: Term,
    ttlMs: number,
    batch: Batch,
  ): Promise<{ readonly answer: Promise<Instant> }> {
    const { inFlight, folding: takenOver } = this.#ledBy(term);
    const folding = await takenOver;
    await inFlight.below(this.#tables.commitsAtOnce ?? 1);
    await folding.room();
    checkBatch(batch, inFlight.head ?? folding.head);
    checkUnique(batch);
    const left = unproven(batch, [...inFlight.layers, ...folding.layers], folding.live);
    const { commitNo, lastSeq, nextJobNo, events } = batch;
    const packed = packBatch(batch, this.#options.chunkForm);
    const counters = { commitNo, lastSeq, nextJobNo, eventCount: events.length };
    const record = { ...counters, foldedNo: folding.foldedNo, body: packed.body };
    const appended = this.#tables.append(term, ttlMs, record, left);
    const answer = this.whileLeading(term, () =>
      inFlight.add(batch, appended, () => folding.add(term.id, batch, packed)),
    );
    return { answer };
  }

  /** A leader that commits nothing notices in this way that its tables have gone back. */
  renew(term: Term, ttlMs: number, commitNo: number): Promise<Instant> {
    return this.whileLeading(term, async () => {
      const now = await this.#tables.renew(term, ttlMs, commitNo);
      await this.#checkTables(term);
      return now;
    });
  }

  /** Throws `rewound` when the tables lack what was folded in the term that leads here: another store has taken their
   * place, and what was read from it is older than what this leader has acknowledged. */
  async checkTables(shard: number): Promise<void> {
    const term = this.#led.get(shard)?.term;
    if (term !== undefined) await this.whileLeading(term, () => this.#checkTables(term));
  }

  async #checkTables(term: Term): Promise<void> {
    const expected = (await this.#led.get(term.shard)?.folding)?.foldedNo ?? 0;
    const { foldedNo } = await this.#tables.journalState(term.shard);
    if (foldedNo < expected) throw rewound(term, expected, foldedNo);
  }

  /** With the tables up to date and no commit meanwhile. */
  alone<T>(term: Term, act: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const { inFlight, folding: takenOver } = this.#ledBy(term);
      await inFlight.below(1);
      const folding = await takenOver;
      if (!(await folding.flush())) throw deposed(term);
      // What is removed from the tables must not be read from memory.
      folding.folded.clear();
      return this.whileLeading(term, act);
    });
  }

  async whileLeading<T>(term: Term, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      const isOver = isMillraceError(error) && ['deposed', 'rewound'].includes(error.code);
      if (isOver && this.#led.get(term.shard)?.term.id === term.id) await this.#leave(term.shard);
      throw error;
    }
  }

  async resign(term: Term): Promise<void> {
    const led = this.#led.get(term.shard);
    if (led !== undefined && led.term.id === term.id) await this.#tidy(term.shard, led);
    await this.#tables.resign(term);
  }

  async close(): Promise<void> {
    for (const [shard, led] of this.#led) await this.#tidy(shard, led);
    // A late call hears that the store is closed, not that somebody else leads.
    this.#ended.clear();
    await this.#tables.close();
  }

  async *dump(): ReturnType<Store['dump']> {
    await this.#settleAll();
    yield* this.#tables.dump();
  }

  async fill(rows: Parameters<Store['fill']>[0]): Promise<number> {
    await this.#settleAll();
    return this.#tables.fill(rows);
  }

  async #settleAll(): Promise<void> {
    for (const shard of await this.#tables.shardsBehind()) await this.settle(shard);
  }

  /** Settles when the tables show all that was committed before the call. */
  async settle(shard: number): Promise<void> {
    const folding = await this.#led.get(shard)?.folding;
    if ((await folding?.flush()) !== true) await catchUp(this.#tables, shard);
  }

  async afterFold<T>(shard: number, read: () => Promise<T>): Promise<T> {
    await this.settle(shard);
    return read();
  }

  /** Where nobody leads through this store, they are read from the journal: a store that cannot write, because its disk
   * is full, still shows all that it has. */
  async layers(shard: number): Promise<overlay.Layers> {
    const led = this.#led.get(shard);
    if (led !== undefined) return (await led.folding).layers;
    let followed = this.#followed.get(shard);
    if (followed === undefined) {
      this.#followed.set(shard, (followed = new FollowedJournal(this.#tables, shard)));
    }
    return followed.layers();
  }

  /** What was folded a moment ago as well, if that and what came since is all that there is of the job. */
  async layersFor(shard: number, id: JobId): Promise<overlay.Layers> {
    const readable = (await this.#led.get(shard)?.folding)?.readable ?? [];
    return overlay.isWhole(readable, id) ? readable : this.layers(shard);
  }

  /** Undefined where nobody leads through this store. */
  async live(shard: number): Promise<LiveTasks | undefined> {
    return (await this.#led.get(shard)?.folding)?.live;
  }

  async unfolded(shard: number): Promise<number | null> {
    const folding = await this.#led.get(shard)?.folding;
    return folding === undefined ? null : folding.head.commitNo - folding.settledNo;
  }

  async head(shard: number): Promise<{ readonly lastSeq: number }> {
    const led = await this.#led.get(shard)?.folding;
    return (led ?? (await this.#tables.journalState(shard))).head;
  }

  /** What is not known here is read together, after a fold if one of them asks for it. */
  async many<Q, T>(
    shard: number,
    all: readonly Q[],
    ask: (layers: overlay.Layers, one: Q) => overlay.Known<T | null>,
    keyOf: (one: Q) => string,
    read: (rest: readonly Q[]) => Promise<ReadonlyMap<string, T>>,
  ): Promise<ReadonlyMap<string, T>> {
    const layers = await this.layers(shard);
    const readable = (await this.#led.get(shard)?.folding)?.readable ?? layers;
    const found = new Map<string, T>();
    const rest: Q[] = [];
    let needsFold = false;
    for (const one of all) {
      let known = ask(readable, one);
      if (!('value' in known)) known = ask(layers, one);
      if (!('value' in known)) {
        rest.push(one);
        needsFold ||= known.ask === 'tables after a fold';
      } else if (known.value !== null) found.set(keyOf(one), known.value);
    }
    if (rest.length === 0) return found;
    if (needsFold) await this.settle(shard);
    for (const [key, value] of await read(rest)) found.set(key, value);
    return found;
  }

  #ledBy(term: Term): Led {
    const led = this.#led.get(term.shard);
    if (this.#ended.has(term)) throw deposed(term);
    if (led === undefined) return this.#lead(term);
    if (led.term.id !== term.id) throw deposed(term);
    return led;
  }

  #lead(term: Term): Led {
    const folding = this.#takeOver(term.shard);
    // Whoever needs it waits for it, and hears then why it failed.
    folding.catch(() => {});
    const led = { term, folding, inFlight: new InFlight(term.id) };
    this.#led.set(term.shard, led);
    return led;
  }

  /** From what the last leader has left. */
  async #takeOver(shard: number): Promise<Folding> {
    const { foldAfterMs: afterMs, foldWhenQuietMs: quietMs = afterMs, ...options } = this.#options;
    const head = await catchUp(this.#tables, shard);
    return new Folding({ ...options, tables: this.#tables, shard, head, afterMs, quietMs });
  }

  /** Best effort: what stays behind is in the journal. */
  async #tidy(shard: number, led: Led): Promise<void> {
    const flushed = led.folding.then((folding) => folding.flush());
    const tooLong = (): Error => new Error('the tables did not follow in time');
    await withDeadline(this.#options.clock, LEAVING_MS, flushed, tooLong).catch(() => {});
    await this.#leave(shard);
  }

  async #leave(shard: number): Promise<void> {
    const led = this.#led.get(shard);
    this.#led.delete(shard);
    if (led !== undefined) this.#ended.add(led.term);
    await led?.folding.then((folding) => folding.end()).catch(() => {});
  }

  /** Commits are sent one after the other, and nothing comes between the flush and the act that needs it. */
  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const answer = this.#turn.then(act);
    this.#turn = answer.catch(() => {});
    return answer;
  }
}
