import { EVENT_WAIT, awaitedEvent } from '../../../src/scheduler/core/index.ts';
import type { AwaitedThings, Batch, TaskRow } from '../../../src/scheduler/core/index.ts';
import { SUBMITTED_STEP } from '../../../src/scheduler/contract/index.ts';
import { refKey } from '../../../src/scheduler/store/index.ts';
import { dataOf } from '../events.ts';
import type { Evidence } from './evidence.ts';

/** Every signal is there once, as it was sent; it is taken at most once, and at once by whoever waits. */
export function checkSignals({ tables, journal, witness, findings }: Evidence): void {
  const ids = new Map([...tables.jobs.values()].map(({ no, id }) => [no, id as string]));
  const stored = new Set<string>();
  const sentByTasks = eventsOfTasks(journal, findings);
  for (const { jobNo, id, name, body } of tables.signals) {
    const key = `${ids.get(jobNo)}/${id}`;
    const sent = witness.signals.get(key) ?? eventAs(witness, id);
    if (stored.has(key)) findings.add('signals', `${key} is there twice`);
    stored.add(key);
    if (sentByTasks.has(id.split('/')[2] ?? '')) continue;
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
  for (const { id, name, woken } of witness.events.values()) {
    for (const task of woken) {
      const job = task.slice(0, task.lastIndexOf('/'));
      if ([...stored].some((key) => key.startsWith(`${job}/${EVENT_WAIT}${name}/${id}/`))) continue;
      findings.add('signals', `${id} was said to have woken ${task}, and is not there`);
    }
  }
  const ledger = new Ledger();
  for (const { batch } of journal.commits) {
    for (const fault of ledger.take(batch)) findings.add('signals', fault);
  }
}

/** What an event of a task brings about, and the step that says so, are in one commit. */
function eventsOfTasks(
  { commits }: Evidence['journal'],
  findings: Evidence['findings'],
): ReadonlySet<string> {
  const all = new Set<string>();
  for (const { batch } of commits) {
    const said = new Set<string>();
    for (const { name, body } of batch.steps) {
      if (!name.startsWith(`${SUBMITTED_STEP}$send/`)) continue;
      said.add((JSON.parse(body) as { readonly id: string }).id);
    }
    for (const id of said) all.add(id);
    for (const { id } of batch.signalInserts) {
      const sent = id.split('/')[2] ?? '';
      if (!all.has(sent) || said.has(sent)) continue;
      findings.add('signals', `${id} came without the step of the task that has sent it`);
    }
  }
  return all;
}

/** The event in a signal whose id says so. */
function eventAs(
  { events }: Evidence['witness'],
  signalId: string,
): { readonly name: string; readonly body: string } | undefined {
  const [kind, , id = ''] = signalId.split('/');
  const event = kind === 'event' ? events.get(id) : undefined;
  if (event === undefined) return undefined;
  return { name: `${EVENT_WAIT}${event.name}`, body: JSON.stringify(dataOf(event)) };
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
    for (const { jobNo, no, name } of batch.signalInserts) {
      if (awaitedEvent(name) === null || !this.#of(this.#pending, jobNo).has(no)) continue;
      faults.push(`${jobNo} was given the event ${name}, and nobody has taken it`);
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
