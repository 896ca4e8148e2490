import type { Evidence } from './evidence.ts';

/** A step is written once: what stands there is what came first. */
export function checkSteps({ tables, journal, findings }: Evidence): void {
  const first = new Map<string, string>();
  const bodies = new Map<string, string>();
  const keep = (name: string, body: string): void => {
    if (!first.has(name)) first.set(name, body);
  };
  for (const { batch } of journal.commits) {
    for (const { jobNo, no, body } of batch.signalInserts) bodies.set(`${jobNo}/${no}`, body);
    for (const { jobNo, taskNo, run, name, body } of batch.steps) {
      keep(`${jobNo}/${taskNo}/${run}/${name}`, body);
    }
    for (const { jobNo, signalNo, taskNo, run, step } of batch.takenSignals) {
      const name = `${jobNo}/${taskNo}/${run}/${step}`;
      // A wait that has its step is over: its next signal would be lost.
      if (first.has(name)) findings.add('steps', `${name} takes a signal and is there already`);
      keep(name, bodies.get(`${jobNo}/${signalNo}`) ?? '');
    }
  }
  for (const { jobNo, taskNo, run, name, body } of tables.steps) {
    const key = `${jobNo}/${taskNo}/${run}/${name}`;
    if (first.get(key) !== body) {
      findings.add('steps', `${key} is ${body}, written was ${first.get(key)}`);
    }
  }
  if (tables.steps.length !== first.size) {
    findings.add('steps', `${first.size} steps were written, ${tables.steps.length} are there`);
  }
}
