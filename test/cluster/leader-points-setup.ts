import { expect } from 'vitest';
import { LossyDatabase } from '../rig/cluster/lost-answer.ts';
import { OUTLASTING, stage } from './stage.ts';
import type { Stage } from './stage.ts';

export interface Trapped {
  readonly play: Stage;
  /** What the next commit of the leader comes to; the leader does not hear of it, and is killed. */
  readonly killAfterCommit: () => Promise<void>;
}

export async function trapped(): Promise<Trapped> {
  const lossy: LossyDatabase[] = [];
  const way = async (url: string): Promise<string> => {
    lossy.push(await LossyDatabase.start(url));
    return lossy[0]?.url ?? url;
  };
  const play = await stage({ leaders: 2, workers: 1, settings: OUTLASTING, way });
  const killAfterCommit = async (): Promise<void> => {
    expect(await lossy[0]?.loseAnswer()).toBe('done');
    await play.cluster.node('n-1').process.crash();
  };
  return { play, killAfterCommit };
}
