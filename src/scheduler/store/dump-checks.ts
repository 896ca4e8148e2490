/** The checks of a row that comes from a dump, table by table. */
import type { Dumped } from './store.ts';
import {
  checkCounters,
  checkEvent,
  checkInbox,
  checkJob,
  checkKey,
  checkLimit,
  checkNode,
  checkPayload,
  checkDeclaration,
  checkSchedule,
  checkSignal,
  checkSpec,
  checkTask,
} from './row-checks.ts';

export function checkDumped(item: Dumped): void {
  switch (item.table) {
    case 'counters':
      return checkCounters(item.row);
    case 'job':
      return checkJob(item.row);
    case 'spec':
      return checkSpec(item.row);
    case 'task':
    case 'history':
      return checkTask(item.row);
    case 'result':
      return checkPayload(item.row, 'result', item.row.body);
    case 'step':
      return checkPayload(item.row, 'step', item.row.body, item.row.name);
    case 'signal':
      return checkSignal(item.row);
    case 'key':
      return checkKey(item.row);
    case 'node':
      return checkNode(item.row);
    case 'schedule':
      return checkSchedule(item.row);
    case 'limit':
      return checkLimit(item.row);
    case 'operator':
    case 'flow':
      return checkDeclaration(item.table, item.row);
    case 'inbox':
      return checkInbox(item.row);
    case 'event':
      return checkEvent(item.row);
  }
}
