/** Runs in a thread: loads the module of a task, and runs the task with a context that reaches back. */
import { parentPort } from 'node:worker_threads';
import { type TracePlace, withinTrace } from '../../../kit/index.ts';
import type { Executor } from '../executor.ts';
import { badInput } from '../fields.ts';
import { importedFrom } from '../modules/import.ts';
import { definitionsIn } from '../modules/definitions.ts';
import type { ContextFacts, FromThread, ThreadTask, ToThread } from './messages.ts';
import { ThreadContext } from './thread-context.ts';

const port = parentPort;
if (port === null) throw new Error('Tasks of a thread run in a thread.');

let current: { readonly attempt: number; readonly context: ThreadContext } | null = null;

/** Where the attempt stands in a trace; its span lives in the main thread. */
function placeOf({ traceHeaders = {} }: ContextFacts): TracePlace | null {
  const { traceparent, tracestate = null } = traceHeaders;
  return traceparent === undefined ? null : { parent: traceparent, state: tracestate };
}

/** The module is loaded once a thread: the engine remembers it. */
async function taskOf({ module, name }: ThreadTask): Promise<Executor> {
  const { tasks } = definitionsIn(await importedFrom(module), module);
  const found = tasks.find((task) => task.name === name);
  if (found !== undefined) return found;
  throw badInput(
    '',
    `The module ${module} exports no task ${name}.`,
    'A task with `thread` must be exported by the module that it names.',
  );
}

port.on('message', (message: ToThread) => {
  const { attempt } = message;
  if (message.type === 'run') {
    const { task, input, facts } = message;
    const context = new ThreadContext(facts, (words) => {
      port.postMessage({ attempt, words } satisfies FromThread);
    });
    current = { attempt, context };
    // It catches whatever happens.
    void context.end(async () => {
      const found = await taskOf(task);
      return withinTrace(placeOf(facts), () => found.run(input, context));
    });
    return;
  }
  if (current?.attempt !== attempt) return;
  switch (message.type) {
    case 'abort':
      return current.context.abort(message.reason);
    case 'answer':
      return current.context.answer(message.no, message.outcome);
    case 'ask':
      return current.context.ask(message.no, message.args);
    case 'drop':
      return current.context.drop();
  }
});
