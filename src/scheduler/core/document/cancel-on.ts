/** The field `cancelOn` of a document: the events that cancel the job. */
import type { CancelOn } from './document.ts';
import { readEventMatch } from './event-match.ts';
import { CANCEL, CANCELS_MAX } from './grammar.ts';
import { Fields } from './reader.ts';
import { below, refuse } from './refuse.ts';
import { readUserEvent } from './sent-event.ts';

const NONE: readonly CancelOn[] = Object.freeze([]);

export function readCancelOn(job: Fields): readonly CancelOn[] {
  const list = job.list('cancelOn');
  if (list === undefined || list.length === 0) return NONE;
  const path = job.at('cancelOn');
  if (list.length > CANCELS_MAX)
    refuse(path, `${list.length} entries exceed the limit of ${CANCELS_MAX} events per job.`);
  return Array.from(list, (each, at) =>
    readCancel(Fields.of(each, below(path, at), 'An entry of cancelOn', CANCEL)),
  );
}

function readCancel(fields: Fields): CancelOn {
  const event = readUserEvent(fields.raw('event'), fields.at('event'));
  const match = readEventMatch(fields.raw('match'), fields.at('match'));
  if (match.length > 0) return { event, match };
  return fields.missing('match', 'An event without it would cancel every such job.');
}
