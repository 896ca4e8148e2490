/** What distributing an operator needs besides the operator and its inputs. */
import type { Draft } from './draft.ts';
import type { DistributeSettings } from './settings.ts';

export interface DistributeContext {
  readonly draft: Draft;
  readonly settings: DistributeSettings;
}
