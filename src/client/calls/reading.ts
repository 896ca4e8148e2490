import type { Answer } from './caller.ts';
import { parsedObject, strangeAnswer } from './problem.ts';

/** The object in an answer, if it has this field; anything else did not come from Millrace. */
export function objectIn(answer: Answer, key: string): Readonly<Record<string, unknown>> {
  const value = parsedObject(answer.body);
  if (value === null || value[key] === undefined) throw strangeAnswer(answer.status, answer.server);
  return value;
}
