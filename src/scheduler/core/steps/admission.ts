/** Letting jobs in: the task that asks for it is done when its job is in. */
import type { Turn } from '../turn.ts';
import { finish } from './lifecycle.ts';

/** As many as there is room for. While jobs are still being read back, nobody knows how much that is. */
export function admit(turn: Turn): void {
  const { state } = turn;
  if (!state.isComplete) return;
  for (;;) {
    const slot = state.admissions.next(state.settings);
    if (slot === null) return;
    finish(turn, slot, 'succeeded');
  }
}
