/**
 * The exchange of rows between stages: the folders that map tasks write, their index and checksums, and how readers
 * on this node and on others get at them. The leader decides which outputs count.
 */
export type { OutputName } from './output-name.ts';
export { OutputStore } from './output-store.ts';
export type { RetainedOutput, OutputDraft, OutputKind } from './output-store.ts';
export { PartitionLostError } from './partition-lost.ts';
export { PartitionReader, isUnchanged } from './partition-reader.ts';
export type { LocalPartition } from './partition-reader.ts';
export { RegisteredOutputs } from './registered-outputs.ts';
export type { RegisteredOutput } from './registered-outputs.ts';
export { checkVersions, notRegistered, readableRange, shuffleSource } from './shuffle-source.ts';
