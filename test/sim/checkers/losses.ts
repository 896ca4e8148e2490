import type { Evidence } from './evidence.ts';

/** Where nothing but poison ends workers, nothing but poison is called dead for the loss of its nodes. */
export function checkLosses({ tables, witness, findings }: Evidence): void {
  if (witness.poisons.size === 0) return;
  for (const [key, { jobNo, error, losses }] of tables.tasks) {
    const isDead = error?.code === 'dead' && error.message.startsWith('lost its node');
    const name = `${tables.jobs.get(jobNo)?.id}/${tables.specs.get(key)?.id}`;
    if (!isDead || witness.poisons.has(name)) continue;
    findings.add('losses', `task ${name} is dead after ${losses} losses: ${error.message}`);
  }
}
