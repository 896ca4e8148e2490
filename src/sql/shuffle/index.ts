/**
 * Data between stages: the folders that map tasks write, their index and checksums, and how readers on this node
 * and on others get at them. Which outputs count is the leader's decision, not made here.
 */
export { MapOutputs } from './map-outputs.ts';
export type { OutputName } from './names.ts';
export { OutputStore } from './output-store.ts';
export type { RetainedOutput, OutputDraft, OutputKind } from './output-store.ts';
export { PartLostError } from './part-lost.ts';
export { PartReader, isUnchanged } from './part-reader.ts';
export type { BroughtPart } from './part-reader.ts';
export { shuffleSource } from './shuffle-source.ts';
