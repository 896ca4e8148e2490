/** What a submitter says of one job, on top of what its flow or document says: the one place where both are joined. */
import { isObject } from '../json.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of the submitter win; of labels, key by key. A field that is undefined says nothing. Nothing is checked here:
 * what is not an object stays, for the reader of documents to refuse.
 */
export function withJobFields(document: Fields, own: Fields): Fields {
  const said = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const { labels: given } = document;
  const { labels } = said;
  if (labels === undefined || given === undefined) return { ...document, ...said };
  if (!isObject(labels)) return { ...document, ...said };
  const both = isObject(given) ? { ...given, ...labels } : given;
  return { ...document, ...said, labels: both };
}
