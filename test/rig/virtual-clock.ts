/** Virtual time lives in the kit: the testing kit for users needs it, too, and that one is shipped. */
export { VirtualClock, settled } from '../../src/kit/index.ts';
