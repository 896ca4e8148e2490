/** A candidate of its own process: says when it leads, and is made to be killed. */
import { writeSync } from 'node:fs';
import { ownProcess } from '../../../src/kit/index.ts';
import { openPostgresStore } from '../../../src/scheduler/store/index.ts';
import { ScriptedWorker } from '../../rig/lead.ts';
import { candidateOn } from './candidate.ts';

const [, , url = '', nodeId = 'doomed'] = process.argv;
const store = await openPostgresStore({ url });
candidateOn(store, nodeId, {
  onLead: (leader) => {
    // As far as the leader knows, this is the worker of its own node, in this process.
    void ScriptedWorker.join(leader, nodeId, ['echo'], ownProcess() ?? undefined).then(() =>
      writeSync(1, `leads ${leader.term.epoch}\n`),
    );
  },
});
