/** How many slots of a cluster have a processor of their own, and how many processors one task can have. */
import { machineOf } from '../../kit/index.ts';
import type { Capabilities, SchedulerState } from '../core/index.ts';

type Nodes = Pick<SchedulerState, 'nodes'>;

interface OfferedSlots {
  readonly id: string;
  readonly slots: number;
  readonly capabilities: Capabilities;
}

/**
 * How many tasks of this executor the living nodes can run at once, each on a processor of its own. Workers on one
 * machine share its processors.
 */
export function slotsFor(state: Nodes, executor: string): number {
  return slotsWithProcessors(nodesFor(state, executor).map(({ offer }) => offer));
}

/**
 * The most processors that a single task of this executor can have now, as far as its workers say how many they give to
 * queries; 0 while one of them has anything to do.
 */
export function processorsOfOne(state: Nodes, executor: string): number {
  const able = nodesFor(state, executor);
  if (able.some(({ leases }) => leases.size > 0)) return 0;
  const given = able.map(({ offer }) => offer.capabilities['query_threads']);
  return Math.max(0, ...given.filter((threads) => typeof threads === 'number'));
}

function nodesFor({ nodes }: Nodes, executor: string): readonly NodeOf[] {
  return [...nodes.values()].filter((node) => node.takesWork && node.executors.has(executor));
}

type NodeOf = SchedulerState['nodes'] extends ReadonlyMap<unknown, infer Each> ? Each : never;

/** A worker that does not say how many processors it has is taken at its word. */
function slotsWithProcessors(workers: readonly OfferedSlots[]): number {
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
