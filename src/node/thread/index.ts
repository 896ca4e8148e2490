/**
 * A node in a thread of its own, with the room for young objects that a busy scheduler needs. The process around it is a
 * command that waits for signals, or the program of a user; neither shares its loop with the scheduler. This file loads nothing
 * of the node: that is for the thread.
 */
export { NodeThread } from './node-thread.ts';
export type { Failure, StorePlace } from './messages.ts';
