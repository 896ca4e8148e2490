import type { AwaitedThings, Batch, TaskRow } from '../../../src/scheduler/core/index.ts';
import { refKey } from '../../../src/scheduler/store/index.ts';
import type { Evidence } from './evidence.ts';

/** Every signal is there once, as it was sent; it is taken at most once, and at once by whoever waits. */
export function checkSignals({ tables, journal, witness, findings }: Evidence): void {
  const ids = new Map([...tables.jobs.values()].map(({ no, id }) => [no, id as string]));
  const stored = new Set<string>();
  for (const { jobNo, id, name, body } of tables.signals) {
    const key = `${ids.get(jobNo)}/${id}`;
    const sent = witness.signals.get(key);
    if (stored.has(key)) findings.add('signals', `${key} is there twice`);
    stored.add(key);
    if (sent === undefined) findings.add('signals', `nobody has sent ${key}`);
    else if (sent.name !== name || `{"value":${sent.body}}` !== body) {
      findings.add(
        'signals',
        `${key} was sent as ${sent.name} ${sent.body}, it is ${name} ${body}`,
      );
    }
  }
  for (const [key, { isAcknowledged }] of witness.signals) {
    if (isAcknowledged && !stored.has(key)) {
      findings.add('signals', `${key} was acknowledged and is gone`);
    }
  }
  const ledger = new Ledger();
  for (const { batch } of journal.commits) {
    for (const fault of ledger.take(batch)) findings.add('signals', fault);
  }
}

/** The commits replayed: which signals nobody has taken, and who waits for which. */
class Ledger {
  /** By job: number and name. */
  readonly #pending: Map<number, Map<number, string>> = new Map();
  readonly #waiting: Map<number, Map<string, TaskRow>> = new Map();

  /** Returns what is wrong after this batch. */
  take(batch: Batch): string[] {
    const faults: string[] = [];
    const touched = new Set<number>();
    for (const { jobNo, no, name } of batch.signalInserts) {
      this.#of(this.#pending, jobNo).set(no, name);
      touched.add(jobNo);
    }
    for (const { jobNo, signalNo, taskNo } of batch.takenSignals) {
      if (this.#of(this.#pending, jobNo).delete(signalNo)) continue;
      faults.push(`${jobNo}/${taskNo} takes signal ${signalNo}, which is not there to be taken`);
    }
    for (const row of [...batch.taskInserts, ...batch.taskUpdates]) {
      const waiting = this.#of(this.#waiting, row.jobNo);
      if (row.waits === null) waiting.delete(refKey(row.jobNo, row.taskNo));
      else waiting.set(refKey(row.jobNo, row.taskNo), row);
      touched.add(row.jobNo);
    }
    for (const jobNo of touched) faults.push(...this.#missed(jobNo));
    return faults;
  }

  /** Nobody waits for what is there. */
  #missed(jobNo: number): string[] {
    const names = new Set(this.#of(this.#pending, jobNo).values());
    if (names.size === 0) return [];
    return [...this.#of(this.#waiting, jobNo)].flatMap(([key, { waits }]) =>
      (JSON.parse(waits ?? '{"signals":[]}') as AwaitedThings).signals
        .filter(({ name }) => names.has(name))
        .map(({ name }) => `${key} waits for ${name}, which is there`),
    );
  }

  #of<K, V>(all: Map<number, Map<K, V>>, jobNo: number): Map<K, V> {
    const known = all.get(jobNo) ?? new Map<K, V>();
    all.set(jobNo, known);
    return known;
  }
}
