/** Admits waiting jobs: the task that asks for admission is done when its job is admitted. */
import type { StepContext } from '../step-context.ts';
import { finish } from './lifecycle.ts';

/** As many as there is room for. While jobs are still being loaded, how much that is remains unknown. */
export function admit(context: StepContext): void {
  const { state } = context;
  if (!state.isComplete) return;
  for (;;) {
    const slot = state.admissions.next(state.settings);
    if (slot === null) return;
    finish(context, slot, 'succeeded');
  }
}
