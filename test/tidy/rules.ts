import { decisionRecords, namedFiles, vocabulary } from './prose.ts';
import { provenRequirements, sqlHasOneReader } from './relations.ts';
import { importOrder, roomTable, usedReferences } from './rooms.ts';
import type { Rule } from './rule.ts';
import { doors, functionLength, noWaiting, plainNames, wholeTests } from './syntax.ts';
import { doorParagraph, fileLength, leftovers, places } from './text.ts';

/** The house rules that neither the compiler nor the linter can hold. Dead code is left to knip. */
export const rules: readonly Rule[] = [
  fileLength,
  functionLength,
  plainNames,
  leftovers,
  places,
  wholeTests,
  noWaiting,
  doors,
  doorParagraph,
  importOrder,
  usedReferences,
  roomTable,
  sqlHasOneReader,
  provenRequirements,
  vocabulary,
  decisionRecords,
  namedFiles,
];
