/**
 * More room for young objects: the one setting of Node.js that the documents advise for a busy leader.
 * Everybody who takes part in a comparison of throughput gets it.
 */
export const TUNED_NODE: Readonly<Record<string, string>> = {
  NODE_OPTIONS: '--max-semi-space-size=64',
};
