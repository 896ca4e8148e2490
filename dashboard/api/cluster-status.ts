/** The caller's identity and the state of the cluster, polled every few seconds. */
import { batch, computed, effect, signal, untracked } from '@preact/signals';
import type { AsOf } from '../../src/scheduler/contract/index.ts';
import { call, signInNeeded, token } from './call.ts';
import { connection } from './live.ts';
import { type LeaderPlace, type Problem, asProblem } from './problem.ts';

type Role = 'admin' | 'submit' | 'read' | 'worker';

export interface Me {
  readonly name: string;
  readonly role: Role;
  readonly roles: readonly Role[];
  readonly node: {
    readonly id: string;
    readonly version: string;
    readonly leads: boolean;
    readonly storeAnswers: boolean;
    readonly hasQueries: boolean;
    /** With `{trace}` for the id. */
    readonly traceUrl: string | null;
  };
}

export const me = signal<Me | null>(null);
export const leader = signal<LeaderPlace | null>(null);
export const asOf = signal<AsOf | null>(null);
/** Why the cluster cannot do its work, if it cannot. */
export const trouble = signal<Problem | null>(null);

export const may = (role: Role): boolean => me.value?.roles.includes(role) ?? false;
/** The node that answers takes no changes itself. */
export const isElsewhere = computed(() => me.value !== null && !me.value.node.leads);

const EVERY_MS = 5_000;

export function watchClusterStatus(): void {
  let timer = 0;
  const look = async (): Promise<void> => {
    window.clearTimeout(timer);
    if (signInNeeded.peek() === null) await ask();
    timer = window.setTimeout(() => void look(), EVERY_MS);
  };
  effect(() => {
    // Another token, another connection: each may change the answer.
    void [token.value, connection.value.state, signInNeeded.value];
    untracked(() => void look());
  });
}

async function ask(): Promise<void> {
  try {
    const [who, leads] = await Promise.allSettled([
      call<Me>('me'),
      call<LeaderPlace & { readonly asOf: AsOf }>('leader'),
    ]);
    batch(() => {
      if (who.status === 'fulfilled') me.value = who.value;
      if (leads.status === 'fulfilled') {
        [leader.value, asOf.value, trouble.value] = [leads.value, leads.value.asOf, null];
      } else {
        [leader.value, trouble.value] = [null, asProblem(leads.reason)];
      }
    });
  } catch (error) {
    trouble.value = asProblem(error);
  }
}
