/**
 * The `millrace` command: it reads arguments, calls the other rooms and turns what comes back into
 * text, JSON and an exit code. Each command is a module of its own, loaded when it is named, so that
 * `millrace --help` stays quick. No rule of the product lives here.
 */

export { exit } from './exit.ts';
export { run } from './program.ts';
