import { isBatchKey } from '../../../src/scheduler/core/job/execution-key.ts';
import type { Evidence } from './evidence.ts';

/**
 * Where nothing but poison ends workers, nothing but poison is called dead for the loss of its nodes. A batch fails as
 * one: there it is enough that the one that was executed is poison.
 */
export function checkLosses({ tables, witness, findings }: Evidence): void {
  if (witness.poisons.size === 0) return;
  const tasks = [...tables.tasks].map(([key, row]) => {
    const { id, idempotencyKey = null } = tables.specs.get(key) ?? {};
    const name = `${tables.jobs.get(row.jobNo)?.id}/${id}`;
    return { ...row, name, batch: isBatchKey(idempotencyKey) ? idempotencyKey : null };
  });
  const isPoison = ({ name }: { readonly name: string }): boolean => witness.poisons.has(name);
  const poisoned = new Set(tasks.flatMap((task) => (isPoison(task) ? (task.batch ?? []) : [])));
  for (const task of tasks) {
    const { error, losses, batch, name } = task;
    const isDead = error?.code === 'dead' && error.message.startsWith('lost its node');
    const isMember = losses === 0 && batch !== null && poisoned.has(batch);
    if (!isDead || isPoison(task) || isMember) continue;
    findings.add('losses', `task ${name} is dead after ${losses} losses: ${error.message}`);
  }
}
