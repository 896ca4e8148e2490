import type { Evidence } from './evidence.ts';

/** Where nothing but poison ends workers, nothing but poison is called dead for the loss of its nodes. */
export function checkLosses({ tables, witness, findings }: Evidence): void {
  if (witness.poisons.size === 0) return;
  for (const [key, { error, losses }] of tables.tasks) {
    const isDead = error?.code === 'dead' && error.message.startsWith('lost its node');
    if (!isDead || witness.poisons.has(key)) continue;
    findings.add('losses', `task ${key} is dead after ${losses} losses: ${error.message}`);
  }
}
