import { decisionRecords, namedFiles, tableCells, vocabulary } from './prose.ts';
import { provenRequirements, sqlHasOneReader } from './relations.ts';
import { importOrder, roomTable, usedExports, usedReferences } from './rooms.ts';
import type { Rule } from './rule.ts';
import { roomImports, functionLength, noWaiting, plainNames, wholeTests } from './syntax.ts';
import { roomParagraph, fileLength, leftovers, places } from './text.ts';

/** The house rules that neither the compiler nor the linter can hold. Dead code is left to knip. */
export const rules: readonly Rule[] = [
  fileLength,
  functionLength,
  plainNames,
  leftovers,
  places,
  wholeTests,
  noWaiting,
  roomImports,
  roomParagraph,
  importOrder,
  usedReferences,
  usedExports,
  roomTable,
  sqlHasOneReader,
  provenRequirements,
  vocabulary,
  decisionRecords,
  tableCells,
  namedFiles,
];
