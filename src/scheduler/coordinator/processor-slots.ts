/** How many slots of a cluster have a processor of their own. */
import { machineOf } from '../../kit/index.ts';
import type { Capabilities } from '../core/index.ts';

interface OfferedSlots {
  readonly id: string;
  readonly slots: number;
  readonly capabilities: Capabilities;
}

/** Workers on one machine share its processors. A worker that does not say how many it has is taken at its word. */
export function slotsWithProcessors(workers: readonly OfferedSlots[]): number {
  const machines = new Map<string, { slots: number; cores: number }>();
  for (const { id, slots, capabilities } of workers) {
    const { cpu_cores: cores = Infinity, process } = capabilities;
    const name = typeof process === 'string' ? `machine ${machineOf(process)}` : `node ${id}`;
    const machine = machines.get(name) ?? { slots: 0, cores: 0 };
    machine.slots += slots;
    machine.cores = Math.max(machine.cores, typeof cores === 'number' ? cores : Infinity);
    machines.set(name, machine);
  }
  return [...machines.values()].reduce((sum, each) => sum + Math.min(each.slots, each.cores), 0);
}
