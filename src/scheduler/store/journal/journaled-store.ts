/**
 * A store whose commit is one record in a journal, with tables that follow behind (decision 34). Nothing of that shows
 * in the port: what a leader reads often is answered from the tables with the pending commits laid over it, everything
 * else after a fold.
 */
import { type Clock, withDeadline } from '../../../kit/index.ts';
import { type Batch, type Instant, isMillraceError, type TaskRef } from '../../core/index.ts';
import { checkUnique } from '../batch-checks.ts';
import { deposed } from '../refusals.ts';
import { checkBatch } from '../row-checks.ts';
import { type Campaign, type Candidacy, refKey, type Store, type Term } from '../store.ts';
import { catchUp, Folding, layersOf } from './folding.ts';
import * as overlay from './overlay.ts';
import { packBatch } from './pack.ts';
import type { JournalTables } from './port.ts';
import { unproven } from './proof.ts';

export interface JournalOptions {
  readonly clock: Clock;
  /** How long a commit may wait before the tables follow. */
  readonly foldAfterMs: number;
}

/** How long a leader that steps down may take to leave tidy tables; the next one can do it as well. */
const LEAVING_MS = 3_000;

export function journaled(tables: JournalTables, options: JournalOptions): Store {
  const journal = new Journal(tables, options);
  const settled =
    <A extends [shard: number, ...rest: never[]], T>(read: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      await journal.settle(args[0]);
      return read.apply(tables, args);
    };
  return {
    kind: tables.kind,
    clustered: tables.clustered,
    taskLog: {
      append: (shard, rows) => tables.taskLog.append(shard, rows),
      read: (shard, filter) => tables.taskLog.read(shard, filter),
      // A job that is only in the journal is not gone.
      prune: settled((shard, quietMs) => tables.taskLog.prune(shard, quietMs)),
    },
    campaign: (candidacy) => journal.campaign(candidacy),
    renew: (term, ttlMs, commitNo) =>
      journal.whileLeading(term, () => tables.renew(term, ttlMs, commitNo)),
    resign: (term) => journal.resign(term),
    leader: (shard) => tables.leader(shard),
    termEnd: (shard, term) => tables.termEnd(shard, term),
    ...(tables.whenVacant === undefined ? {} : { whenVacant: tables.whenVacant.bind(tables) }),
    commit: (term, ttlMs, batch) => journal.commit(term, ttlMs, batch),
    prune: (term, retention) => journal.alone(term, () => tables.prune(term, retention)),
    changeDeclarations: (term, kind, change) =>
      journal.whileLeading(term, () => tables.changeDeclarations(term, kind, change)),
    ...overlaid(tables, journal),
    loadCluster: settled(tables.loadCluster),
    loadBusyJobs: settled(tables.loadBusyJobs),
    loadJobs: settled(tables.loadJobs),
    loadJob: settled(tables.loadJob),
    task: settled(tables.task),
    jobs: settled(tables.jobs),
    nodes: settled(tables.nodes),
    schedules: settled(tables.schedules),
    declarations: (shard, kind) => tables.declarations(shard, kind),
    deadTasks: settled(tables.deadTasks),
    inbox: settled(tables.inbox),
    ...(tables.onInbox === undefined ? {} : { onInbox: tables.onInbox.bind(tables) }),
    dump: () => journal.dump(),
    fill: (rows) => journal.fill(rows),
    close: () => journal.close(),
  };
}

type Overlaid = Pick<
  Store,
  | ('inputs' | 'results' | 'steps' | 'keys' | 'jobIdForKey' | 'taskRows')
  | ('jobRow' | 'job' | 'events' | 'lastSeq')
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
      const read = () => tables.steps(shard, ref, run);
      const steps = await overlay.stepsOf(await journal.layers(shard), ref, run, read);
      return 'ask' in steps ? journal.afterFold(shard, read) : steps;
    },
    jobRow: async (shard, id) =>
      overlay.jobRow(await journal.layers(shard), id, () => tables.jobRow(shard, id)),
    job: async (shard, id) => {
      const read = () => tables.job(shard, id);
      const view = await overlay.jobView(await journal.layers(shard), id, read);
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
}

class Journal {
  readonly #tables: JournalTables;
  readonly #options: JournalOptions;
  readonly #led: Map<number, Led> = new Map();
  /** What was last read from the journal of a shard that is not led from here. */
  #read: { readonly place: string; readonly layers: overlay.Layers } = { place: '', layers: [] };
  #turn: Promise<unknown> = Promise.resolve();

  constructor(tables: JournalTables, options: JournalOptions) {
    this.#tables = tables;
    this.#options = options;
  }

  async campaign(candidacy: Candidacy): Promise<Campaign> {
    const campaign = await this.#tables.campaign(candidacy);
    if (campaign.won) {
      await this.#leave(candidacy.shard);
      void this.#lead(campaign.term);
    }
    return campaign;
  }

  async commit(term: Term, ttlMs: number, batch: Batch): Promise<Instant> {
    return this.#inTurn(async () => {
      const folding = await this.#foldingOf(term);
      await folding.room();
      checkBatch(batch, folding.head);
      checkUnique(batch);
      const left = unproven(batch, folding.layers);
      if (left !== null) await this.#tables.check(term.shard, left);
      const { commitNo, lastSeq, nextJobNo } = batch;
      const body = packBatch(batch);
      const record = { commitNo, lastSeq, nextJobNo, body };
      const at = await this.whileLeading(term, () => this.#tables.append(term, ttlMs, record));
      folding.add(term.id, batch, body.length);
      return at;
    });
  }

  /** With the tables up to date and no commit meanwhile. */
  alone<T>(term: Term, act: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      await (await this.#foldingOf(term)).flush();
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
    const led = this.#led.get(shard);
    if (led !== undefined) await (await led.folding).flush();
    else await catchUp(this.#tables, shard);
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
    const { head, foldedNo } = await this.#tables.journalState(shard);
    if (foldedNo === head.commitNo) return [];
    const place = `${shard}/${foldedNo}/${head.commitNo}`;
    if (this.#read.place !== place) {
      const records = await this.#tables.journal(shard, head.commitNo - foldedNo);
      this.#read = { place, layers: layersOf(records).toReversed() };
    }
    return this.#read.layers;
  }

  async head(shard: number): Promise<{ readonly lastSeq: number }> {
    const led = this.#led.get(shard);
    if (led !== undefined) return (await led.folding).head;
    return (await this.#tables.journalState(shard)).head;
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
    const found = new Map<string, T>();
    const rest: Q[] = [];
    let needsFold = false;
    for (const one of all) {
      const known = ask(layers, one);
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

  async #foldingOf(term: Term): Promise<Folding> {
    const led = this.#led.get(term.shard);
    if (led === undefined) return this.#lead(term);
    if (led.term.id !== term.id) throw deposed(term);
    return led.folding;
  }

  #lead(term: Term): Promise<Folding> {
    const folding = this.#takeOver(term.shard);
    // Whoever needs it waits for it, and hears then why it failed.
    folding.catch(() => {});
    this.#led.set(term.shard, { term, folding });
    return folding;
  }

  /** From what the last leader has left. */
  async #takeOver(shard: number): Promise<Folding> {
    const { clock, foldAfterMs: afterMs } = this.#options;
    const head = await catchUp(this.#tables, shard);
    return new Folding({ tables: this.#tables, clock, shard, afterMs, head });
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
    await led?.folding.then((folding) => folding.end()).catch(() => {});
  }

  /** Commits one after the other, and nothing between the flush and the act that needs it. */
  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const answer = this.#turn.then(act);
    this.#turn = answer.catch(() => {});
    return answer;
  }
}
