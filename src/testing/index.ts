/**
 * The simulator, the fault injection and the conformance suites. Nothing in production imports this room.
 */

export {};
